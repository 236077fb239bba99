"""The `track` core where it ends up: behind the board's serial pins."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from designs import boards
from designs.boards.top import uart_top, uart_top_sources
from designs.flow.verilator import simulate
from hls.track import da4ml, model
from hls.track.core import TOP

SERIAL_BENCH = Path(__file__).parents[1] / "designs" / "boards" / "bench_board_top.py"


def test_hits_through_the_serial_port(tmp_path: Path) -> None:
    design = da4ml.generate("compact")
    fixed = model.oracle("compact")
    top = tmp_path / "board_top.sv"
    top.write_text(uart_top(TOP, design.in_bits, design.out_bits, boards.load("ulx3s-85f"), 24, 3_000_000))
    x = fixed.encode(model.vectors("compact", 1000, 4))[-30:]
    in_bytes, out_bytes = -(-design.in_bits // 8), -(-design.out_bits // 8)
    result = simulate(
        "board_top",
        list(dict.fromkeys([top, *design.sources, *uart_top_sources(simulated=True)])),
        SERIAL_BENCH,
        results=tmp_path / "results",
        vectors={"words": np.array(model.pack(x, model.IN_WIDTH), np.uint64)},
        env={"GATEWARP_CLOCKS": "8", "GATEWARP_IN_BYTES": str(in_bytes), "GATEWARP_OUT_BYTES": str(out_bytes)},
    )
    assert result.passed, result.message
    raw = bytes(result.payload["answers"].astype(np.uint8))
    words = [int.from_bytes(raw[i : i + out_bytes], "little") for i in range(0, len(raw), out_bytes)]
    got = model.unpack(words, model.out_width(fixed), fixed.widths[-1])
    assert np.array_equal(got, fixed.evaluate(x))
