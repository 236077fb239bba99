"""The script of `md` on a board, through its small engine in simulation: all numbers equal, cycles counted."""

from __future__ import annotations

import numpy as np
import pytest

from compare.referee import ERRORS_ENOUGH
from designs.md import on_board, simulation
from designs.md.evidence import ARITHMETIC
from designs.md.protocol import EngineFault, Script
from designs.md.simulation import Run
from workloads.api import UnknownNameError
from workloads.md import quality

CASE, STEPS = "lj864", 3


@pytest.fixture(scope="module")
def answer() -> bytes:
    """What the engine gives for the script, as bytes of the output stream."""
    made = on_board.design(CASE)
    beat = made.bits // 8
    data = on_board.encode(CASE, on_board.inputs(CASE, STEPS, 2))
    assert len(data) % beat == 0
    words = [int.from_bytes(data[at : at + beat], "little") for at in range(0, len(data), beat)]
    (trace,) = simulation.run(made, [Run(Script(made, words, 3))], seed=1)
    return b"".join(word.to_bytes(beat, "little") for packet in trace.packets for word in packet)


def test_every_number_and_the_cycles_of_a_step(answer: bytes) -> None:
    job = on_board.inputs(CASE, STEPS, 2)
    assert on_board.count(CASE, job) == STEPS
    assert len(answer) == on_board.expected_bytes(CASE, STEPS)
    outputs = on_board.decode(CASE, answer, STEPS)
    assert on_board.check(CASE, job, outputs) == ""
    counted = on_board.counted(CASE, outputs)
    assert counted is not None
    assert counted.items == STEPS - 1
    assert counted.interval == (outputs.last.run_cycles - outputs.first.run_cycles) / 2
    # A step of one pipeline takes at least a cycle for each pair within the cutoff.
    assert counted.interval > outputs.last.pairs.sum() / STEPS


def test_a_wrong_bit_is_seen(answer: bytes) -> None:
    job, beat = on_board.inputs(CASE, STEPS, 2), on_board.design(CASE).bits // 8
    wrong = bytearray(answer)
    wrong[len(answer) - 100 * beat] ^= 1
    said = on_board.check(CASE, job, on_board.decode(CASE, bytes(wrong), STEPS))
    assert said.startswith("1 of 864 particles differ from the oracle, first particle ")
    pairs = bytearray(answer)
    pairs[3 * beat] ^= 1  # the last status: its worker's count of pairs
    assert "pairs counted" in on_board.check(CASE, job, on_board.decode(CASE, bytes(pairs), STEPS))


def test_the_quality_is_that_of_its_own_narrow_numbers() -> None:
    (name, told), *others = on_board.quality(CASE).items()
    assert (name, told.samples, others) == ("force_error", quality.samples(CASE), [])
    wide = quality.force_error(CASE, "fixed")
    assert 2 * wide < told.value < ERRORS_ENOUGH["force_error"]  # coarser than 24 bits, but still enough
    assert on_board.core(CASE).arithmetic == "fixed17" != ARITHMETIC


def test_a_flag_is_an_error(answer: bytes) -> None:
    beat = on_board.design(CASE).bits // 8
    raised = bytearray(answer)
    raised[2 * beat] |= 1
    with pytest.raises(EngineFault, match="particles lost"):
        on_board.decode(CASE, bytes(raised), STEPS)


def test_refused() -> None:
    with pytest.raises(on_board.TooFewSteps, match="takes at least 2; give --samples 2"):  # ours: one message
        on_board.inputs(CASE, 1, 1)
    with pytest.raises(UnknownNameError, match="unknown case 'nope'"):
        on_board.core("nope")
    assert np.prod(on_board.items(CASE).in_words) == 0
