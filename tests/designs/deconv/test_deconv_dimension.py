"""deconv_reach and deconv_spread, which know one dimension each, against their definition; and that the modules of
input_oriented are clean and refuse what they cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from players import Player, play
from test_deconv_oriented import SOURCES

from designs.flow.tools import FlowError
from designs.flow.verilator import build, lint

FOLDER = Path(__file__).resolve().parents[3] / "designs" / "deconv"
CYCLES = 1500


def bits_of(count: int) -> int:
    """Bits of a number below `count`, a power of two; at least one."""
    return max(1, count.bit_length() - 1)


def columns(rows: list[dict[str, int]]) -> dict[str, list[int]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_reach_tells_lanes_and_banks(tmp_path: Path) -> None:
    seed = 41
    print("seed", seed)
    rng = np.random.default_rng(seed)
    counts = (1, 2, 4, 8)
    players, stimuli = [], []
    for t in counts:
        inputs = {"flat": 1, "inputs": 10, "outputs": 10, "stride": 3, "b": 10, "d": 6, "f": 2}
        outputs = {"block": 12, "low": bits_of(t), "turn": bits_of(t), "mask": t, "present": t.bit_length()}
        outputs |= {"reached": t, "kept": t.bit_length()}
        players.append(Player("deconv_reach", {"T": t}, inputs, outputs, has_reset=False))
        rows: list[dict[str, int]] = []
        for cycle in range(CYCLES):
            if cycle % 10 == 0:  # the constants of a RUN, which hold while it is in flight
                flat = int(rng.random() < 0.2)
                stride = int(rng.integers(1, 5))
                side = int(rng.integers(1, 20))
                fixed = {"flat": flat, "inputs": side, "stride": stride}
                fixed["outputs"] = int(rng.integers(1, side * stride + 4))
            block = int(rng.integers(-(-side // (1 if flat else t))))
            # f comes a cycle after b and d.
            rows.append({**fixed, "b": block, "d": int(rng.integers(-6, 7)), "f": int(rng.integers(stride))})
        stimuli.append(columns(rows))
    found = play(players, stimuli, sources=[FOLDER / "deconv_reach.sv"], results=tmp_path, seed=seed)
    for t, values, answer in zip(counts, stimuli, found, strict=True):
        for cycle in range(CYCLES):
            if cycle % 10 > 6:
                continue
            given = {name: series[cycle] for name, series in values.items()}
            f = values["f"][cycle + 1]
            parallel = 1 if given["flat"] else t
            mask = reached = 0
            for lane in range(parallel):
                place = parallel * given["b"] + (lane - given["b"]) % parallel
                if place >= given["inputs"]:
                    continue
                mask |= 1 << lane
                q = place + given["d"]
                bank = q % parallel
                if q >= 0 and given["stride"] * q + f < given["outputs"]:
                    reached |= 1 << bank
                    low, turn = answer["low"][cycle + 3], answer["turn"][cycle + 3]
                    assert (lane + turn) % parallel == bank
                    block = answer["block"][cycle + 1] + (bank < low)
                    assert block % 4096 == q // parallel, (t, given)
            seen = {name: answer[name][cycle + 3] for name in ("mask", "present", "reached", "kept")}
            everywhere = (1 << t) - 1 if given["flat"] and mask else mask
            wanted = {"mask": everywhere, "present": mask.bit_count(), "reached": reached, "kept": reached.bit_count()}
            assert seen == wanted, (t, given, f)


def test_spread_tells_banks_of_outputs(tmp_path: Path) -> None:
    seed = 43
    print("seed", seed)
    rng = np.random.default_rng(seed)
    shapes = ((1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4), (8, 4))
    players, stimuli = [], []
    for t, d in shapes:
        inputs = {"flat": 1, "bank": bits_of(t), "alone": 1, "stride": 3, "outputs": 10, "first": 12}
        outputs = {"block": 12, "hit": t, "index": t * bits_of(d), "after": t}
        players.append(Player("deconv_spread", {"T": t, "D": d}, inputs, outputs, has_reset=False))
        rows: list[dict[str, int]] = []
        for cycle in range(CYCLES):
            if cycle % 10 == 0:
                stride = int(rng.integers(1, 3 if t > 1 else 5))
                fixed = {"flat": int(rng.random() < 0.2), "alone": int(rng.random() < 0.2), "stride": stride}
                fixed["outputs"] = int(rng.integers(1, 60))
            # The first of D outputs of a phase, aligned in q.
            first = int(rng.integers(0, 8)) * d * stride + int(rng.integers(stride))
            rows.append({**fixed, "bank": int(rng.integers(t)), "first": first})
        stimuli.append(columns(rows))
    found = play(players, stimuli, sources=[FOLDER / "deconv_spread.sv"], results=tmp_path, seed=seed)
    for (t, d), values, answer in zip(shapes, stimuli, found, strict=True):
        for cycle in range(CYCLES):
            if cycle % 10 > 6:
                continue
            given = {name: series[cycle] for name, series in values.items()}
            block = given["first"] if given["flat"] else given["first"] // t
            assert answer["block"][cycle + 1] == block
            banks = {}
            for u in range(1 if given["flat"] or given["alone"] else d):
                o = given["first"] + given["stride"] * u
                if o < given["outputs"]:
                    # `bank` comes a cycle after the output.
                    bank = values["bank"][cycle + 1] if given["flat"] else (o + o // t) % t
                    assert bank not in banks, "two outputs for one bank"
                    banks[bank] = (u, 0 if given["flat"] else o // t - block)
            assert answer["hit"][cycle + 2] == sum(1 << bank for bank in banks), (t, d, given)
            for bank, (u, later) in banks.items():
                width = bits_of(d)
                assert answer["index"][cycle + 2] >> bank * width & ((1 << width) - 1) == u
                assert answer["after"][cycle + 2] >> bank & 1 == later


TILES = {"TZ": 2, "TR": 1, "TC": 4, "ADDRESS": 11, "WEIGHT": 9, "PSUM": 7}
DRAIN = {"BITS": 8, "ACC": 24, "TM": 2, "TN": 4, "TZ": 2, "TR": 2, "TC": 2, "ADDRESS": 9, "PSUM": 7}


@pytest.mark.parametrize("lanes", [TILES, {**TILES, "TZ": 1, "TC": 1}, {**TILES, "TZ": 4, "WEIGHT": 14, "PSUM": 13}])
def test_the_scheduler_is_clean(lanes: dict[str, int]) -> None:
    lint("deconv_tiles", SOURCES[:-1], parameters=lanes)


@pytest.mark.parametrize("drain", [1, 2, 8])
def test_the_drain_is_clean(drain: int) -> None:
    lint("deconv_drain", SOURCES[:-1], parameters={**DRAIN, "DRAIN": drain})


@pytest.mark.parametrize(
    ("module", "parameters", "message"),
    [
        ("deconv_drain", {**DRAIN, "TM": 3}, "TM must divide TN"),
        ("deconv_drain", {**DRAIN, "TM": 8}, "TM must divide TN"),
        ("deconv_drain", {**DRAIN, "DRAIN": 16}, "DRAIN must be a power of two and at most the lanes"),
        ("deconv_tiles", {**TILES, "PSUM": 25}, "PSUM must be 1 to 24"),
        ("deconv_rotate", {"T": 3}, "T must be a power of two"),
    ],
)
def test_illegal_parameters_stop_elaboration(module: str, parameters: dict[str, int], message: str) -> None:
    with pytest.raises(FlowError, match=f"{module}: {message}"):
        build(module, SOURCES[:-1], parameters=parameters)
