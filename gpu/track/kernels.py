"""The fused kernels of `track`: which there are for a network, an arithmetic and a device, and how each is built.

Kernels of every device API come from here; `opencl.py` and `cuda.py` only say which API drives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.device import Info
from gpu.track import mma, wide
from gpu.track.lower import Lowered, lower, probable_error
from gpu.track.mma import Unsupported
from workloads.track.network import FixedNetwork, FloatNetwork

ARITHMETICS = ("fp32", "fp16", "fixed")
#: What decides a result besides the parameters, relative to the repository.
SOURCES = (
    "gpu/track/kernels.py",
    "gpu/track/lower.py",
    "gpu/runtime/loop.py",
    "gpu/runtime/stats.py",
    "workloads/track/network.py",
)
_FOLDER = Path(__file__).parent
_CONSTANT_BYTES = 48 * 1024


@dataclass(frozen=True)
class Choice:
    """What tuning may choose: the kernel, work-items a group, hits a work-item (or tiles a warp), groups a unit."""

    variant: str
    local: int
    per: int
    groups_per_unit: int = 0


@dataclass(frozen=True)
class Kernel:
    """A kernel ready to compile: source and options, its weights buffer and the types of its two arrays."""

    choice: Choice
    arithmetic: str
    source: str
    options: tuple[str, ...]
    weights: NDArray[Any]
    in_type: type[Any]
    out_type: type[Any]
    n_in: int
    n_out: int
    hits_per_group: int
    files: tuple[str, ...]
    shared: int = 0
    detail: str = ""

    @property
    def item_bytes(self) -> int:
        """Bytes of one hit in and out."""
        return self.n_in * np.dtype(self.in_type).itemsize + self.n_out * np.dtype(self.out_type).itemsize

    def groups(self, n: int, info: Info) -> int:
        """Work-groups for `n` hits: enough for all, or a persistent grid of a fixed number a compute unit."""
        need = -(-n // self.hits_per_group)
        cap = self.choice.groups_per_unit * info.units
        return min(need, cap) if cap else need


@dataclass(frozen=True)
class Network:
    """One case's parameters as kernels need them."""

    floats: FloatNetwork
    fixed: FixedNetwork | None
    lowered: Lowered | None = field(default=None)

    @classmethod
    def of(cls, parameters: Any) -> Network:
        """Take the parameters of a case; the fixed-point network is lowered once."""
        fixed = parameters.fixed
        return cls(parameters.float_network, fixed, lower(fixed) if fixed is not None else None)

    def encode(self, arithmetic: str, inputs: NDArray[np.float32], to: type[Any]) -> NDArray[Any]:
        """Real inputs (n, n_in) as the kernel's input array."""
        if arithmetic == "fixed":
            assert self.fixed is not None
            return np.ascontiguousarray(self.fixed.encode(inputs).astype(to))
        return np.ascontiguousarray(inputs.astype(to))

    def reference(self, arithmetic: str, inputs: NDArray[np.float32]) -> NDArray[Any]:
        """The oracle: integers on the output grid for `fixed`, else real numbers in float64."""
        if arithmetic == "fixed":
            assert self.fixed is not None
            return self.fixed.evaluate(self.fixed.encode(inputs))
        return self.floats(inputs)

    def tolerance(self, arithmetic: str, inputs: NDArray[np.float32]) -> float | None:
        """Absolute tolerance against the oracle: None (exact) for `fixed`, else six standard deviations of rounding.

        fp32 rounds everything to 2^-24; fp16 rounds inputs, weights and activations to 2^-11 and sums in float32.
        """
        if arithmetic == "fixed":
            return None
        layers = [(layer.weight, layer.bias, layer.activation) for layer in self.floats.layers]
        return probable_error(layers, inputs, 2.0**-24, 2.0**-24 if arithmetic == "fp32" else 2.0**-11)


def supported(network: Network, info: Info) -> tuple[str, ...]:
    """The arithmetics that this device does natively on this network; what is missing is absent, not imitated."""
    return tuple(a for a in ARITHMETICS if any(True for _ in choices(network, a, info)))


