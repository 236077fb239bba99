"""Run the CUDA text of a launch on this machine's CPU, through `simt.hpp` and g++."""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.bcnn.kernels import Step
from gpu.runtime.device import Info

_HEADER = Path(__file__).with_name("simt.hpp")


def without_ptx(source: str) -> str:
    """The text without the functions whose body is inline PTX: `simt.hpp` has them."""
    kept, at = [], 0
    for match in re.finditer(r"^__device__ [^;{}]*\{", source, re.M):
        end, depth = match.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(source[end], 0)
            end += 1
        body = source[match.start() : end]
        if "asm" in body or "__cvta" in body:
            kept.append(source[at : match.start()])
            at = end
    return "".join([*kept, source[at:]])


def run(step: Step, info: Info, source: NDArray[Any], n: int, out_bytes: int, folder: Path) -> NDArray[np.uint8]:
    """Output bytes of a launch on zeroed memory, with guards around it. Errors: AssertionError."""
    text = without_ptx(step.source)
    text = text.replace("extern __shared__ uint4 shared[];", "").replace("__shared__", "static")
    count = len(step.constants)
    pointers = ", ".join(f"const void *c{i}" for i in range(count))
    signature = re.search(r"layer\((.*?)\) \{", text, re.S)
    assert signature
    types = [p.rsplit("*", 1)[0].strip() + " *" for p in signature[1].split(",")[:-1]]
    types = [t.replace("__restrict__", "") for t in types]
    arguments = ", ".join(f"({t})c{i}" for i, t in enumerate(types[2:]))
    text = f'#include "{_HEADER}"\n#define __restrict__\n{text}\n' + (
        f'extern "C" int run(const void *in, void *out, {pointers}, int n, int groups, int local) {{\n'
        f"    return launch(groups, local, [&] {{ layer(({types[0]})in, ({types[1]})out, {arguments}, n); }});\n}}\n"
    )
    name = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
    library = name.with_suffix(".so")
    if not library.exists():
        name.with_suffix(".cpp").write_text(text)
        command = ["g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o", library, name.with_suffix(".cpp")]
        subprocess.run(command, check=True)
    assert step.shared <= 256 * 1024
    guard = 4096
    memory = np.full(out_bytes + 2 * guard, 0x5A, np.uint8)
    memory[guard:-guard] = 0
    buffers = [_aligned(array) for array in (source, *step.constants)]
    arguments_ = [ctypes.c_void_p(b.ctypes.data) for b in buffers]
    arguments_.insert(1, ctypes.c_void_p(memory.ctypes.data + guard))
    failed = ctypes.CDLL(str(library)).run(*arguments_, n, step.groups(n, info), step.local)
    assert not failed, f"{step.layer} {step.choice}: a barrier that not all threads reach"
    assert (memory[:guard] == 0x5A).all(), "written before the output"
    assert (memory[-guard:] == 0x5A).all(), "written behind the output"
    return memory[guard:-guard]


def _aligned(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of an array as a device gets them, at a multiple of 16."""
    found = np.zeros(array.nbytes + 16, np.uint8)
    start = -found.ctypes.data % 16
    view = found[start : start + array.nbytes]
    view[:] = np.frombuffer(memoryview(array.reshape(-1, order="A")).cast("B"), np.uint8)
    return view
