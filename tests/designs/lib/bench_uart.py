"""cocotb tests of the UART modules; the line is driven and watched by Python, independent of the RTL."""

from __future__ import annotations

import os
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from designs.flow.bench import CLOCK_NS, generator, save, start

CLOCKS = int(os.environ["GATEWARP_CLOCKS"])


async def send(line: Any, byte: int, bit_ps: int, *, stop: int = 1) -> None:
    """Put one byte on the line, with a bit of `bit_ps` picoseconds."""
    for bit in [0, *((byte >> i & 1) for i in range(8)), stop]:
        line.value = bit
        await Timer(bit_ps, "ps")
    line.value = 1


@cocotb.test()
async def uart_rx(dut: Any) -> None:
    rng = generator("uart_rx")
    dut.rxd.value = 1
    await start(dut)
    dut.m_axis_tready.value = 1
    seen: list[int] = []
    counts = {"frame": 0, "overrun": 0}

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            if dut.m_axis_tvalid.value == 1 and dut.m_axis_tready.value == 1:
                seen.append(int(dut.m_axis_tdata.value))
            counts["frame"] += int(dut.frame_error.value)
            counts["overrun"] += int(dut.overrun.value)

    cocotb.start_soon(watch())
    nominal = CLOCKS * CLOCK_NS * 1000
    await ClockCycles(dut.clk, 3)
    # Nominal, slow and fast senders, back to back and with gaps of any phase.
    for error in (0.0, 0.02, -0.02):
        data = [rng.randrange(256) for _ in range(30)] + [0x00, 0xFF, 0x55]
        seen.clear()
        for byte in data:
            await send(dut.rxd, byte, round(nominal * (1 + error)))
            if rng.random() < 0.3:
                await Timer(rng.randrange(1, 3 * nominal), "ps")
        await Timer(2 * nominal, "ps")
        assert seen == data, f"sender off by {error:+.0%}"
    assert counts == {"frame": 0, "overrun": 0}
    # A bad stop bit and a break lose a byte, are counted once each, and do not disturb the next byte.
    seen.clear()
    await send(dut.rxd, 0x5A, nominal, stop=0)
    await Timer(nominal, "ps")
    dut.rxd.value = 0
    await Timer(35 * nominal, "ps")
    dut.rxd.value = 1
    await Timer(nominal, "ps")
    await send(dut.rxd, 0xA5, nominal)
    await Timer(2 * nominal, "ps")
    assert seen == [0xA5]
    assert counts == {"frame": 2, "overrun": 0}
    # Nobody takes: the first byte waits unchanged, the others are lost and counted.
    seen.clear()
    dut.m_axis_tready.value = 0
    for byte in (1, 2, 3):
        await send(dut.rxd, byte, nominal)
    await Timer(2 * nominal, "ps")
    assert dut.m_axis_tvalid.value == 1
    dut.m_axis_tready.value = 1
    await ClockCycles(dut.clk, 4)
    assert seen == [1]
    assert counts == {"frame": 2, "overrun": 2}
    save(done=True)


@cocotb.test()
async def uart_tx(dut: Any) -> None:
    rng = generator("uart_tx")
    await start(dut)
    levels: list[int] = []

    async def record() -> None:
        while True:
            await RisingEdge(dut.clk)
            levels.append(int(dut.txd.value))

    assert dut.txd.value == 1, "the line rests high"
    data = [rng.randrange(256) for _ in range(20)] + [0x00, 0xFF]
    cocotb.start_soon(record())
    for byte in data:
        dut.s_axis_tdata.value = byte
        dut.s_axis_tvalid.value = 1
        await RisingEdge(dut.clk)
        while dut.s_axis_tready.value == 0:
            await RisingEdge(dut.clk)
    dut.s_axis_tvalid.value = 0
    await ClockCycles(dut.clk, 12 * CLOCKS)
    begin = levels.index(0)
    for byte in data:
        bits = [0, *((byte >> i & 1) for i in range(8)), 1]
        frame = [level for bit in bits for level in [bit] * CLOCKS]
        assert levels[begin : begin + len(frame)] == frame, f"byte {byte:#04x}: every bit is {CLOCKS} cycles long"
        begin += len(frame)
    assert set(levels[begin:]) == {1}
    save(done=True)
