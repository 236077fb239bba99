"""`bcnn`: classify small images with a binary convolution network.

The best-known claim that an FPGA beats a GPU is about such networks (Li et al., arXiv 1702.06392).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from workloads.api import Case, Operations, UnknownNameError
from workloads.bcnn import cifar, digits, parameters
from workloads.bcnn.cases import LAYERS
from workloads.bcnn.images import Parts

SUMMARIES: Mapping[str, str] = {
    "binarynet": "BinaryNet's CIFAR-10 network, 617 MMAC, 6-bit input, zero padding",
    "cnv": "FINN's CNV W1A1, 59.5 MMAC, 8-bit input, no padding",
    "digits": "8 x 8 handwritten digits, for small boards; our own network",
    "digits_small": "the same digits, for the smallest parts",
}

#: Cases for the handwritten digits; the others are for CIFAR-10.
DIGITS = ("digits", "digits_small")


def parts_of(case: str) -> Parts:
    """The images on which a case is trained and judged. Errors: as of `digits.load` and `cifar.load`."""
    return digits.load() if case in DIGITS else cifar.load(LAYERS[case][0].input_bits)


def _case(name: str) -> Case:
    trained = parameters.path_of(name).is_file()
    summary = SUMMARIES[name] + ("" if trained else "; untrained")
    return Case(name, summary, trained, digits.TEST if name in DIGITS else cifar.TEST)


class Bcnn:
    """The workload; see `workloads.api.Workload`."""

    name = "bcnn"
    item = "image"
    arithmetics = ("binary",)
    quality_samples = digits.TEST
    cases: Mapping[str, Case] = {name: _case(name) for name in SUMMARIES}

    def inputs(self, case: str, n: int, seed: int) -> NDArray[np.int8]:
        """Images (n, rows, columns, channels) of signed integers; same seed, same images, fewer are the first of more.

        A trained case gets test images in an order drawn from the seed, all of them before any comes again; the
        others get uniform integers over the whole input range. Errors: as of `parts_of`.
        """
        self._check(case)
        rng = np.random.default_rng(seed)
        if self.cases[case].trained:
            pixels = parts_of(case).test.pixels
            order = [rng.permutation(len(pixels)) for _ in range(-(-n // len(pixels)))]
            return pixels[np.concatenate(order)[:n]] if order else pixels[:0]
        first = LAYERS[case][0]
        high = 2 ** (first.input_bits - 1)
        return rng.integers(-high, high, (n, first.side, first.side, first.channels_in), np.int8)

    def reference(self, case: str, inputs: NDArray[np.int8], arithmetic: str) -> NDArray[np.int32]:
        """Sums of the last layer (n, classes), exact."""
        self._check(case, arithmetic)
        return parameters.load(case).network(inputs)

    def extremes(self, case: str) -> NDArray[np.int8]:
        """Images at the ends of the range (8, rows, columns, channels): constant, chequered, striped, and zero."""
        self._check(case)
        first = LAYERS[case][0]
        low, high = -(2 ** (first.input_bits - 1)), 2 ** (first.input_bits - 1) - 1
        shape = (first.side, first.side, first.channels_in)
        row, column, channel = np.indices(shape)
        chosen = (
            np.zeros(shape, np.bool_),
            np.ones(shape, np.bool_),
            (row + column) % 2 == 0,
            (row + column) % 2 == 1,
            row % 2 == 0,
            column % 2 == 0,
            (row + column + channel) % 2 == 0,
        )
        return np.stack([*(np.where(where, high, low) for where in chosen), np.zeros(shape)]).astype(np.int8)

    def operations(self, case: str) -> Operations:
        """Work of one image: bytes of its pixels at one byte a number, and of its sums at two.

        Taps on the padding count as multiply-accumulates, as in publications. The first layer has operands of several
        bits and no share in the bit operations.
        """
        self._check(case)
        layers = LAYERS[case]
        first = layers[0]
        return Operations(
            macs=sum(layer.macs for layer in layers),
            bytes_in=first.side**2 * first.channels_in,
            bytes_out=2 * layers[-1].channels_out,
            bit_operations=2 * sum(layer.macs for layer in layers if layer.input_bits == 1),
            weight_bytes=sum(-(-layer.synapses * layer.channels_out // 8) for layer in layers),
        )

    def quality(self, case: str, arithmetic: str) -> Mapping[str, float]:
        """`accuracy` over the whole test set, computed now; empty for untrained parameters.

        An image is right when the largest sum is that of its class; of equal sums the lower class is the answer.
        Errors: as of `parts_of`.
        """
        self._check(case, arithmetic)
        if not self.cases[case].trained:
            return {}
        test = parts_of(case).test
        return {"accuracy": float((self.reference(case, test.pixels, arithmetic).argmax(1) == test.labels).mean())}

    def sources(self, case: str) -> tuple[str, ...]:
        """Files that determine the oracle and the quality of a case."""
        self._check(case)
        trained: tuple[str, ...] = ()
        if self.cases[case].trained:
            trained = (f"workloads/bcnn/parameters/{case}.npz",)
        code = ("__init__", "cases", "network", "parameters", "images", "digits" if case in DIGITS else "cifar")
        return (*trained, *(f"workloads/bcnn/{name}.py" for name in code))

    def _check(self, case: str, arithmetic: str = "binary") -> None:
        if case not in self.cases:
            raise UnknownNameError("case", case, tuple(self.cases))
        if arithmetic not in self.arithmetics:
            raise UnknownNameError("arithmetic", arithmetic, self.arithmetics)


WORKLOAD = Bcnn()
