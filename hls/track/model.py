"""The trained HGQ2 model of a case, its oracle, its vectors, and how they are packed into words."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compare.provenance import repo_root
from workloads.track import INPUT_FORMAT, WORKLOAD, parameters
from workloads.track.network import FixedNetwork, Ints

INSTALL = "pip install 'gatewarp[hls]'"
CASES = parameters.TRAINED


class MissingPackage(RuntimeError):
    """A package of the `hls` extra is not installed; the message names the command that installs it."""


def versions(*packages: str) -> dict[str, str]:
    """Versions of packages of the `hls` extra. Errors: MissingPackage."""
    try:
        return {name: metadata.version(name) for name in packages}
    except metadata.PackageNotFoundError as error:
        raise MissingPackage(f"{error.name} is not installed; install it with: {INSTALL}") from None


def sources_of(case: str) -> list[str]:
    """Repository-relative files behind every implementation here: the model, its format, the oracle, this module."""
    trained = (parameters.keras_path_of(case), parameters.path_of(case))
    own = ("hls/track/model.py", "workloads/track/__init__.py", "workloads/track/network.py")
    return [*(path.relative_to(repo_root()).as_posix() for path in trained), *own]


def load(case: str) -> Any:
    """The HGQ2 model of a case, a Keras model. Errors: MissingPackage."""
    try:
        import hgq.layers  # noqa: F401  registers the layers
        import keras
    except ImportError as error:
        raise MissingPackage(f"{error.name} is not installed; install it with: {INSTALL}") from None
    return keras.models.load_model(parameters.keras_path_of(case), compile=False)


def oracle(case: str) -> FixedNetwork:
    """The integer network of a trained case."""
    network = parameters.load(case).fixed
    if network is None:
        raise ValueError(f"case {case!r} is not trained; trained: {', '.join(CASES)}")
    return network


def vectors(case: str, samples: int, seed: int) -> NDArray[np.float32]:
    """Hits (n, 3) to prove an implementation on: the extremes first, then generated ones; n >= `samples`."""
    extremes = WORKLOAD.extremes(case)
    return np.concatenate([extremes, WORKLOAD.inputs(case, max(samples - len(extremes), 1), seed)])


def pack(values: Ints, width: int) -> list[int]:
    """Rows of integers to words, `width` bits an element, two's complement, element 0 lowest."""
    mask = (1 << width) - 1
    return [sum((int(v) & mask) << (i * width) for i, v in enumerate(row)) for row in values]


def unpack(words: list[int], width: int, count: int) -> Ints:
    """Words to rows of `count` signed integers: the inverse of `pack`."""
    half, mask = 1 << (width - 1), (1 << width) - 1
    rows = [[(((w >> (i * width)) & mask) ^ half) - half for i in range(count)] for w in words]
    return np.array(rows, np.int64).reshape(len(words), count)


#: Bits of one input element at the pins.
IN_WIDTH = int(INPUT_FORMAT.width[0])


def out_width(network: FixedNetwork) -> int:
    """Bits of one output element at the pins: a signed number on the output grid that holds every element."""
    output = network.layers[-1].output
    return int(1 + output.integer.max() + output.grid)
