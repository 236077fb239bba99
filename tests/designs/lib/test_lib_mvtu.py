"""mvtu against numpy: bits with and without masks, numbers by signs, numbers by numbers; sums and thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from many_streams import Dut, run_many


@dataclass(frozen=True)
class Shape:
    """Parameters of one unit, as the module has them; `acc` 0 takes the fewest bits that hold every sum."""

    simd: int
    pe: int
    synapses: int
    neurons: int
    a: int = 1
    w: int = 1
    group: int = 0
    acc: int = 0
    threshold: int = 1

    @property
    def bound(self) -> int:
        """Largest magnitude of a sum."""
        return self.synapses << (self.a + self.w - 2)

    @property
    def acc_bits(self) -> int:
        return self.acc or self.bound.bit_length() + 1

    @property
    def folds(self) -> tuple[int, int]:
        """Synapse folds and neuron folds."""
        return self.synapses // self.simd, self.neurons // self.pe


BITS = (
    Shape(8, 4, 64, 16),
    Shape(7, 3, 63, 9),  # 63 = 2**6 - 1: the largest sum is the end of ACC_BITS
    Shape(1, 1, 5, 3, threshold=0),
    Shape(1, 1, 1, 1),
    Shape(16, 2, 16, 8, acc=12),  # one synapse fold
    Shape(31, 4, 62, 4, threshold=0),  # one neuron fold
    Shape(96, 5, 96, 5),  # one of each
    Shape(127, 1, 127, 2, threshold=0),
    Shape(64, 2, 256, 4),
    Shape(4, 6, 12, 12),
    Shape(2, 1, 2, 40),  # memories of more than 32 words are read in two cycles
    Shape(2, 1, 6, 36),
)
MASKED = (
    Shape(8, 4, 24, 8, group=8),
    Shape(8, 4, 24, 8, group=4, threshold=0),
    Shape(9, 2, 27, 4, group=3, threshold=0),  # odd groups
    Shape(6, 3, 18, 6, group=1),
    Shape(30, 2, 30, 4, group=10, acc=9),
    Shape(15, 2, 15, 2, group=5),
    Shape(2, 2, 18, 2, group=2, threshold=0),
    Shape(144, 3, 144, 9, group=48),
)
SIGNS = (
    Shape(3, 4, 27, 8, a=8),
    Shape(9, 2, 9, 4, a=5),
    Shape(1, 2, 4, 4, a=3, threshold=0),
    Shape(27, 3, 27, 6, a=6, threshold=0),
    Shape(5, 1, 20, 3, a=2, threshold=0),
    Shape(8, 4, 16, 4, a=8, acc=20),
)
NUMBERS = (
    Shape(4, 2, 12, 4, a=8, w=8, threshold=0),
    Shape(3, 3, 3, 3, a=9, w=5, threshold=0),
    Shape(1, 1, 8, 2, a=4, w=2),
    Shape(1, 1, 1, 1, a=2, w=2, threshold=0),
    Shape(8, 1, 32, 5, a=12, w=10, acc=16, threshold=0),  # sums modulo 2**16
    Shape(16, 4, 32, 16, a=7, w=6),
)
SYNTHESISED = (
    Shape(5, 2, 15, 4),
    Shape(6, 1, 12, 2, group=3, threshold=0),
    Shape(3, 1, 6, 2, a=3),
)
VECTORS = 14


def words(values: np.ndarray, bits: int) -> list[int]:
    """Words of the last axis, its first number lowest."""
    rows = values.reshape(-1, values.shape[-1])
    return [sum((int(v) & (2**bits - 1)) << (bits * i) for i, v in enumerate(row)) for row in rows]


def hexadecimal(path: Path, lines: list[int]) -> Path:
    path.write_text("".join(f"{line:x}\n" for line in lines))
    return path


def operands(shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Activations (vectors, synapses), masks (vectors, groups) and weights (neurons, synapses), as integers.

    Among the vectors are those that give the largest and the smallest sum of a neuron, and one that is masked wholly.
    """
    size = (VECTORS, shape.synapses)
    groups = shape.synapses // shape.group if shape.group else 1
    masks = rng.integers(0, 2, (VECTORS, groups)) if shape.group else np.ones((VECTORS, 1), np.int64)
    weights = rng.integers(-(2 ** (shape.w - 1)), 2 ** (shape.w - 1), (shape.neurons, shape.synapses))
    if shape.w == 1:
        weights = rng.choice([-1, 1], (shape.neurons, shape.synapses))
    if shape.a == 1:
        activations = rng.choice([-1, 1], size)
        activations[0], activations[1] = weights[0], -weights[-1]
        activations[2], activations[3] = -weights[0], weights[-1]
    else:
        low, high = -(2 ** (shape.a - 1)), 2 ** (shape.a - 1) - 1
        activations = rng.integers(low, high + 1, size)
        weights[-1] = weights.min()  # all least: the largest product of all
        activations[0] = low
        activations[1] = np.where(weights[0] > 0, low, high)
        activations[2] = np.where(weights[0] > 0, high, low)
        activations[3] = high
    masks[:3] = 1
    if shape.group:
        masks[4] = 0
    return activations, masks, weights


