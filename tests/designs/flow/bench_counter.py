"""cocotb tests of a counter, some of which fail on purpose."""

from __future__ import annotations

import atexit
import os
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from designs.flow.bench import generator, save, start, vectors


@cocotb.test()
async def good(dut: Any) -> None:
    dut.trip.value = 0
    undefined = int(dut.unset.value)
    await start(dut)
    before = int(dut.count.value)
    await ClockCycles(dut.clk, int(vectors()["cycles"]))
    await RisingEdge(dut.clk)
    draw = generator("good").randrange(2**32)
    save(counted=int(dut.count.value) - before, undefined=undefined, draw=draw)


@cocotb.test()
async def bad(dut: Any) -> None:
    assert 6 * 9 == 42, "wrong question"


@cocotb.test()
async def dies(dut: Any) -> None:
    os._exit(7)


@cocotb.test()
async def late(dut: Any) -> None:
    atexit.register(os._exit, 3)  # after the results are written


@cocotb.test()
async def rtl_assertion(dut: Any) -> None:
    await start(dut)
    dut.trip.value = 1
    await ClockCycles(dut.clk, 5)
