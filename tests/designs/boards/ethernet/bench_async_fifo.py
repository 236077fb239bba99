"""cocotb test of the FIFO between two clocks: any ratio of them, any pauses, commits and cancels."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from designs.flow.bench import generator

WORDS = 700


@cocotb.test()
async def run(dut: Any) -> None:
    rng = generator("fifo")
    for name in ("w_valid", "w_data", "commit", "cancel", "r_ready"):
        getattr(dut, name).value = 0
    dut.w_rst.value = dut.r_rst.value = 1
    write_ps, read_ps = rng.randrange(2000, 12_000, 2), rng.randrange(2000, 12_000, 2)
    cocotb.log.info("clocks of %d and %d ps", write_ps, read_ps)
    cocotb.start_soon(Clock(dut.w_clk, write_ps, "ps").start())
    cocotb.start_soon(Clock(dut.r_clk, read_ps, "ps").start())
    await ClockCycles(dut.w_clk, 12)
    await ClockCycles(dut.r_clk, 12)
    await FallingEdge(dut.w_clk)
    dut.w_rst.value = 0
    await FallingEdge(dut.r_clk)
    dut.r_rst.value = 0
    expected: list[int] = []
    got: list[int] = []
    full = 0

    async def write() -> None:
        nonlocal full
        waiting: list[int] = []
        await FallingEdge(dut.w_clk)
        while len(expected) < WORDS:
            dut.commit.value = dut.cancel.value = 0
            chance = rng.random()
            if chance < 0.05 or len(waiting) == 10:
                dut.w_valid.value = 0
                keep = rng.random() < 0.7
                dut.commit.value, dut.cancel.value = int(keep), int(not keep)
                expected.extend(waiting if keep else [])
                waiting.clear()
            elif chance < 0.3:
                dut.w_valid.value = 0
            else:
                word = rng.randrange(256)
                dut.w_valid.value = 1
                dut.w_data.value = word
                if dut.w_ready.value == 1:
                    waiting.append(word)
                else:
                    full += 1
                    dut.w_valid.value = 0
            await FallingEdge(dut.w_clk)
        dut.w_valid.value = dut.commit.value = dut.cancel.value = 0

    async def read() -> None:
        pace = 0.02
        await FallingEdge(dut.r_clk)
        while True:
            if rng.random() < 0.01:
                pace = rng.choice((0.02, 0.5, 1.0))
            ready = rng.random() < pace
            dut.r_ready.value = int(ready)
            if ready and dut.r_valid.value == 1:
                got.append(int(dut.r_data.value))
                assert got == expected[: len(got)], f"word {len(got)}"
            await FallingEdge(dut.r_clk)
            if pace < 0.1 and len(expected) == WORDS:
                pace = 1.0

    writing = cocotb.start_soon(write())
    cocotb.start_soon(read())
    await writing
    await ClockCycles(dut.r_clk, 20_000)
    assert got == expected
    assert full, "it was never full"
