"""The record of a run on a board: where its clock is known from, and that it does not contradict the host's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from deploy_stand_ins import BAUD, MHZ, ULX3S, subject

from compare.deployed import CLOCK_BASIS
from compare.record import Boundary, Record, Stage
from designs.boards import bitstream
from designs.boards.bitstream import Built, Routed
from designs.boards.identity import Counters, Identity
from designs.boards.link import Statistics
from designs.boards.session import ChipTimes, LineTimes, Outcome
from designs.boards.subject import Sample
from gatewarp.board_record import ClockContradictedError, Runs, record


@pytest.fixture
def built(tmp_path: Path) -> Built:
    path = tmp_path / "made.bit"
    path.write_bytes(b"bits")
    of = subject()
    plan = bitstream.plan(of.core("four"), ULX3S, mhz=MHZ, items=of.items("four"), baud=BAUD)
    return bitstream.of(plan, Routed(1, 60e6, True, path))


def runs(*lines: tuple[float, float]) -> Runs:
    """Runs that took seconds on the chip at 50 MHz, and on the host."""
    identity = Identity(**dict.fromkeys(Identity.__dataclass_fields__, 1))  # type: ignore[arg-type]
    counters = Counters(**dict.fromkeys(Counters.__dataclass_fields__, 1))  # type: ignore[arg-type]
    chip = ChipTimes(intervals=(2.0,), latencies=(20,), items=2)
    made = [
        Outcome(
            identity, 100, None, "", chip, LineTimes(host, 400, 400, round(seconds * MHZ * 1e6), None), counters,
            Statistics(),
        )
        for seconds, host in lines
    ]  # fmt: skip
    return Runs(tuple(made))


@pytest.mark.parametrize(
    ("chip", "host", "good"),
    [
        (0.9, 1.0, True), (1.005, 1.0, True), (1.02, 1.0, False), (2.0, 1.0, False), (0.51, 1.0, True),
        (0.49, 1.0, False), (0.0, 1.0, False), (0.001, 0.4, True), (0.41, 0.4, False),
    ],
)  # fmt: skip
def test_the_clock_of_the_chip_must_fit_that_of_the_host(built: Built, chip: float, host: float, good: bool) -> None:
    many = runs((0.9, 1.0), (chip, host))
    if good:
        assert make(built, many, False)
        return
    with pytest.raises(ClockContradictedError, match=rf"at its nominal 50 MHz, the host saw {host:g} s: .* program"):
        make(built, many, False)
    assert make(built, many, True)  # no clock of the world ran


def test_what_a_record_says_of_its_clock_and_its_sources(built: Built) -> None:
    real, simulated = (make(built, runs((0.9, 1.0)), pretended) for pretended in (False, True))
    assert real.conditions[CLOCK_BASIS] == "nominal: PLL of the ECP5 from 25 MHz"
    assert CLOCK_BASIS not in simulated.conditions
    only = set(simulated.provenance.sources) - set(real.provenance.sources)
    assert only == {
        "designs/boards/simulated/main.cpp", "designs/boards/simulated/process.h",
        "designs/boards/simulated/simulator.py", "designs/lib/sim/ecp5_pll.sv",
    }  # fmt: skip
    assert "designs/boards/top.py" in simulated.provenance.sources


@pytest.mark.parametrize("simulated", [False, True])
def test_an_arithmetic_of_its_own_brings_its_quality(built: Built, simulated: bool) -> None:
    told = {"force_error": Sample(3e-4, 2)}
    (made,) = (
        m for m in make(built, runs((0.9, 1.0)), simulated, told).measurements if m.quantity.startswith("quality.")
    )
    assert (made.quantity, made.value, made.samples, made.unit) == ("quality.force_error", 3e-4, 2, "1")
    assert (made.stage, made.boundary) == (Stage.SIMULATED if simulated else Stage.MEASURED, Boundary.NONE)
    assert not [m for m in make(built, runs((0.9, 1.0)), simulated).measurements if m.quantity.startswith("quality.")]


def make(built: Built, many: Runs, simulated: bool, quality: Mapping[str, Sample] | None = None) -> Record:
    return record(
        built, many, simulated=simulated, command="gatewarp deploy", sources=["designs/lib/stream_fifo.sv"], seed=1,
        quality=quality,
    )  # fmt: skip
