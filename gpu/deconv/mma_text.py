"""Texts of the tensor-core kernels: macros, the PTX they share, and `wgmma` of one width."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_FOLDER = Path(__file__).parent
#: NVRTC options: `wgmma` needs the target with an `a`.
OPTIONS = ("-arch=sm_90a",)


def text(kernel: str, macros: Mapping[str, int | str]) -> str:
    """CUDA C++ of `mma_<kernel>.cu` with its macros. `macros` has INT8, and BN where the kernel uses `wgmma`."""
    defines = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    parts = [(_FOLDER / "mma_ptx.cuh").read_text()]
    if "BN" in macros:
        parts += [wgmma(int(macros["BN"]), bool(macros["INT8"])), (_FOLDER / "mma_tile.cuh").read_text()]
    parts.append((_FOLDER / f"mma_{kernel}.cu").read_text())
    return defines + "\n".join(parts)


def wgmma(columns: int, int8: bool) -> str:
    """The functions `wgmma(d, a, b, add)`: d (64 x columns) = a b + d, or a b unless `add`; 32 bytes of products.

    a is an operand in shared memory, or 4 words each: word h + 2 u of lane 4 g + t of a warp is word t of 16-byte unit
    u of its row g + 8 h. Sums of a thread: d[4 j + 2 h + e] is row 16 warp + 8 h + lane / 4, column 8 j +
    2 (lane % 4) + e.
    """
    count = columns // 2
    registers = ", ".join(f"%{i}" for i in range(count))
    letter = "r" if int8 else "f"
    operands = ", ".join(f'"+{letter}"(d[{i}])' for i in range(count))
    form = f"m64n{columns}k32.s32.s8.s8" if int8 else f"m64n{columns}k16.f32.f16.f16"

    def function(kind: str, left: str, inputs: str, after: int, tail: str) -> str:
        return (
            f"__device__ __forceinline__ void wgmma(Acc (&d)[{count}], {kind}, u64 b, int add) {{\n"
            f'    asm volatile("{{.reg .pred p; setp.ne.b32 p, %{after + 1}, 0; wgmma.mma_async.sync.aligned.{form} '
            f'{{{registers}}}, {left}, %{after}, p{tail};}}"\n'
            f'                 : {operands}\n                 : {inputs}, "l"(b), "r"(add));\n}}\n'
        )

    words = [f"%{count + i}" for i in range(4)]
    held = ", ".join(f'"r"(a[{i}])' for i in range(4))
    return function("u64 a", f"%{count}", '"l"(a)', count + 1, "" if int8 else ", 1, 1, 0, 0") + function(
        "const uint (&a)[4]", f"{{{', '.join(words)}}}", held, count + 4, "" if int8 else ", 1, 1, 0"
    )
