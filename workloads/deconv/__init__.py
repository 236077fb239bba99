"""`deconv`: generate images and volumes with transposed convolutions.

Two claims that an FPGA beats a GPU are about such networks: more throughput per watt with less variation (Colbert et
al., arXiv 2102.00294), and 3.0 TOPS of zero-inserted operations in 2D and 3D (Wang et al., arXiv 1903.02550).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workloads.api import Case, Operations, UnknownNameError
from workloads.deconv import parameters, quality
from workloads.deconv.cases import LAYERS, SUMMARIES, UNCHAINED
from workloads.deconv.fixed import BITS, decode, encode
from workloads.deconv.network import input_shape

#: Items behind the signal-to-noise figures; the large networks take seconds each.
QUALITY_SAMPLES: Mapping[str, int] = {"digits": 512, "mnist": 128, "celeba": 32, "dcgan": 8, "gan3d": 4, "vnet": 2}
QUALITY_SEED = 20_000


def _case(name: str) -> Case:
    trained = parameters.path_of(name).is_file()
    return Case(name, SUMMARIES[name] + ("" if trained else "; untrained"), trained, QUALITY_SAMPLES[name])


class Deconv:
    """The workload; see `workloads.api.Workload`."""

    name = "deconv"
    item = "item"
    arithmetics = quality.ARITHMETICS
    quality_samples = QUALITY_SAMPLES["digits"]
    cases: Mapping[str, Case] = {name: _case(name) for name in SUMMARIES}

    def inputs(self, case: str, n: int, seed: int) -> NDArray[np.float32]:
        """Inputs (n, sides..., channels), or (n, numbers) for `vnet`: multiples of 1/128, exact in every arithmetic.

        Generators get numbers spread evenly over [-1, 1); `vnet`, whose inputs are activations, over [0, 1).
        Same seed, same numbers; fewer are the first of more.
        """
        self._check(case)
        rng = np.random.default_rng(seed)
        low = 0 if case in UNCHAINED else -128
        shape = input_shape(LAYERS[case], case not in UNCHAINED)
        return rng.integers(low, 128, (n, *shape), np.int16).astype(np.float32) / np.float32(128)

    def reference(self, case: str, inputs: NDArray[np.float32], arithmetic: str) -> NDArray[Any]:
        """Oracle outputs (n, sides..., channels), or (n, numbers) for `vnet`, as real numbers in float64.

        `fixed8` and `fixed16`: what the exact integers say. `fp32` and `fp16`: the float64 evaluation.
        """
        self._check(case, arithmetic)
        if arithmetic not in BITS:
            return parameters.load(case).network(inputs)
        return decode(self.integers(case, inputs, BITS[arithmetic]), BITS[arithmetic])

    def integers(self, case: str, inputs: NDArray[np.float32], bits: int) -> NDArray[np.int64]:
        """The exact integers behind `reference` with `bits` bits, in units of 2^-(bits-1)."""
        self._check(case)
        return parameters.fixed(case, bits)(encode(inputs, bits))

    def extremes(self, case: str) -> NDArray[np.float32]:
        """Inputs at the ends of the range (4, *input_shape): all lowest, all highest, alternating, zero."""
        self._check(case)
        low = 0.0 if case in UNCHAINED else -1.0
        high = 127 / 128
        shape = input_shape(LAYERS[case], case not in UNCHAINED)
        alternating = np.where(np.arange(shape[-1]) % 2, low, high)
        fill = (np.full(shape, low), np.full(shape, high), np.broadcast_to(alternating, shape), np.zeros(shape))
        return np.stack(fill).astype(np.float32)

    def operations(self, case: str) -> Operations:
        """Work of one item; bytes at two a number.

        `macs` counts every input times the whole kernel, as publications do; see `workloads.deconv.layer`.
        """
        self._check(case)
        layers = LAYERS[case]
        ends = (layers, layers) if case in UNCHAINED else (layers[:1], layers[-1:])
        return Operations(
            macs=sum(layer.macs for layer in layers),
            bytes_in=2 * sum(layer.inputs for layer in ends[0]),
            bytes_out=2 * sum(layer.outputs for layer in ends[1]),
            weight_bytes=2 * sum(layer.weights for layer in layers),
            equivalent_macs=sum(layer.equivalent_macs for layer in layers),
            kept_macs=sum(layer.kept_macs for layer in layers),
        )

    def quality(self, case: str, arithmetic: str) -> Mapping[str, float]:
        """`sqnr` of every case, in dB; `mmd` of trained ones, 0 where it is below. See `workloads.deconv.quality`.

        Errors: as of `workloads.bcnn.digits.load`, for trained cases.
        """
        self._check(case, arithmetic)
        inputs = self.inputs(case, QUALITY_SAMPLES[case], QUALITY_SEED)
        outputs = quality.outputs(case, inputs, arithmetic)
        figures = {"sqnr": quality.sqnr(outputs, parameters.load(case).network(inputs))}
        if self.cases[case].trained:
            figures["mmd"] = max(0.0, quality.to_digits(outputs))
        return figures

    def sources(self, case: str) -> tuple[str, ...]:
        """Files that determine the oracle and the quality of a case."""
        self._check(case)
        trained: tuple[str, ...] = ()
        if self.cases[case].trained:
            data = ("workloads/bcnn/digits.py", "workloads/bcnn/images.py")
            trained = (f"workloads/deconv/parameters/{case}.npz", *data)
        code = ("__init__", "algorithms", "cases", "fixed", "layer", "network", "parameters", "quality")
        return (*trained, *(f"workloads/deconv/{name}.py" for name in code))

    def _check(self, case: str, arithmetic: str | None = None) -> None:
        if case not in self.cases:
            raise UnknownNameError("case", case, tuple(self.cases))
        if arithmetic is not None and arithmetic not in self.arithmetics:
            raise UnknownNameError("arithmetic", arithmetic, self.arithmetics)


WORKLOAD = Deconv()
