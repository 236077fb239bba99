"""Modules of networks: what all have in common. Illegal parameters and lint."""

from __future__ import annotations

from pathlib import Path

import pytest
from many_streams import Dut, sources

from designs.flow.tools import FlowError
from designs.flow.verilator import build, lint
from designs.lib import closure

#: A file for memories whose contents do not matter.
ZERO = Path(__file__).parent / "zero.hex"
FILES: dict[str, int | str] = {"WEIGHTS": f'"{ZERO}"', "THRESHOLDS": f'"{ZERO}"'}


@pytest.mark.parametrize(
    ("module", "parameters", "message"),
    [
        ("stream_width", {"UNIT": 0}, "UNIT, IN and OUT must be at least 1"),
        ("stream_width", {"IN": 4, "OUT": 6}, "IN must divide OUT, or OUT must divide IN"),
        ("max_pool", {"FOLDS": 0}, "BITS, LANES and FOLDS must be at least 1"),
        ("max_pool", {"SIDE": 7}, "SIDE must be even"),
        ("max_pool", {"SIGNED": 1}, "SIGNED needs BITS of at least 2"),
        ("sliding_window", {"CHANNELS": 0}, "BITS, CHANNELS and KERNEL must be at least 1"),
        ("sliding_window", {"KERNEL": 2, "PADDING": 2, "BITS": 2}, "PADDING must be at least 0 and less than KERNEL"),
        ("sliding_window", {"SIDE": 2}, "SIDE must be at least KERNEL - PADDING"),
        ("sliding_window", {"MASK_LANES": 1}, "MASK_LANES must be 0"),
        ("sliding_window", {"PADDING": 1}, "padding of bits needs MASK_LANES that divide CHANNELS"),
        ("sliding_window", {"PADDING": 1, "MASK_LANES": 3}, "padding of bits needs MASK_LANES that divide CHANNELS"),
        ("sliding_window", {"ROWS": 3}, "ROWS must be more than KERNEL"),
        ("mvtu", {"PE": 0}, "SIMD, PE, SYNAPSES, NEURONS, A_BITS and W_BITS must be at least 1"),
        ("mvtu", {"SIMD": 7}, "SIMD must divide SYNAPSES"),
        ("mvtu", {"PE": 3}, "PE must divide NEURONS"),
        ("mvtu", {"W_BITS": 2}, "W_BITS above 1 needs A_BITS above 1"),
        ("mvtu", {"MASK_GROUP": 3}, "MASK_GROUP must be 0, or divide SIMD"),
        ("mvtu", {"MASK_GROUP": 4, "A_BITS": 2}, "MASK_GROUP must be 0, or divide SIMD"),
        ("mvtu", {"ACC_BITS": 7}, "ACC_BITS must hold every possible sum"),
        ("mvtu", {"A_BITS": 3, "ACC_BITS": 9}, "ACC_BITS must hold every possible sum"),
        ("mvtu", {"WEIGHTS": '""'}, "must name files"),
        ("mvtu", {"THRESHOLDS": '""'}, "must name files"),
        ("popcount", {"WIDTH": 0}, "WIDTH must be at least 1"),
        ("popcount", {"LATENCY": 0}, "LATENCY must be at least 1"),
        ("adder_tree", {"COUNT": 0}, "COUNT, BITS and OUT_BITS must be at least 1"),
        ("adder_tree", {"LATENCY": -1}, "LATENCY must be at least 0"),
        ("delay", {"WIDTH": 0}, "WIDTH must be at least 1"),
        ("delay", {"STAGES": -1}, "STAGES must be at least 0"),
        ("rom", {"FILE": '"zero.hex"', "DEPTH": 0}, "WIDTH and DEPTH must be at least 1"),
        ("rom", {"FILE": '"zero.hex"', "REGISTERS": 0}, "REGISTERS must be at least 1"),
        ("rom", {}, "FILE must name a file"),
        ("replay_buffer", {"BEATS": 0}, "WIDTH, BEATS and REPEATS must be at least 1"),
    ],
)
def test_illegal_parameters_stop_elaboration(module: str, parameters: dict[str, int | str], message: str) -> None:
    files = FILES if module == "mvtu" else {}
    with pytest.raises(FlowError, match=f"{module}: .*{message}") as caught:
        build(module, closure(module), parameters={**files, **parameters})
    assert f"In instance '{module}" in str(caught.value)


def unit(**parameters: int) -> Dut:
    """A matrix-vector unit with memories of zeros."""
    given = {"SIMD": 8, "PE": 4, "SYNAPSES": 64, "NEURONS": 16, **parameters}
    masks = given["SIMD"] // given["MASK_GROUP"] if given.get("MASK_GROUP") else 0
    result = 1 if given.get("THRESHOLD", 1) else given.get("ACC_BITS", 16)
    return Dut("mvtu", {**given, **FILES}, given["SIMD"] * given.get("A_BITS", 1) + masks, given["PE"] * result)


LINTED = {
    "collect": Dut("stream_width", {"UNIT": 3, "IN": 1, "OUT": 5}, 3, 15),
    "split": Dut("stream_width", {"UNIT": 3, "IN": 6, "OUT": 2}, 18, 6),
    "register": Dut("stream_width", {"UNIT": 1, "IN": 1, "OUT": 1}, 1, 1),
    "pool of bits": Dut("max_pool", {"LANES": 3, "FOLDS": 2, "SIDE": 6}, 3, 3),
    "pool of numbers": Dut("max_pool", {"BITS": 4, "LANES": 2, "FOLDS": 1, "SIDE": 2, "SIGNED": 1}, 8, 8),
    "window": Dut("sliding_window", {"CHANNELS": 4, "SIDE": 30}, 4, 12),
    "window with masks": Dut("sliding_window", {"CHANNELS": 6, "SIDE": 8, "PADDING": 1, "MASK_LANES": 3}, 6, 27),
    "window of numbers": Dut("sliding_window", {"BITS": 5, "CHANNELS": 1, "SIDE": 8, "PADDING": 1}, 5, 15),
    "window of one": Dut("sliding_window", {"CHANNELS": 4, "KERNEL": 1}, 4, 4),
    "bits": unit(),
    "one synapse fold": unit(SIMD=64),
    "one neuron fold": unit(PE=16),
    "one of each": unit(SIMD=64, PE=16),
    "many neuron folds": unit(PE=1, NEURONS=64, THRESHOLD=0),
    "masks": unit(MASK_GROUP=4),
    "odd masks": unit(SIMD=16, MASK_GROUP=1),
    "signs": unit(A_BITS=5),
    "numbers": unit(A_BITS=5, W_BITS=3, THRESHOLD=0),
    "a single product": unit(SIMD=1, PE=1, SYNAPSES=1, NEURONS=1, ACC_BITS=2),
}


@pytest.mark.parametrize("name", LINTED)
def test_lint(tmp_path: Path, name: str) -> None:
    lint("many", sources([LINTED[name]], tmp_path))
