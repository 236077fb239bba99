"""The network on parts without a board: which pieces are synthesised, what is refused before any tool runs."""

from __future__ import annotations

import pytest

from compare.record import Stage
from designs.bcnn import stream
from designs.bcnn.resources import DoesNotFit
from designs.boards import BoardError
from designs.flow import xilinx
from workloads.api import UnknownNameError


def test_layers_are_synthesised_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tops: list[tuple[str, tuple[str, ...]]] = []

    def synth(top, sources, *, family, data, keep):  # type: ignore[no-untyped-def]
        assert family == "xc7"
        assert {path.name for path in data} <= {path.name for path in data if path.name.startswith(top[5:])}
        tops.append((top, keep))
        cells = {"luts": 100_000, "memory_luts": 7, "ffs": 10, "carry": 1, "brams": 20, "dsps": 0}
        return xilinx.Synthesis(top, family, sources[0], cells, {top: cells, "rom": cells}, {})

    monkeypatch.setattr("designs.flow.on_part.synth_xilinx", synth)
    (record,) = stream.build_part("binarynet", part="xc7vx690t")
    assert [top for top, _ in tops] == [
        f"bcnn_{n}" for n in ("conv1", *(f"conv{i}" for i in range(2, 7)), "fc1", "fc2", "fc3")
    ]
    kept = {top.removeprefix("bcnn_") for top, keep in tops if keep == ("dot_product",)}
    assert kept == {f"conv{n}" for n in range(2, 7)}, "the equal rows of large layers are mapped once"
    luts = record.get("luts")
    assert luts is not None
    assert (luts.value, len(luts.values), luts.stage) == (900_000, 9, Stage.POST_SYNTHESIS)
    said = record.conditions
    assert (said["fits"], said["scarce"], said["hierarchy"]) == (False, "luts", "flat, but for rom")
    assert said["trained"] is False
    assert said["ideal_interval"] == 12_288


def test_what_cannot_be_is_refused_before_any_tool_runs() -> None:
    with pytest.raises(DoesNotFit, match=r"ice40up5k has too few .* fc1 .* choose a larger part"):
        next(stream.build_part("binarynet", part="ice40up5k"))
    with pytest.raises(BoardError, match=r"lfe5u-85f is placed and routed for a board; boards: .*ulx3s-85f"):
        next(stream.build_part("digits", part="lfe5u-85f"))
    with pytest.raises(UnknownNameError, match="unknown part 'xc7z'; valid: lfe5u-85f, ice40up5k, xc7z020"):
        next(stream.build_part("digits", part="xc7z"))
    assert [stream.fits_part("digits_small", "ice40up5k"), stream.fits_part("binarynet", "ice40up5k")] == [True, False]
    assert stream.fits_part("binarynet", "xc7z020"), "a synthesis counts, and says itself that it does not fit"
