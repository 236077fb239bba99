"""Which seed of place and route becomes the bitstream, and what is said when none meets the clock."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from designs.boards import bitstream, families, load
from designs.boards.shell.top import Items
from designs.boards.subject import options_of
from designs.flow.evidence import Core


def planned(board: str = "ulx3s") -> bitstream.Plan:
    core = Core("track", "four", "hls/track/da4ml", "fixed", "add_core", (), 8, 8, "0123456789abcdef", {})
    return bitstream.plan(core, load(board), mhz=48, items=Items(1, 1))


@pytest.fixture
def seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Seeds that were tried by a place and route that reaches 20 MHz more with each."""
    tried: list[int] = []
    path = tmp_path / "design.bit"
    path.write_bytes(b"bits")

    def implement(text: str, sources: Any, board: Any, mhz: float, seed: int, **more: Any) -> Any:
        tried.append(seed)
        options = more["options"]
        return SimpleNamespace(fmax_hz=20e6 * seed, met=20 * seed >= mhz, bitstream=path, options=options)

    monkeypatch.setattr(families, "implement", implement)
    return tried


def test_the_first_seed_that_meets_the_clock_counts(seeds: list[int]) -> None:
    steps: list[tuple[str, int, int]] = []
    built = bitstream.build(planned(), options=("--quick",), progress=lambda *step: steps.append(step))
    assert (built.seed, built.fmax_hz, built.options, seeds) == (3, 60e6, (), [1, 2, 3])
    assert [done for _, done, _ in steps] == [0, 1, 2, 3]


def test_options_are_those_of_the_first_seed(seeds: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned()
    slow = replace(plan, clocking=replace(plan.clocking, frequency_hz=15e6))
    built = bitstream.build(slow, options=("--quick",))
    assert (built.seed, built.options, seeds) == (1, ("--quick",), [1])


def test_a_subject_may_have_options_for_a_board() -> None:
    md: Any = SimpleNamespace(OPTIONS={"ulx3s-85f": ("--quick",)})
    assert options_of(md, "ulx3s") == ("--quick",)
    assert options_of(md, "icebreaker") == ()
    assert options_of(cast(Any, SimpleNamespace()), "ulx3s") == ()


def test_no_seed_meets_the_clock(seeds: list[int]) -> None:
    says = r"four on ulx3s-85f: 2 seeds of the router reached 40\.0 MHz at most, the clock is 48\.\d+ MHz; .* --clock"
    with pytest.raises(bitstream.ClockMissed, match=says):
        bitstream.build(planned(), seeds=2)
    assert seeds == [1, 2]
