"""cocotb tests of parts of the shell whose limits a stream does not reach: the latency memory, long counters."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
import shell_reference as ref
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

from designs.flow.bench import CLOCK_NS, generator, save


async def begin(dut: Any) -> None:
    """Start the clock and reset."""
    dut.rst.value = 1
    dut.clear.value = 0
    cocotb.start_soon(Clock(dut.clk, CLOCK_NS, "ns").start())
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


@cocotb.test()
async def latency(dut: Any) -> None:
    """Items at every pace, also through a core without a register; then more of them than the memory holds."""
    rng = generator("latency")
    dut.enter.value = 0
    dut.leave.value = 0
    await begin(dut)
    for enters, leaves in ((1.0, 1.0), (0.3, 0.3), (0.9, 0.5), (0.1, 0.9), (1.0, 0.0)):
        dut.clear.value = 1
        await RisingEdge(dut.clk)
        dut.clear.value = 0
        waiting: deque[int] = deque()
        seen: list[int] = []
        for cycle in range(400):
            enter = rng.random() < enters and len(waiting) < 15  # the memory frees a place a cycle late
            if enter:
                waiting.append(cycle)
            leave = bool(waiting) and rng.random() < leaves
            if leave:
                seen.append(cycle - waiting.popleft())
            dut.enter.value = int(enter)
            dut.leave.value = int(leave)
            await RisingEdge(dut.clk)
        dut.enter.value = 0
        for cycle in range(400, 400 + len(waiting)):
            dut.leave.value = 1
            seen.append(cycle - waiting.popleft())
            await RisingEdge(dut.clk)
        dut.leave.value = 0
        await ClockCycles(dut.clk, 12)
        assert (int(dut.least.value), int(dut.most.value), int(dut.sum.value)) == (min(seen), max(seen), sum(seen))
        assert dut.overflow.value == 0
    # One more than fits: the flag comes, stays over a clear, and nothing is measured until a reset.
    dut.enter.value = 1
    await ClockCycles(dut.clk, 16)
    dut.enter.value = 0
    await ClockCycles(dut.clk, 3)
    assert dut.overflow.value == 0
    dut.enter.value = 1
    await RisingEdge(dut.clk)
    dut.enter.value = 0
    dut.clear.value = 1
    await RisingEdge(dut.clk)
    dut.clear.value = 0
    dut.leave.value = 1
    await ClockCycles(dut.clk, 17)
    dut.leave.value = 0
    await ClockCycles(dut.clk, 12)
    assert (int(dut.overflow.value), int(dut.sum.value), int(dut.least.value)) == (1, 0, 2**32 - 1)
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    assert dut.overflow.value == 0
    save(done=True)


@cocotb.test()
async def long_counters(dut: Any) -> None:
    """Every register holds its counter; the upper half of a long one is of when the lower half was read."""
    rng = generator("long_counters")
    dut.index.value = 0
    dut.sample.value = 0
    dut.flags.value = 0
    await begin(dut)
    bits = {"cycles": 48, "steady": 48, "latency_sum": 48, "line": 48, "hold": 1, "written": 1, "last_tag": 8}
    names = ["frames_ok", "frames_bad", "words_in", "words_out", "items_in", "items_out", "latency_min", "latency_max"]
    bits |= dict.fromkeys([*names, "stall_in", "stall_out"], 32)

    async def read(index: int) -> int:
        dut.index.value = index
        await ClockCycles(dut.clk, 4)
        dut.sample.value = 1
        await RisingEdge(dut.clk)
        dut.sample.value = 0
        await ClockCycles(dut.clk, 2)
        return int(dut.word.value)

    def shuffle() -> dict[str, int]:
        values = {name: rng.getrandbits(width) for name, width in bits.items()}
        for name, value in values.items():
            getattr(dut, name).value = value
        return values

    for _ in range(4):
        values = shuffle()
        for offset, name in enumerate(ref.COUNTERS):
            address = 18 + offset
            if name.endswith("_hi"):
                before, values = values, shuffle()
                await read(ref.FLAGS)
                assert await read(address) == before[name.removesuffix("_hi")] >> 32, name
            elif name in bits and name not in ("hold", "last_tag"):
                assert await read(address) == values[name] & 0xFFFFFFFF, name
        assert await read(ref.CONTROL) == values["hold"] << 1
        assert await read(ref.LAST_TAG) == values["written"] << 8 | values["last_tag"]
    # Flags are pulses, and stay.
    for bit in range(7):
        dut.flags.value = 1 << bit
        await RisingEdge(dut.clk)
        dut.flags.value = 0
        assert await read(ref.FLAGS) == (2 << bit) - 1
    dut.clear.value = 1
    await RisingEdge(dut.clk)
    dut.clear.value = 0
    assert await read(ref.FLAGS) == 0
    save(done=True)
