"""How a case is run on a device: the contract between a back end (kernels) and what binds, tunes, proves and times it.

A back end is a module with the names of `BackEnd`; `back_end(info)` says which module serves a device API: `cuda` has
`gpu.deconv.mma`, every other has `gpu.deconv.reverse`. To plug in:

* `supported(network, info)`: the arithmetics that the device does on this case, of `layout.NUMBERS`. What is missing is
  absent. A case that a kernel cannot do has none.
* `choices(network, index, arithmetic, n, info)`: what tuning may try for layer `index` at batch `n`, the expected best
  first; anything hashable whose `str` says what it is (it becomes a condition of the record). A choice may cover
  several layers from `index` on (fusion): its stage says how many.
* `stage(network, index, choice, arithmetic, n, info)`: that choice as launches. The bench keeps programs by source text
  and options, and constants by (index, choice, arithmetic, name): they must not depend on `n`, nor should the source.
  A choice that is offered at one batch must be right at every batch (Unsupported where it cannot be run).

A `Stage` reads `in` and writes `out`, dense arrays (n, sides..., channels) of the arithmetic's number type, for every
layer the same (see `layout`); the outputs are finished: bias, rounding, activation done. `out` is poisoned before the
first launch, so each element must be written by each run. Layers that are not chained (`vnet`) get an `in` and `out`
each, and a stage covers one layer.

A `Launch` names its buffers: `in`, `out`, one of its stage's `constants` (uploaded once) or `scratch` (zeroed once,
then whatever the launches leave: who needs zeros again must write them). Integers are passed as int32. Every source
also holds a kernel `nothing` of one buffer, which the launch floor is measured with:

    CUDA:   extern "C" __global__ void nothing(void *p) {}
    OpenCL: __kernel void nothing(__global char *p) {}

CUDA sources go through NVRTC with `--std=c++17` and `options`; entries are `extern "C"`. With `dependent` the launch is
a programmatic dependent launch: it may start while the one before it ends, and must execute `griddepcontrol.wait`
before it reads or writes anything that an earlier launch touches.

A module of an API (`opencl.py`, `cuda.py`) has NAME, API, CASES, TIER, ARITHMETICS, LARGEST and `verify`, which
calls `gpu.deconv.prove.verify`: every choice, against the oracle. `gpu.deconv.bench` binds and tunes, and
`python -m gpu.measure deconv --device cuda:0` measures.

Tuning: each choice of each layer is timed alone on random activations, as a CUDA graph where there are graphs; the
network is the sequence of stages with the smallest sum. Times are medians of device times.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from gpu.deconv.layout import Network
from gpu.runtime.device import Info


class Unsupported(ValueError):
    """A layer that a kernel cannot do; the message names it and the condition that fails."""


@dataclass(frozen=True)
class Launch:
    """One kernel: `groups` work-groups (blocks) of `local` work-items (threads), `shared` bytes of dynamic memory."""

    source: str
    entry: str
    args: tuple[str | int, ...]
    groups: int
    local: int
    shared: int = 0
    options: tuple[str, ...] = ()
    dependent: bool = False


@dataclass(frozen=True)
class Stage:
    """One layer, or `layers` of them in a row, as launches in order.

    `constants` are arrays that the device gets as they are, `scratch` buffers of so many bytes.
    """

    launches: tuple[Launch, ...]
    constants: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    scratch: Mapping[str, int] = field(default_factory=dict)
    layers: int = 1


class BackEnd(Protocol):
    """The names that a module of kernels has; see the module's text."""

    VARIANT: str
    FILES: tuple[str, ...]

    def supported(self, network: Network, info: Info) -> tuple[str, ...]:
        """The arithmetics that it does on this case and device."""
        ...

    def choices(self, network: Network, index: int, arithmetic: str, n: int, info: Info) -> Sequence[Hashable]:
        """What tuning may try for a layer at batch `n`, the expected best first."""
        ...

    def stage(self, network: Network, index: int, choice: Any, arithmetic: str, n: int, info: Info) -> Stage:
        """A choice as launches. Errors: Unsupported, naming the layer and the condition."""
        ...


def back_end(info: Info) -> BackEnd:
    """The kernels that a device API runs."""
    module: Any = importlib.import_module("gpu.deconv.mma" if info.api == "cuda" else "gpu.deconv.reverse")
    back: BackEnd = module
    return back
