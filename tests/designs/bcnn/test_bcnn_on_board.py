"""The smallest network where it ends up: behind the board's serial pins, a byte a pixel."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from designs import boards
from designs.bcnn import generate
from designs.boards.top import uart_top, uart_top_sources
from designs.flow.verilator import simulate
from workloads.bcnn import WORKLOAD

SERIAL_BENCH = Path(__file__).parents[1] / "boards" / "bench_board_top.py"


def test_images_through_the_serial_port(tmp_path: Path) -> None:
    design = generate.generate("digits_small")
    top = tmp_path / "board_top.sv"
    top.write_text(uart_top(design.top, design.in_bits, design.out_bits, boards.load("ulx3s-85f"), 24, 3_000_000))
    images = WORKLOAD.inputs("digits_small", 3, 4)
    assert (design.in_bits, design.out_bits) == (5, 160)
    result = simulate(
        "board_top",
        list(dict.fromkeys([top, *design.sources, *uart_top_sources(simulated=True)])),
        SERIAL_BENCH,
        results=tmp_path / "results",
        vectors={"words": images.reshape(-1).view(np.uint8).astype(np.uint64)},
        env={"GATEWARP_CLOCKS": "8", "GATEWARP_IN_BYTES": "1", "GATEWARP_OUT_BYTES": "20"},
        data=design.memories,
    )
    assert result.passed, result.message
    sums = result.payload["answers"].astype(np.uint8).view("<i2").reshape(-1, 10)
    assert np.array_equal(sums, WORKLOAD.reference("digits_small", images, "binary"))