def vectors_of(shape: Shape, activations: np.ndarray, masks: np.ndarray) -> list[int]:
    """Input words: SIMD activations a beat, or groups of {mask, bits}."""
    values = (activations + 1) // 2 if shape.a == 1 else activations
    if not shape.group:
        return words(values.reshape(-1, shape.simd), shape.a)
    grouped = values.reshape(VECTORS, -1, shape.group)
    # What lies under a mask does not matter.
    return words(
        np.concatenate([grouped, masks[:, :, None]], axis=2).reshape(-1, shape.simd // shape.group * (shape.group + 1)),
        1,
    )


def case(
    shape: Shape, number: int, rng: np.random.Generator, folder: Path
) -> tuple[Dut, list[int], list[int], list[Path]]:
    """The unit, its input words, the words expected, and its files."""
    activations, masks, weights = operands(shape, rng)
    lanes = np.repeat(masks, shape.synapses // masks.shape[1], axis=1)
    sums = (activations * lanes) @ weights.T
    if shape.w == 1:
        assert np.abs(sums).max() == shape.bound or shape.a > 1
    acc, (synapse_folds, neuron_folds) = shape.acc_bits, shape.folds
    # Thresholds that are met exactly, missed by one, and at the ends of their range.
    thresholds = sums[rng.integers(0, VECTORS, shape.neurons), np.arange(shape.neurons)] + rng.integers(
        0, 2, shape.neurons
    )
    thresholds[shape.neurons // 2] = rng.choice([-(2 ** (acc - 1)), 2 ** (acc - 1) - 1])
    thresholds = np.clip(thresholds, -(2 ** (acc - 1)), 2 ** (acc - 1) - 1)
    coded = (weights + 1) // 2 if shape.w == 1 else weights
    folded = coded.reshape(neuron_folds, shape.pe, synapse_folds, shape.simd).transpose(0, 2, 1, 3)
    files = [
        hexadecimal(folder / f"w{number}.hex", words(folded.reshape(-1, shape.pe * shape.simd), shape.w)),
        hexadecimal(folder / f"t{number}.hex", words(thresholds.reshape(neuron_folds, shape.pe), acc)),
    ]
    results = (sums >= thresholds).astype(np.int64) if shape.threshold else sums
    parameters: dict[str, int | str] = {
        "SIMD": shape.simd,
        "PE": shape.pe,
        "SYNAPSES": shape.synapses,
        "NEURONS": shape.neurons,
        "A_BITS": shape.a,
        "W_BITS": shape.w,
        "MASK_GROUP": shape.group,
        "ACC_BITS": acc,
        "THRESHOLD": shape.threshold,
        "WEIGHTS": f'"w{number}.hex"',
        "THRESHOLDS": f'"t{number}.hex"',
    }
    groups = shape.simd // shape.group if shape.group else 0
    bits = 1 if shape.threshold else acc
    dut = Dut("mvtu", parameters, shape.simd * shape.a + groups, shape.pe * bits)
    return dut, vectors_of(shape, activations, masks), words(results.reshape(-1, shape.pe), bits), files


@pytest.mark.parametrize(
    ("shapes", "seed", "form"),
    [
        (BITS, 21, ""),
        (MASKED, 22, ""),
        (SIGNS, 23, ""),
        (NUMBERS, 24, ""),
        ((*BITS[:4], *MASKED[1:4], *SIGNS[:3]), 25, "synthesis"),
        (SYNTHESISED, 26, "netlist"),
    ],
    ids=["bits", "masked", "signs", "numbers", "other forms", "synthesised"],
)
def test_mvtu(tmp_path: Path, shapes: tuple[Shape, ...], seed: int, form: str) -> None:
    rng = np.random.default_rng(seed)
    cases = [case(shape, number, rng, tmp_path) for number, shape in enumerate(shapes)]
    duts, sent, expected, files = zip(*cases, strict=True)
    data = [path for some in files for path in some]
    seen = run_many(duts, sent, expected, results=tmp_path / "run", seed=seed, data=data, form=form)
    for shape, rhythms in zip(shapes, seen, strict=True):
        synapse_folds, neuron_folds = shape.folds
        inward, outward = rhythms[0].in_cycles, rhythms[0].out_cycles
        gaps = np.diff(outward)
        assert set(gaps) == {synapse_folds}, f"{shape}: a result each {synapse_folds} cycles, also between vectors"
        assert len(outward) == VECTORS * neuron_folds
        # A vector's first result needs its last beat, and no later one.
        latency = outward[0] - inward[synapse_folds - 1]
        assert latency <= 12, f"{shape}: {latency} cycles from the last beat to the first result"
