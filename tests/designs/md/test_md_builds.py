"""Boards and parts: what is built with which engine, what is refused before any tool runs, and the serial port."""

from __future__ import annotations

from pathlib import Path

import pytest
from md_systems import ENGINE, SINGLE, start

from designs.boards import BoardError
from designs.flow import xilinx
from designs.flow.parts import DoesNotFit
from designs.flow.verilator import BuildOptions, simulate
from designs.md import builds, evidence, port, range_limited
from designs.md.flags import every_pair
from designs.md.generate import generate, generate_system
from designs.md.protocol import Script, dumped
from workloads.api import UnknownNameError
from workloads.md import fixed


def test_cases_have_their_board() -> None:
    assert [case for case in range_limited.CASES if range_limited.fits(case, "ulx3s-85f")] == ["lj864"]
    with pytest.raises(
        DoesNotFit, match=r"argon20k: argon_40: 40 workers .* is too large for lfe5u-85f; .* ulx3s-85f: lj864"
    ):
        next(range_limited.build("argon20k", board="ulx3s-85f"))
    with pytest.raises(BoardError, match="unknown board"):
        next(range_limited.build("lj864", board="nexys"))


def test_cases_have_their_part() -> None:
    assert [case for case in range_limited.CASES if range_limited.fits_part(case, "xcvu9p")] == ["argon20k"]
    assert not range_limited.fits_part("argon20k", "xc7vx690t")
    with pytest.raises(DoesNotFit, match="lj864: no engine of it is meant for xcvu9p; there are xcvu9p for argon20k"):
        next(range_limited.build_part("lj864", part="xcvu9p"))
    with pytest.raises(BoardError, match=r"lfe5u-85f is placed and routed for a board; boards: .*ulx3s-85f"):
        next(range_limited.build_part("lj864", part="lfe5u-85f"))
    with pytest.raises(UnknownNameError, match="unknown part 'xcvu'"):
        range_limited.fits_part("argon20k", "xcvu")


def test_the_engine_is_counted_once_for_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def synth(top, sources, *, data, keep):  # type: ignore[no-untyped-def]
        assert (top, keep) == ("md_argon20k_argon_40", builds.KEPT)
        assert [path.name for path in data] == ["table_0.hex", "table_1.hex"]
        cells = {"luts": 600_000, "memory_luts": 7, "ffs": 10, "carry": 1, "brams": 200, "dsps": 16, "urams": 1000}
        return xilinx.Synthesis(top, "xcup", sources[0], cells, {top: cells, "md_worker": cells}, {})

    monkeypatch.setattr("designs.flow.ultrascale.synth", synth)
    (record,) = range_limited.build_part("argon20k", part="xcvu9p")
    assert record.conditions["design"] == generate("argon20k").digest
    assert (record.conditions["fits"], record.conditions["scarce"]) == (False, "urams")
    assert record.conditions["pipelines"] == 40


def test_the_engine_of_a_board_is_routed_with_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    def routed(core, **given):  # type: ignore[no-untyped-def]
        return core, given

    monkeypatch.setattr("designs.md.builds.build_on_board", routed)
    ((core, given),) = range_limited.build("lj864", board="ulx3s-85f", seeds=4)  # type: ignore[misc]
    assert (core.facts["engine"], given["seeds"]) == ("ulx3s_lj864", 4)
    assert (given["options"], given["without_end"]) == (builds.OPTIONS, builds.WITHOUT_END["lj864"])
    assert "designs/lib/lattice/ecp5_multiplier.sv" in given["sources"]


def test_a_core_answers_through_bytes(tmp_path: Path) -> None:
    seed = 9
    print("seed", seed)
    design = generate_system(SINGLE, ENGINE)
    core = port.narrow(evidence.core_of("designs/md/range_limited", design))
    assert (core.in_bits, core.digest) == (8, design.digest)
    table, state = start(SINGLE, seed)
    some = fixed.State(state.positions[:40], state.velocities[:40], state.kinds[:40])
    script = Script(design)
    script.load(some)
    script.run(1)
    script.dump()
    size = design.bits // 8
    result = simulate(
        core.top,
        core.sources,
        Path(__file__).parent / "bench_md_port.py",
        results=tmp_path,
        data=core.memories,
        vectors={
            "words": list(b"".join(word.to_bytes(size, "little") for word in script.words)),
            "expect": [41 * size],
        },
        seed=seed,
        options=BuildOptions(optimise="-O0"),
    )
    assert result.passed, result.message
    got = result.payload["words"].tobytes()
    words = [int.from_bytes(got[at : at + size], "little") for at in range(0, len(got), size)]
    assert evidence.difference(dumped(design, words), fixed.run(table, some, 1, candidates=every_pair)) == 0
