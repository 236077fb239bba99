"""The kernels of `bcnn`: which there are for a network and a device, and what a whole network's launches are.

A `Kernel` is a chain of launches, one a layer. Activations between layers are bits, packed little-endian along the
channels into 32-bit words, rows by columns by words of an image together. Input: int8 (n, rows, columns, channels);
output: int32 sums (n, classes).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.runtime.device import Info
from workloads.bcnn.network import Network as Reference

ARITHMETICS = ("binary",)
#: What decides a result besides the kernel's own `files` and the parameters, relative to the repository.
SOURCES = (
    "gpu/bcnn/kernels.py",
    "gpu/bcnn/bench.py",
    "gpu/runtime/loop.py",
    "gpu/runtime/stats.py",
    "workloads/bcnn/network.py",
    "workloads/bcnn/cases.py",
)


class Unsupported(ValueError):
    """A network that a kernel cannot do; the message names the layer and the condition that fails."""


@dataclass(frozen=True)
class Network:
    """One case's parameters as kernels need them."""

    layers: Reference
    steps: dict[tuple[str, int, Choice], Step] = field(default_factory=dict, compare=False, repr=False)
    """Launches that were built already."""

    @classmethod
    def of(cls, parameters: Any) -> Network:
        """Take the parameters of a case (`workloads.bcnn.parameters.Parameters`)."""
        return cls(parameters.network)

    def encode(self, arithmetic: str, inputs: NDArray[np.int8], to: type[Any] = np.int8) -> NDArray[Any]:
        """Images as the kernel's input array."""
        return np.ascontiguousarray(inputs.astype(to))

    def reference(self, arithmetic: str, inputs: NDArray[np.int8]) -> NDArray[np.int32]:
        """The oracle's sums (n, classes)."""
        return self.layers(inputs)

    def tolerance(self, arithmetic: str, inputs: NDArray[np.int8]) -> float | None:
        """None: every kernel is exact."""
        return None


@dataclass(frozen=True, init=False)
class Choice:
    """What tuning may choose for a layer: a family of kernels, and its numbers by name."""

    family: str
    values: tuple[tuple[str, int], ...]

    def __init__(self, family: str, **values: int) -> None:
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "values", tuple(values.items()))

    def __getitem__(self, name: str) -> int:
        return dict(self.values)[name]

    def __str__(self) -> str:
        return " ".join([self.family, *(f"{name}={value}" for name, value in self.values)])


@dataclass(frozen=True)
class Step:
    """One launch of the chain: a layer's kernel, in a program whose entry is `layer`.

    The entry takes (in, out, *constants, n); `groups(n, info)` says how many work-groups of `local` work-items,
    `shared` is dynamic shared memory in bytes, `out_bytes` what one image writes. `constants` are uploaded once.
    """

    layer: str
    source: str
    constants: tuple[NDArray[Any], ...]
    groups: Callable[[int, Info], int]
    local: int
    shared: int
    out_bytes: int
    choice: Choice


@dataclass(frozen=True)
class Kernel:
    """A whole network ready to compile and launch: `variant` names the family, `steps` its launches in order."""

    variant: str
    arithmetic: str
    steps: tuple[Step, ...]
    n_in: int
    n_out: int
    files: tuple[str, ...]

    in_type: type[Any] = np.int8
    out_type: type[Any] = np.int32

    @property
    def item_bytes(self) -> int:
        """Bytes of one image in and of its sums out."""
        return self.n_in * np.dtype(self.in_type).itemsize + self.n_out * np.dtype(self.out_type).itemsize

    @property
    def detail(self) -> str:
        """What was chosen for each layer."""
        return "; ".join(f"{step.layer}: {step.choice}" for step in self.steps)

    def conditions(self, n: int, info: Info) -> dict[str, str | int]:
        """What a record says of the kernel at batch `n`."""
        return {
            "kernel": self.variant,
            "kernel_detail": self.detail,
            "launches": len(self.steps),
            "groups": ", ".join(str(step.groups(n, info)) for step in self.steps),
            "tuned": "fastest median device time of each layer at this batch",
            "io": f"{np.dtype(self.in_type).name} x {self.n_in} in, {np.dtype(self.out_type).name} x {self.n_out} out",
        }


def family(info: Info) -> Any:
    """The module of the kernels that a device runs: it has VARIANT, FILES, `check`, `choices` and `step`."""
    return importlib.import_module("gpu.bcnn.tensor" if info.api == "cuda" else "gpu.bcnn.popcount")


def supported(network: Network, info: Info) -> tuple[str, ...]:
    """The arithmetics that this device does on this network: "binary", or nothing where no kernel fits."""
    try:
        family(info).check(network.layers)
    except Unsupported:
        return ()
    return ARITHMETICS


def choices(network: Network, index: int, n: int, info: Info) -> list[Choice]:
    """What tuning may try for layer `index` at batch `n`."""
    found: list[Choice] = list(dict.fromkeys(family(info).choices(network.layers, index, n, info)))
    return found


def step_of(network: Network, index: int, choice: Choice, info: Info) -> Step:
    """The launch of layer `index`, built once."""
    key = (info.api, index, choice)
    if key not in network.steps:
        network.steps[key] = family(info).step(network.layers, index, choice)
    return network.steps[key]


def make(network: Network, chosen: Sequence[Choice], info: Info) -> Kernel:
    """Build a whole network of one choice for each layer. Errors: Unsupported, naming the layer and the condition."""
    module, layers = family(info), network.layers
    module.check(layers)
    rows, columns, channels = layers.input_shape
    return Kernel(
        module.VARIANT,
        ARITHMETICS[0],
        tuple(step_of(network, index, choice, info) for index, choice in enumerate(chosen)),
        rows * columns * channels,
        layers.layers[-1].channels_out * layers.layers[-1].side_out ** 2,
        module.FILES,
    )


def kernels(network: Network, n: int, info: Info) -> Iterator[Kernel]:
    """Yield whole-network kernels that together hold every code that tuning may choose at batch `n`, each to prove."""
    every = [choices(network, index, n, info) for index in range(len(network.layers.layers))]
    for number in range(max(len(found) for found in every)):
        yield make(network, [found[number % len(found)] for found in every], info)
