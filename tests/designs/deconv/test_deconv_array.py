"""deconv_array and its lanes against integers in Python, in all forms: for simulators, for synthesis, and for ECP5."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from players import Player, pack, play, unpack

from designs.flow.tools import FlowError
from designs.flow.verilator import build, lint
from designs.lib import closure, source

FOLDER = Path(__file__).resolve().parents[3] / "designs" / "deconv"
SOURCES = [*closure("adder_tree", "delay"), FOLDER / "deconv_lane.sv", FOLDER / "deconv_array.sv"]
MULTIPLIER = source("sim/ecp5_multiplier")
#: (TREE, ECP5)
FORMS = ((0, 0), (0, 1), (1, 0), (1, 1))
CYCLES = 220
TAG = 9

#: BITS, ACC, TM, TN, TZ, TR, TC
SHAPES = (
    (8, 24, 1, 1, 1, 1, 1),
    (16, 40, 3, 4, 1, 1, 2),
    (8, 18, 2, 2, 2, 2, 1),  # narrower than a partial sum: modulo 2^18
    (8, 15, 2, 4, 1, 1, 1),
    (16, 33, 1, 2, 4, 1, 2),  # narrower than the sum over z
    (16, 48, 2, 2, 2, 2, 2),
    (8, 22, 2, 8, 1, 1, 1),
)


def player(shape: tuple[int, ...], tree: int, ecp5: int = 0) -> Player:
    bits, acc, tm, tn, tz, tr, tc = shape
    lanes = tz * tr * tc
    names = ("BITS", "ACC", "TM", "TN", "TZ", "TR", "TC")
    inputs = {"valid": 1, "first": 1, "last": 1, "merged": 1, "tag": TAG, "mask": lanes}
    inputs |= {"activations": lanes * tn * bits, "weights": tm * tz * tn * bits}
    outputs = {"sum_valid": 1, "sum_tag": TAG, "sums": lanes * tm * acc}
    parameters = {**dict(zip(names, shape, strict=True)), "TAG": TAG, "TREE": tree, "ECP5": ecp5}
    return Player("deconv_array", parameters, inputs, outputs)


def latency(shape: tuple[int, ...], ecp5: int) -> int:
    _, _, _, tn, tz, _, _ = shape
    return 3 + 2 * ecp5 + (tn.bit_length() - 1) + (tz.bit_length() if tz > 1 else 0)


def numbers(rng: np.random.Generator, bits: int, count: int) -> np.ndarray:
    """Random numbers, sometimes only the extreme ones, whose products and sums are largest."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if rng.random() < 0.25:
        return rng.choice([low, high], count) if rng.random() < 0.5 else np.full(count, low)
    return rng.integers(low, high + 1, count)


def stimulus(
    rng: np.random.Generator, shape: tuple[int, ...], silent: int
) -> tuple[dict[str, list[int]], dict[int, tuple]]:
    """Values of each cycle, and by the cycle of its last issue each job's tag, mode and sums (lanes, TM).

    `silent`: masked lanes have zeros, as the form for ECP5 asks.
    """
    bits, _, tm, tn, tz, tr, tc = shape
    lanes, plane = tz * tr * tc, tr * tc
    values: dict[str, list[int]] = {name: [] for name in player(shape, 0).inputs}
    jobs: dict[int, tuple] = {}
    total = np.zeros((lanes, tm), object)
    fresh = True
    for cycle in range(CYCLES):
        merged = int(cycle >= CYCLES // 2)
        # Nothing in flight when the mode changes, nor at the end.
        valid = rng.random() < 0.8 and cycle % (CYCLES // 2) < CYCLES // 2 - 20
        first, last = int(fresh), int(rng.random() < 0.4)
        mask = rng.random(lanes) < 0.8
        a = numbers(rng, bits, lanes * tn).reshape(lanes, tn).astype(object)
        if silent:
            a[~mask] = 0
        w = numbers(rng, bits, tm * tz * tn).astype(object)
        tag = int(rng.integers(1 << TAG))
        if not valid:
            first, last = (int(v) for v in rng.integers(0, 2, 2))
        row = (int(valid), first, last, merged, tag, pack(mask, 1), pack(a, bits), pack(w, bits))
        for name, value in zip(values, row, strict=True):
            values[name].append(value)
        if not valid:
            continue
        if merged:
            kernel = w.reshape(tm, tz, tn)
            parts = [a[lane] @ kernel[:, lane // plane].T * int(mask[lane]) for lane in range(lanes)]
            added = np.array([sum(parts[p::plane]) if p < plane else parts[p] for p in range(lanes)])
        else:
            added = np.array([a[lane] @ w[: tm * tn].reshape(tm, tn).T * int(mask[lane]) for lane in range(lanes)])
        total = added if first else total + added
        fresh = bool(last)
        if last:
            jobs[cycle] = (tag, merged, total)
    return values, jobs


def test_array_adds_products_of_jobs(tmp_path: Path) -> None:
    seed = 3
    print("seed", seed)
    rng = np.random.default_rng(seed)
    drawn = [stimulus(rng, shape, ecp5) for _, ecp5 in FORMS for shape in SHAPES]
    duts = [player(shape, tree, ecp5) for tree, ecp5 in FORMS for shape in SHAPES]
    sources = [*SOURCES, *MULTIPLIER]
    seen = play(duts, [values for values, _ in drawn], sources=sources, results=tmp_path, seed=seed)
    for dut, answer, shape, (_, jobs) in zip(duts, seen, SHAPES * len(FORMS), drawn, strict=True):
        _, acc, tm, _, tz, tr, tc = shape
        late = latency(shape, int(dut.parameters["ECP5"]))
        ended = [cycle for cycle, valid in enumerate(answer["sum_valid"]) if valid]
        assert ended == [cycle + late for cycle in jobs], dut.parameters
        for cycle, (tag, merged, total) in jobs.items():
            assert answer["sum_tag"][cycle + late] == tag
            used = tr * tc if merged else tz * tr * tc
            got = np.array(unpack(answer["sums"][cycle + late], acc, tz * tr * tc * tm)).reshape(-1, tm)[:used]
            wanted = np.array(unpack(pack(total[:used], acc), acc, used * tm)).reshape(-1, tm)
            np.testing.assert_array_equal(got, wanted, err_msg=f"{dut.parameters}, job of cycle {cycle}")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"TN": 3}, "TN, TZ, TR and TC must be powers of two"),
        ({"TC": 6}, "TN, TZ, TR and TC must be powers of two"),
        ({"TM": 0}, "BITS must be at least 2, TM and TAG at least 1"),
        ({"ACC": 7}, "ACC must be at least BITS"),
    ],
)
def test_illegal_parameters_stop_elaboration(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(FlowError, match=f"deconv_array: {message}"):
        build("deconv_array", SOURCES, parameters=parameters)


@pytest.mark.parametrize("tree", [0, 1])
@pytest.mark.parametrize("shape", [SHAPES[0], SHAPES[4], SHAPES[5]])
def test_the_modules_are_clean(shape: tuple[int, ...], tree: int) -> None:
    lint("deconv_array", SOURCES, parameters=player(shape, tree).parameters)