def choices(network: Network, arithmetic: str, info: Info) -> Iterator[Choice]:
    """Yield what tuning may try, the expected best first."""
    if arithmetic == "fixed" and network.lowered is None:
        return
    large = max(network.floats.widths) > 128
    fast = False
    if info.tensor and arithmetic in ("fp16", "fixed"):
        try:
            if large and arithmetic == "fp16":
                for warps, per in wide.shapes(network.floats, info):
                    yield Choice("wide", 32 * warps, per)
            else:
                _fragments(network, arithmetic)
                fast = True
                # A lane holds about 100 registers of parameters: 8 to 12 warps fit a multiprocessor.
                for per in (4, 3, 2, 1):
                    for local, groups in ((128, 2), (64, 4), (256, 1), (128, 3), (64, 6), (128, 4), (64, 8)):
                        yield Choice("mma", local, per, groups)
        except Unsupported:
            pass
    if arithmetic == "fp16" or info.api == "cuda" or (fast and arithmetic == "fixed"):
        return  # a device without fp16 arithmetic would only imitate it; the portable kernel is OpenCL C
    if arithmetic == "fixed" and network.lowered is not None and network.lowered.bound >= 2**24:
        # Integer arithmetic: PoCL 3.0 miscompiles vectors of integers, so one hit a work-item.
        yield Choice("portable", 64, 1)
    elif large:
        yield Choice("portable", 1 if info.warp == 1 else 32, 8 if info.warp == 1 else 1)
    elif info.warp == 1:
        for per in (8, 4):
            yield Choice("portable", 16, per)
            yield Choice("portable", 64, per)
    else:
        for local in (256, 128):
            for per in (1, 2):
                yield Choice("portable", local, per)


def make(network: Network, arithmetic: str, choice: Choice, info: Info) -> Kernel:
    """Build the source of one kernel. Errors: Unsupported, saying which condition fails."""
    if choice.variant == "mma":
        return _mma(network, arithmetic, choice)
    if choice.variant == "wide":
        return _wide(network.floats, choice, info)
    if choice.variant == "portable":
        return _portable(network, arithmetic, choice, info)
    raise Unsupported(f"unknown kernel {choice.variant!r}; valid: mma, wide, portable")


def _fragments(network: Network, arithmetic: str) -> mma.Fragments:
    if arithmetic == "fixed":
        assert network.lowered is not None
        return mma.fixed_fragments(network.lowered)
    return mma.float_fragments(network.floats)


def _mma(network: Network, arithmetic: str, choice: Choice) -> Kernel:
    parts = _fragments(network, arithmetic)
    widths = network.floats.widths
    defines = {
        "LOCAL": choice.local,
        "TILES": choice.per,
        "N_IN": widths[0],
        "N_OUT": widths[-1],
        "REGS": len(parts.words),
        "FIXED": int(arithmetic == "fixed"),
        "KT": parts.kt,
        "NT": parts.nt,
        "LAST": parts.last,
        "LAST_WRAP": int(parts.last_wrap),
        "LAST_RELU": int(parts.last_relu),
        "LAST_UP": int(parts.last_up),
        "SMALL_INPUT": int(parts.small_input),
    }
    io = np.int16 if arithmetic == "fixed" else np.float16
    return Kernel(
        choice,
        arithmetic,
        _defines(defines) + (_FOLDER / "mma.cl").read_text().replace("//@LAYERS@", parts.layers),
        (),
        mma.by_quarter(parts.words),
        io,
        io,
        widths[0],
        widths[-1],
        choice.local // 32 * 16 * choice.per,
        ("gpu/track/mma.cl", "gpu/track/mma.py"),
        detail=f"{len(parts.words)} registers of parameters a lane",
    )


