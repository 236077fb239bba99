"""cocotb test of the engine: words in, words out, with random pauses."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from designs.flow.bench import save, start, stream, vectors


@cocotb.test()
async def engine(dut: Any) -> None:
    given = vectors()
    idle, stall = (float(x) for x in given["pace"])
    words = [int.from_bytes(row.tobytes(), "little") for row in given["words"]]
    await start(dut)
    if abort := int(given["abort"]):
        # A reset in the middle of the work; nothing of it may be left.
        task = cocotb.start_soon(stream(dut, words, idle=0.0, stall=0.0, timeout=20_000))
        await ClockCycles(dut.clk, abort)
        task.cancel()
        dut.s_axis_tvalid.value = 0
        dut.rst.value = 1
        await ClockCycles(dut.clk, 3)
        dut.rst.value = 0
    trace = await stream(dut, words, expect=int(given["expect"]), idle=idle, stall=stall, timeout=20_000)
    size = len(dut.m_axis_tdata) // 8
    beats = b"".join(word.to_bytes(size, "little") for word in trace.words)
    save(
        beats=np.frombuffer(beats, np.uint8).reshape(-1, size),
        lasts=np.array(trace.lasts),
        in_cycles=trace.in_cycles,
        out_cycles=trace.out_cycles,
    )
