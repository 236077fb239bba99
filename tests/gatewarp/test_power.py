"""Power that a user gives: with meter and boundary, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.record import Boundary
from gatewarp.power import PowerError, given


def test_nothing_given_is_nothing_known() -> None:
    assert given(None, None, "", "") is None


def test_one_reading_has_no_band() -> None:
    power = given(1.25, None, "bench supply", "board")
    assert power is not None
    made = power.measurement
    assert (made.value, made.unit, made.samples, made.low, made.boundary) == (1.25, "W", 1, None, Boundary.BOARD)


def test_samples_of_a_meter(tmp_path: Path) -> None:
    file = tmp_path / "meter.csv"
    file.write_text("seconds,watts\n0,1.0\n1,2.0\n2,1.5\n")
    power = given(None, file, "INA226", "chip")
    assert power is not None
    assert (power.measurement.value, power.measurement.low, power.measurement.high) == (1.5, 1.0, 2.0)


@pytest.mark.parametrize(
    ("watts", "text", "source", "boundary", "message"),
    [
        (1.0, None, "", "board", "say which meter"),
        (1.0, None, "meter", "", "power without a boundary: give --power-boundary chip, board or system"),
        (1.0, None, "meter", "kernel", "unknown power boundary 'kernel'"),
        (0.0, None, "meter", "board", "a power of 0 W; it must be above 0"),
        (float("nan"), None, "meter", "board", "a power of nan W"),
        (None, None, "meter", "board", "a meter without a reading"),
        (1.0, "watts\n1\n2\n", "meter", "board", "both --power-watts and --power-csv"),
        (None, "amps\n1\n2\n", "meter", "board", "no column 'watts'"),
        (None, "", "meter", "board", "no column 'watts'"),
        (None, "watts\n1\n", "meter", "board", "1 sample"),
        (None, "watts\n1\nx\n", "meter", "board", r"meter.csv:3: 'x' is no number"),
    ],
)
def test_refused(
    tmp_path: Path, watts: float | None, text: str | None, source: str, boundary: str, message: str
) -> None:
    file = tmp_path / "meter.csv"
    if text is not None:
        file.write_text(text)
    with pytest.raises(PowerError, match=message):
        given(watts, file if text is not None else None, source, boundary)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PowerError, match="cannot be read"):
        given(None, tmp_path / "none.csv", "meter", "board")
