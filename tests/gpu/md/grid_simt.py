"""A CUDA device on this machine's CPU: `gpu.runtime.device.Device` by `grid_simt.hpp` and g++."""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.device import Info

_HEADER = Path(__file__).with_name("grid_simt.hpp")
GUARD = 4096


def without_ptx(source: str) -> str:
    """The text without the functions whose body is inline PTX: the header has them."""
    kept, at = [], 0
    for match in re.finditer(r"^DEVICE [^;{}()]*\([^;{}]*\) \{", source, re.M):
        end, depth = match.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(source[end], 0)
            end += 1
        if "asm" in source[match.start() : end]:
            kept.append(source[at : match.start()])
            at = end
    return "".join([*kept, source[at:]])


class Emulated:
    """Buffers are numpy bytes with guards; a launch runs at once."""

    modes = ("queue",)

    def __init__(self, folder: Path, units: int = 4) -> None:
        self._folder = folder
        self.info = Info("emulated", "emulated", "cuda", units, 0, 32, True, 64 * 1024, {})

    def compile(self, source: str, options: Sequence[str]) -> Any:
        text = without_ptx(source)
        text = text.replace("extern __shared__ uint4 memory[];", "uint4 *memory = block_memory();")
        text = re.sub(r"__launch_bounds__\([^)]*\)", "", text)
        calls = []
        for entry, given in re.findall(r'extern "C" __global__ void\s+(?:TOGETHER\s+)?(\w+)\(([^{]*)\) \{', text):
            parts = [p.strip().rsplit(" ", 1) for p in given.split(",")]
            types = [t + " *" * name.count("*") for t, name in parts]
            values = [f"*({t} *)v[{i}]" for i, t in enumerate(types)]
            calls.append(
                f'extern "C" int run_{entry}(void **v, int groups, int local, int shared) {{\n'
                f"    return launch(groups, local, shared, [&] {{ {entry}({', '.join(values)}); }});\n}}\n"
            )
        text = text.replace('extern "C" __global__', "static")  # libc also has an `advance`
        text = f'#include "{_HEADER}"\n{text}\n{"".join(calls)}'
        name = self._folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        library = name.with_suffix(".so")
        if not library.exists():
            name.with_suffix(".cpp").write_text(text)
            flags = ["-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-fno-strict-aliasing"]
            subprocess.run(["g++", *flags, "-o", library, name.with_suffix(".cpp")], check=True)
        return ctypes.CDLL(str(library))

    def allocate(self, nbytes: int) -> NDArray[np.uint8]:
        whole = np.full(nbytes + 2 * GUARD + 16, 0x5A, np.uint8)
        start = GUARD + -(whole.ctypes.data + GUARD) % 16
        return whole[start : start + nbytes]

    def upload(self, buffer: NDArray[np.uint8], array: NDArray[Any]) -> None:
        buffer[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def download(self, buffer: NDArray[np.uint8], array: NDArray[Any]) -> None:
        array.reshape(-1).view(np.uint8)[:] = buffer[: array.nbytes]

    def bind(
        self, program: Any, entry: str, args: Sequence[Any], groups: int, local: int, shared: int = 0
    ) -> Callable[[], None]:
        values = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_int32(int(a)) for a in args]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        buffers = [a for a in args if isinstance(a, np.ndarray)]

        def call() -> None:
            failed = getattr(program, f"run_{entry}")(pointers, groups, local, shared)
            assert not failed, f"{entry}: a barrier that not all threads reach"
            for buffer in buffers:
                around = (
                    ctypes.string_at(buffer.ctypes.data - GUARD, GUARD),
                    ctypes.string_at(buffer.ctypes.data + len(buffer), GUARD - 16),
                )
                assert set(around[0] + around[1]) == {0x5A}, f"{entry}: written outside of a buffer"
            assert values  # keep them alive

        return call

    def capture(self, launch: Callable[[], None]) -> Callable[[], None]:
        return launch

    def finish(self) -> None:
        pass

    def kernel_times(self, launches: Sequence[Callable[[], None]], count: int) -> NDArray[np.int64]:
        for i in range(count):
            launches[i % len(launches)]()
        return np.ones(count, np.int64)

    def close(self) -> None:
        pass
