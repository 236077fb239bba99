"""The folded core where it ends up: behind the board's serial pins."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from designs import boards
from designs.boards.top import uart_top, uart_top_sources
from designs.flow.verilator import simulate
from designs.track import folded

SERIAL_BENCH = Path(__file__).parents[1] / "boards" / "bench_board_top.py"


def test_hits_through_the_serial_port(tmp_path: Path) -> None:
    made, found = folded.design("compact"), folded.network("compact")
    top = tmp_path / "board_top.sv"
    top.write_text(uart_top(made.top, made.in_bits, made.out_bits, boards.load("ulx3s-85f"), 24, 3_000_000))
    x = found.oracle.encode(folded.vectors("compact", 1000, 4))[-20:]
    packed = folded.pack(x, made.layers[0].a_bits)
    words = [int.from_bytes(row.tobytes(), "little") for row in packed]
    out_bytes = -(-made.out_bits // 8)
    result = simulate(
        "board_top",
        list(dict.fromkeys([top, *made.sources, *uart_top_sources(simulated=True)])),
        SERIAL_BENCH,
        results=tmp_path / "results",
        vectors={"words": np.array(words, np.uint64)},
        env={
            "GATEWARP_CLOCKS": "8",
            "GATEWARP_IN_BYTES": str(packed.shape[1]),
            "GATEWARP_OUT_BYTES": str(out_bytes),
        },
        data=made.memories,
    )
    assert result.passed, result.message
    raw = result.payload["answers"].astype(np.uint8).reshape(-1, out_bytes)
    last = made.layers[-1]
    assert np.array_equal(folded.unpack(raw, last.value_bits, last.n_out), found.oracle.evaluate(x))
