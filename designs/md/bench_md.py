"""cocotb test of `md_bench`: starts each run and waits for its end; the bench writes what it saw to files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from designs.flow.bench import CLOCK_NS, save, vectors

#: Columns of a run, as `designs.md.simulation` writes them.
COLUMNS = ("count", "answers", "idle", "stall", "seed", "patience")


@cocotb.test()
async def md(dut: Any) -> None:
    """Do all runs one after the other in one simulation; nothing is reset between them."""
    runs = vectors()["runs"]
    dut.go.value = 0
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, CLOCK_NS, "ns").start())
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    for number, run in enumerate(runs):
        for name, value in zip(COLUMNS, run, strict=True):
            getattr(dut, name).value = int(value)
        dut.go.value = 1
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        dut.go.value = 0
        await RisingEdge(dut.done)
        if dut.stuck.value == 1:
            where = Path("results.txt").read_text().split("stuck ")[-1].strip()
            raise AssertionError(f"run {number}: nothing moved for {int(run[-1])} cycles; valid and ready: {where}")
        assert dut.broken.value == 0, f"run {number}: a word changed, fell, or came unasked"
        await ClockCycles(dut.clk, 64)
        assert dut.broken.value == 0, f"run {number}: a word too many"
    save(runs=np.array([len(runs)]))
