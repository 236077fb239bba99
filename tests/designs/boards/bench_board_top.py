"""cocotb test of a board top at its serial pins: words in, words out, alignment by a break, reset by the button."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

from designs.flow.bench import CLOCK_NS, generator, save, vectors

BIT_NS = CLOCK_NS * int(os.environ["GATEWARP_CLOCKS"])
IN_BYTES = int(os.environ["GATEWARP_IN_BYTES"])
OUT_BYTES = int(os.environ["GATEWARP_OUT_BYTES"])


async def send(line: Any, data: bytes) -> None:
    for byte in data:
        for bit in [0, *((byte >> i & 1) for i in range(8)), 1]:
            line.value = bit
            await Timer(BIT_NS, "ns")


async def receive(line: Any, into: deque[int]) -> None:
    while True:
        await FallingEdge(line)
        await Timer(BIT_NS + BIT_NS // 2, "ns")
        byte = 0
        for i in range(8):
            byte |= int(line.value) << i
            await Timer(BIT_NS, "ns")
        assert line.value == 1, "stop bit"
        into.append(byte)


async def send_break(dut: Any) -> None:
    dut.ftdi_txd.value = 0
    await Timer(15 * BIT_NS, "ns")
    dut.ftdi_txd.value = 1
    await Timer(2 * BIT_NS, "ns")


@cocotb.test()
async def board_top(dut: Any) -> None:
    rng = generator("board")
    words = [int(word) for word in vectors()["words"]]
    dut.btn.value = 0
    dut.ftdi_txd.value = 1
    cocotb.start_soon(Clock(dut.clk_25mhz, CLOCK_NS, "ns").start())
    await ClockCycles(dut.clk_25mhz, 40)
    assert dut.wifi_gpio0.value == 1
    assert int(dut.led.value) >> 1 & 1 == 1, "out of reset"
    received: deque[int] = deque()
    cocotb.start_soon(receive(dut.ftdi_rxd, received))

    # All words back to back, as fast as the line goes.
    await send(dut.ftdi_txd, b"".join(word.to_bytes(IN_BYTES, "little") for word in words))
    await Timer((20 * OUT_BYTES + 40) * BIT_NS * 4, "ns")
    answers = bytes(received)
    assert int(dut.led.value) >> 4 & 1 == 0, "no byte lost"

    # Half a word, then a break: the next word stands by itself, and the trouble LED is on.
    received.clear()
    await send(dut.ftdi_txd, bytes(rng.randrange(256) for _ in range(IN_BYTES - 1)))
    await send_break(dut)
    assert int(dut.led.value) >> 4 & 1 == 1
    await send(dut.ftdi_txd, words[0].to_bytes(IN_BYTES, "little"))
    await Timer((20 * OUT_BYTES + 40) * BIT_NS, "ns")
    after_break = bytes(received)

    # Half a word, then the button: the same, and the trouble LED is off.
    received.clear()
    await send(dut.ftdi_txd, bytes(IN_BYTES - 1))
    dut.btn.value = 1
    await ClockCycles(dut.clk_25mhz, 3)
    assert int(dut.led.value) >> 1 & 1 == 0, "in reset"
    dut.btn.value = 0
    await ClockCycles(dut.clk_25mhz, 20)
    await send(dut.ftdi_txd, words[1].to_bytes(IN_BYTES, "little"))
    await Timer((20 * OUT_BYTES + 40) * BIT_NS, "ns")
    assert int(dut.led.value) >> 4 & 1 == 0
    save(answers=list(answers), after_break=list(after_break), after_button=list(received))
