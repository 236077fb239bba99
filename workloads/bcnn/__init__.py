"""`bcnn`: classify small images with a binary convolution network.

The best-known claim that an FPGA beats a GPU is about such networks (Li et al., arXiv 1702.06392).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from workloads.api import Case, Operations, UnknownNameError
from workloads.bcnn import parameters
from workloads.bcnn.cases import LAYERS

SUMMARIES: Mapping[str, str] = {
    "binarynet": "BinaryNet's CIFAR-10 network, 617 MMAC, 6-bit input, zero padding",
    "cnv": "FINN's CNV W1A1, 59.5 MMAC, 8-bit input, no padding",
    "digits": "8 x 8 handwritten digits, for small boards; our own network",
    "digits_small": "the same digits, for the smallest parts",
}


class Bcnn:
    """The workload; see `workloads.api.Workload`."""

    name = "bcnn"
    item = "image"
    arithmetics = ("binary",)
    cases: Mapping[str, Case] = {
        name: Case(name, summary, parameters.path_of(name).is_file()) for name, summary in SUMMARIES.items()
    }

    def inputs(self, case: str, n: int, seed: int) -> NDArray[np.int8]:
        """Images (n, rows, columns, channels) of signed integers over the whole input range; same seed, same images."""
        self._check(case)
        first = LAYERS[case][0]
        high = 2 ** (first.input_bits - 1)
        rng = np.random.default_rng(seed)
        return rng.integers(-high, high, (n, first.side, first.side, first.channels_in), np.int8)

    def reference(self, case: str, inputs: NDArray[np.int8], arithmetic: str) -> NDArray[np.int32]:
        """Sums of the last layer (n, classes), exact."""
        self._check(case)
        if arithmetic not in self.arithmetics:
            raise UnknownNameError("arithmetic", arithmetic, self.arithmetics)
        return parameters.load(case).network(inputs)

    def operations(self, case: str) -> Operations:
        """Multiply-accumulates of one image, bytes of its pixels at one byte a number, and of its sums at two."""
        self._check(case)
        layers = LAYERS[case]
        first = layers[0]
        return Operations(
            sum(layer.macs for layer in layers), first.side**2 * first.channels_in, 2 * layers[-1].channels_out
        )

    def _check(self, case: str) -> None:
        if case not in self.cases:
            raise UnknownNameError("case", case, tuple(self.cases))


WORKLOAD = Bcnn()
