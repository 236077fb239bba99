"""Bitstreams that are kept: what a bitstream depends on is written down, and every change of it is seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from designs.boards import BoardError, bitstream, kept, load
from designs.boards.bitstream import Plan, Routed
from designs.boards.shell.top import Items
from designs.flow.evidence import Core


def planned(folder: Path, **changes: object) -> Plan:
    """A small core whose source lies in `folder`, planned for a ULX3S."""
    path = folder / "core.sv"
    path.write_text("module add_core; endmodule\n")
    core = Core(
        workload="track", case="four", implementation="hls/track/da4ml", arithmetic="fixed", top="add_core",
        sources=(path,), in_bits=8, out_bits=8, digest="0123456789abcdef", facts={},
    )  # fmt: skip
    settings: dict[str, object] = {"mhz": 48.0, "items": Items(4, 4), "baud": 1_000_000, **changes}
    return bitstream.plan(core, load("ulx3s"), **settings)  # type: ignore[arg-type]


def keep(plan: Plan, folder: Path) -> Path:
    made = folder / "made.bit"
    made.write_bytes(b"bits")
    return kept.keep(
        bitstream.of(plan, Routed(1, 60e6, True, made, ("--no-tmdriv",))),
        folder / "kept",
        ["designs/lib/stream_fifo.sv"],
    )


def test_what_was_kept_is_taken_back(tmp_path: Path) -> None:
    path = keep(planned(tmp_path), tmp_path)
    facts = kept.facts_of(path)
    # The clock that is kept is the one that the PLL makes, not the 48 MHz that were asked for.
    again = planned(tmp_path, mhz=facts["clock_mhz"], baud=facts["baud"])
    built = kept.stored(path, again, facts)
    assert (built.path, built.seed, built.clocking.frequency_hz) == (path, 1, facts["clock_mhz"] * 1e6)
    assert built.options == ("--no-tmdriv",)


def test_another_top_or_source_is_refused(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    path = keep(plan, tmp_path)
    facts = kept.facts_of(path)
    for other in (replace(plan, text=plan.text + " "), planned(tmp_path, baud=500_000), planned(tmp_path, mhz=60)):
        with pytest.raises(kept.WrongBitstream, match=r"another text of the top level .* leave --bitstream out"):
            kept.stored(path, other, facts)
    plan.core.sources[0].write_text("module add_core; wire other; endmodule\n")
    with pytest.raises(kept.WrongBitstream, match=r"another text of the sources .* leave --bitstream out"):
        kept.stored(path, plan, facts)


def test_a_file_of_another_name_or_memory_is_another_content(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    other = plan.core.sources[0].rename(tmp_path / "other.sv")
    renamed = replace(plan, core=replace(plan.core, sources=(other,)))
    filled = replace(plan, core=replace(plan.core, sources=(other,), memories=(other,)))
    hashes = {kept.contents_hash(renamed), kept.contents_hash(filled)}
    plan.core.sources[0].write_bytes(other.read_bytes())
    assert len({*hashes, kept.contents_hash(plan)}) == 3


@pytest.mark.parametrize("board", ["ulx3s", "icebreaker", "tangnano9k", "gatemate-a1-evb", "vc709"])
def test_the_files_that_determine_a_bitstream(board: str) -> None:
    found = set(bitstream.sources_of(load(board)))
    assert {"designs/boards/top.py", "designs/boards/shell/top.py", "designs/lib/uart_rx.sv"} <= found
    flows = {name for name in found if name.startswith(("designs/flow/", "designs/boards/families/"))}
    own = {
        "ulx3s": {"boards/families/ecp5", "flow/nextpnr", "flow/ecppack"},
        "icebreaker": {"boards/families/ice40", "flow/ice40"},
        "tangnano9k": {"boards/families/gowin", "boards/families/himbaechel"},
        "gatemate-a1-evb": {"boards/families/gatemate", "boards/families/himbaechel"},
    }.get(board)
    if own is not None:
        own |= {"flow/yosys", "boards/families/__init__", "boards/families/built"}
    assert flows == {f"designs/{name}.py" for name in own or ()}
    assert ("designs/boards/plls.py" in found) == (own is not None)
    pll = {"ulx3s": "lattice/ecp5_pll", "icebreaker": "lattice/ice40_pll", "tangnano9k": "gowin/gowin_pll"}.get(board)
    assert pll is None or f"designs/lib/{pll}.sv" in found


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mhz": 0.0}, "a clock of 0 MHz cannot be; give one above 0 with --clock"),
        ({"mhz": -5.0}, "a clock of -5 MHz cannot be"),
        ({"mhz": float("nan")}, "a clock of nan MHz cannot be"),
        ({"baud": 0}, "0 baud is below 300"),
        ({"baud": 299}, "299 baud is below 300"),
    ],
)
def test_clocks_and_rates_that_cannot_be(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(BoardError, match=message):
        planned(tmp_path, **changes)
