"""UART modules: senders off by 2 %, gaps of any phase, breaks, lost bytes; exact bit times on the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from designs.flow.verilator import simulate
from designs.lib import source

BENCH = Path(__file__).parent / "bench_uart.py"


@pytest.mark.parametrize("module", ["uart_rx", "uart_tx"])
@pytest.mark.parametrize("clocks", [8, 25])
def test_uart(tmp_path: Path, module: str, clocks: int) -> None:
    result = simulate(
        module,
        source(module),
        BENCH,
        results=tmp_path,
        parameters={"CLOCKS_PER_BIT": clocks},
        env={"GATEWARP_CLOCKS": str(clocks)},
        testcase=module,
        seed=clocks,
    )
    assert result.passed, result.message
    assert result.payload["done"]