def _wide(network: FloatNetwork, choice: Choice, info: Info) -> Kernel:
    source, weights = wide.source(network, choice.local // 32, choice.per)
    return Kernel(
        choice,
        "fp16",
        source,
        (),
        weights,
        np.float16,
        np.float16,
        network.widths[0],
        network.widths[-1],
        16 * choice.per,
        ("gpu/track/wide.cl", "gpu/track/wide.py"),
        # OpenCL C declares its local memory in the kernel, CUDA gets it with the launch.
        shared=wide.shared_bytes(network.widths[1], choice.per) if info.api == "cuda" else 0,
        detail="activations in shared memory, weights from the L2, tanh.approx",
    )


def _portable(network: Network, arithmetic: str, choice: Choice, info: Info) -> Kernel:
    low = network.lowered
    widths = low.widths if arithmetic == "fixed" and low is not None else network.floats.widths
    padded = [widths[0], *(-(-w // 4) * 4 for w in widths[1:])]
    if arithmetic == "fixed":
        assert low is not None
        kind = "float" if low.bound < 2**24 else "int" if low.bound < 2**31 else "long"
        in_peak, out_peak = int(low.input_peak.max()), low.output_peak
        types: dict[Any, str] = {np.int16: "short", np.int32: "int", np.int64: "long"}
        in_type, out_type = (next(t for t in types if p <= np.iinfo(t).max) for p in (in_peak, out_peak))
    elif arithmetic == "fp32":
        kind, types, in_type, out_type = "float", {np.float32: "float"}, np.float32, np.float32
    else:
        raise Unsupported(f"portable: {arithmetic}; it does fp32 and fixed")
    arrays: list[NDArray[Any]] = []
    calls, functions = [], []
    weight: NDArray[Any]
    bias: NDArray[Any]
    q: NDArray[Any]
    for index, n_out in enumerate(padded[1:]):
        if arithmetic == "fixed":
            assert low is not None
            step = low.steps[index]
            scale = 2.0 ** -step.shift.astype(np.float64) if kind == "float" else step.shift
            span = (step.high - step.low + 1).astype(np.float64)
            second = span if step.wrap else step.high
            q = np.stack([scale, step.low, second, 1.0 / span if kind == "float" else step.low * 0], axis=1)
            weight, bias, finish, relu = step.weight, step.bias, "WRAP" if step.wrap else "SATURATE", step.relu
        else:
            layer = network.floats.layers[index]
            weight, bias, relu = layer.weight, layer.bias, False
            q, finish = np.zeros((0, 4)), layer.activation.upper()
        n_in = padded[index]
        weight = np.pad(weight, ((0, n_in - weight.shape[0]), (0, n_out - weight.shape[1])))
        pads = ((0, n_out - len(q)), (0, 0))
        # A padded output is zero: no shift, range [0, 0], modulus 1.
        q = np.pad(q, pads) + np.pad(np.zeros_like(q), pads, constant_values=1) * (finish == "WRAP") * [0, 0, 1, 1]
        group = [weight.ravel(), np.pad(bias, (0, n_out - len(bias))), q.ravel()]
        at = [sum(a.size for a in arrays) + sum(g.size for g in group[:k]) for k in range(3)]
        arrays += group
        functions.append(f"DENSE(dense{index}, {n_in}, {n_out}, {finish}, {int(relu)})")
        x, y = ("a", "b") if index % 2 == 0 else ("b", "a")
        calls.append(f"dense{index}({x}, {y}, W + {at[0]}, W + {at[1]}, W + {at[2]});")
    dtype = {"float": np.float32, "int": np.int32, "long": np.int64}[kind]
    values = np.concatenate([np.asarray(a).astype(dtype) for a in arrays])
    embedded = values.nbytes <= _CONSTANT_BYTES
    up = low.up if arithmetic == "fixed" and low is not None else np.zeros(widths[-1], np.int64)
    ups = f"constant {kind} ups[] = {{{', '.join(_literal(1 << int(u), kind) for u in up)}}};\n#define UP(i) ups[i]"
    constants = "#define W weights"
    if embedded:
        constants = f"__constant {kind} W[] = {{{', '.join(_literal(v, kind) for v in values.tolist())}}};"
    defines = {
        "T": kind,
        "VT": kind if choice.per == 1 else f"{kind}{choice.per}",
        "IN": types[in_type],
        "OUT": types[out_type],
        "N_IN": widths[0],
        "N_OUT": widths[-1],
        "WIDTH": max(padded),
        "VEC": choice.per,
        "LOCAL": choice.local,
        "FIXED": int(arithmetic == "fixed"),
        "REAL": int(kind == "float"),
        "WSPACE": "__constant" if embedded else "__global",
        "UNROLL": '_Pragma("unroll")' if info.warp > 1 and max(padded) <= 128 else "",
        "RESULT": "ab"[len(padded[1:]) % 2],
    }
    text = (_FOLDER / "portable.cl").read_text()
    text = text.replace("//@CONSTANTS@", "\n".join([constants, f"__{ups}", *functions]))
    return Kernel(
        choice,
        arithmetic,
        _defines(defines) + text.replace("//@LAYERS@", "\n    ".join(calls)),
        (),
        values if not embedded else values[:1],
        in_type,
        out_type,
        widths[0],
        widths[-1],
        choice.local * choice.per,
        ("gpu/track/portable.cl",),
        detail=f"{kind} arithmetic" + (", weights as constants" if embedded else ", weights in global memory"),
    )


def _literal(value: float, kind: str) -> str:
    return f"{float(value).hex()}f" if kind == "float" else f"{int(value)}" + ("L" if kind == "long" else "")


def _defines(defines: dict[str, Any]) -> str:
    return "".join(f"#define {key} {value}\n" for key, value in defines.items())
