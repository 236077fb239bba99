"""Boards and parts: what is built with which engine, and what is refused before any tool runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compare.record import Stage
from designs.boards import BoardError
from designs.deconv import builds, config, generate, input_oriented, port, reverse_loop
from designs.deconv.config import ENGINES_OF, preset
from designs.deconv.evidence import core_of
from designs.flow import xilinx
from designs.flow.parts import DoesNotFit
from designs.flow.verilator import run_verilator, simulate
from workloads.api import UnknownNameError


def test_cases_with_resident_weights_fit_a_board() -> None:
    assert [case for case in ENGINES_OF["reverse_loop"] if reverse_loop.fits(case, "ulx3s-85f")] == ["digits", "mnist"]
    for dataflow in (reverse_loop, input_oriented):
        for case in ("celeba", "vnet"):
            with pytest.raises(
                DoesNotFit,
                match=rf"{case}: \w+1: 8,192 weight words up to this layer; engine ulx3s_mnist holds 7,232; no engine "
                r"for lfe5u-85f holds more, and the serial port of ulx3s-85f .*; cases that fit: digits, mnist$",
            ):
                next(dataflow.build(case, board="ulx3s-85f"))
    with pytest.raises(DoesNotFit, match=r"digits: reverse_loop has no engine for ice40up5k; .*: lfe5u-85f$"):
        next(reverse_loop.build("digits", board="icebreaker"))
    with pytest.raises(BoardError, match="unknown board"):
        next(reverse_loop.build("digits", board="nexys"))


def test_a_case_that_would_fit_but_has_no_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    big = replace(preset("reverse_loop", "ulx3s_mnist"), w_words=40_000, bias_words=300)
    monkeypatch.setattr(config, "PRESETS", {**config.PRESETS, ("reverse_loop", "ulx3s_mnist"): big})
    with pytest.raises(
        DoesNotFit, match=r"celeba: reverse_loop has no engine for lfe5u-85f that is made .*: digits, mnist$"
    ):
        next(reverse_loop.build("celeba", board="ulx3s-85f"))


def test_parts_have_their_engines() -> None:
    assert [case for case in ENGINES_OF["reverse_loop"] if reverse_loop.fits_part(case, "xc7z020")] == [
        "mnist",
        "celeba",
    ]
    assert not reverse_loop.fits_part("mnist", "ice40up5k")
    for module, case, part, message in (
        (
            reverse_loop, "gan3d", "xc7z020",
            "gan3d: deconv1: weight words of two groups of output channels of 6,400; engine z7020 takes 2,048; cases "
            "that are proved on z7020, the engine of reverse_loop for xc7z020: mnist, celeba",
        ),
        (
            reverse_loop, "digits", "xc7z020",
            "digits: not proved on z7020, the engine of reverse_loop for xc7z020; cases that are: mnist, celeba",
        ),
        (
            input_oriented, "dcgan", "xc7z020",
            "dcgan: input_oriented has no engine for xc7z020; for xc7vx690t it has vc709, which does celeba, dcgan, "
            "gan3d, vnet; --implementation takes the other dataflow",
        ),
    ):  # fmt: skip
        with pytest.raises(DoesNotFit) as refused:
            next(module.build_part(case, part=part))
        assert str(refused.value) == message
    with pytest.raises(BoardError, match=r"lfe5u-85f is placed and routed for a board; boards: .*ulx3s-85f"):
        next(reverse_loop.build_part("digits", part="lfe5u-85f"))
    with pytest.raises(UnknownNameError, match="unknown part 'xc7z'"):
        reverse_loop.fits_part("digits", "xc7z")


def test_an_engine_is_counted_once_for_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def synth(top, sources, *, family, data, keep):  # type: ignore[no-untyped-def]
        assert (top, family, keep) == ("deconv_z7020", "xc7", builds.KEPT)
        assert [path.name for path in data] == ["table.hex"]
        cells = {"luts": 10_000, "memory_luts": 7, "ffs": 10, "carry": 1, "brams": 200, "dsps": 16}
        return xilinx.Synthesis(top, family, sources[0], cells, {top: cells, "rom": cells}, {})

    monkeypatch.setattr("designs.flow.on_part.synth_xilinx", synth)
    (record,) = reverse_loop.build_part("celeba", part="xc7z020")
    dsps = record.get("dsps")
    assert dsps is not None
    assert (dsps.value, dsps.stage) == (16, Stage.POST_SYNTHESIS)
    assert (record.conditions["fits"], record.conditions["multipliers"]) == (True, 16)
    design = generate.generate("celeba", preset("reverse_loop", "z7020"))
    assert record.conditions["design"] == design.digest


@pytest.mark.parametrize(("case", "engine"), [("digits", "ulx3s_digits"), ("celeba", "z7020")])
def test_generated_tops_are_clean(case: str, engine: str, tmp_path: Path) -> None:
    design = generate.generate(case, preset("reverse_loop", engine))
    names = {path.stem for path in design.sources}
    assert "deconv_tiles" not in names
    assert ("deconv_core" in names) == design.engine.resident
    for path in design.memories:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    arguments = ["--lint-only", "-Wall", "--no-timing", "--top-module", design.top, *map(str, design.sources)]
    run_verilator(arguments, tmp_path, tmp_path / "verilator.log")


def test_a_core_answers_through_narrow_words(tmp_path: Path) -> None:
    design = generate.generate("digits", preset("reverse_loop", "ulx3s_digits"))
    core = port.narrow(core_of("designs/deconv/reverse_loop", design))
    assert (core.in_bits, core.digest) == (port.PORT_BITS, design.digest)
    print("seed 8")
    item = np.random.default_rng(8).integers(-128, 128, design.program.network.layers[0].layer.channels_in)
    item = item.reshape(1, 1, -1)
    beats, matters = design.program.expect(item)
    words = design.program.pack(item).astype(np.int8).view("<u4").reshape(-1)
    result = simulate(
        core.top,
        core.sources,
        Path(__file__).parent / "bench_port.py",
        results=tmp_path,
        data=core.memories,
        vectors={"words": words, "expect": [beats.size // 4]},
        seed=8,
    )
    assert result.passed, result.message
    got = result.payload["words"].view(np.int8).reshape(beats.shape)
    np.testing.assert_array_equal(got[matters], beats[matters])
