"""Run a stage of tensor-core kernels on this machine's CPU, through `mma_simt.hpp` and g++."""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.deconv.launch import Launch, Stage

_HEADER = Path(__file__).with_name("mma_simt.hpp")
_GUARD = 4096
#: Bytes around what a kernel reads: what it takes from there spoils its answer.
_AROUND = 1 << 16


def without_ptx(source: str) -> str:
    """The text without the functions whose body is inline PTX: `mma_simt.hpp` has them."""
    kept, at = [], 0
    for match in re.finditer(r"^(template <[^>]*> )?__device__ [^;{}]*\{", source, re.M):
        end, depth = match.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(source[end], 0)
            end += 1
        body = source[match.start() : end]
        if re.search(r"\basm\b|__cvta", body):
            kept.append(source[at : match.start()])
            at = end
    return "".join([*kept, source[at:]])


def library(launch: Launch, folder: Path, change: Any = None) -> ctypes.CDLL:
    """The text of a launch, compiled once. `change` may break it."""
    source = launch.source if change is None else change(launch.source)
    text = without_ptx(source).replace("extern __shared__ uint4 shared[];", "")
    signature = re.search(rf"\b{launch.entry}\((.*?)\) \{{", text, re.S)
    assert signature
    types = [re.sub(r"\w+$", "", p.replace("__restrict__", "").strip()) for p in signature[1].split(",")]
    arguments = ", ".join(f"({t})pointers[{i}]" for i, t in enumerate(types[:-1]))
    text = f'#include "{_HEADER}"\n{text}\n' + (
        f'extern "C" int run(void **pointers, int n, int groups, int local, int split) {{\n'
        f"    return launch(groups, local, split, [&] {{ {launch.entry}({arguments}, n); }});\n}}\n"
    )
    name = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
    built = name.with_suffix(".so")
    if not built.exists():
        name.with_suffix(".cpp").write_text(text)
        command = ["g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o", built, name.with_suffix(".cpp")]
        subprocess.run(command, check=True)
    return ctypes.CDLL(str(built))


def run(stage: Stage, source: NDArray[Any], out: NDArray[Any], folder: Path, change: Any = None) -> NDArray[Any]:
    """What a stage of one launch writes into an array like `out`. Errors: AssertionError."""
    (launch,) = stage.launches
    memory = np.full(out.nbytes + 2 * _GUARD, 0x5A, np.uint8)
    buffers = {name: _aligned(array) for name, array in (("in", source), *stage.constants.items())}
    buffers |= {name: _aligned(np.zeros(count, np.uint8)) for name, count in stage.scratch.items()}
    pointers = {name: buffer.ctypes.data for name, buffer in buffers.items()} | {"out": memory.ctypes.data + _GUARD}
    *names, n = launch.args
    found = (ctypes.c_void_p * len(names))(*(pointers[str(name)] for name in names))
    split = re.search(r"#define SPLIT (\d+)", launch.source)
    assert launch.shared <= 227 * 1024
    cluster = int(split[1]) if split else 1
    failed = library(launch, folder, change).run(found, n, launch.groups, launch.local, cluster)
    assert not failed, "a barrier that not all threads reach"
    assert (memory[:_GUARD] == 0x5A).all(), "written before the output"
    assert (memory[-_GUARD:] == 0x5A).all(), "written behind the output"
    return memory[_GUARD:-_GUARD].view(out.dtype).reshape(out.shape)


def _aligned(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of an array as a device gets them, at a multiple of 256; around them no halves that are numbers."""
    found = np.full(array.nbytes + 2 * _AROUND + 256, 0xFF, np.uint8)
    start = _AROUND - (found.ctypes.data + _AROUND) % 256 + 256
    view = found[start : start + array.nbytes]
    view[:] = np.frombuffer(memoryview(np.ascontiguousarray(array).reshape(-1)).cast("B"), np.uint8)
    return view
