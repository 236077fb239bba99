"""cocotb test of `deep`: the parity of 64 bits, three cycles later, whatever synthesis did to the registers."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from designs.flow.bench import generator


@cocotb.test()
async def parity(dut: Any) -> None:
    rng = generator("deep")
    dut.d.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    expected: deque[int] = deque()
    for cycle in range(300):
        await RisingEdge(dut.clk)
        if cycle > 10:
            assert int(dut.q.value) == expected[-4], f"cycle {cycle}"
        word = rng.getrandbits(64)
        dut.d.value = word
        expected.append(word.bit_count() & 1)
