"""cocotb test of the VC709's top at its pins: frames over the serial port, the button, the LEDs."""

from __future__ import annotations

import os
from typing import Any

import cocotb
import vendor_loopback
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, Timer

from designs.boards.frames import Decoder, Frame, Kind, Register, pack
from designs.flow.bench import CLOCK_NS, generator, save

BIT_NS = CLOCK_NS * int(os.environ["GATEWARP_CLOCKS"])


async def send(line: Any, data: bytes) -> None:
    for byte in data:
        for bit in [0, *((byte >> i & 1) for i in range(8)), 1]:
            line.value = bit
            await Timer(BIT_NS, "ns")


async def receive(line: Any, into: list[Frame | None]) -> None:
    decoder = Decoder()
    while True:
        await FallingEdge(line)
        await Timer(BIT_NS + BIT_NS // 2, "ns")
        byte = 0
        for i in range(8):
            byte |= int(line.value) << i
            await Timer(BIT_NS, "ns")
        into += decoder.feed(bytes([byte]))


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def vc709_top(dut: Any) -> None:
    rng = generator("vc709")
    dut.uart_rxd.value = 1
    dut.cpu_reset.value = 1
    dut.sysclk_n.value = 0
    cocotb.start_soon(Clock(dut.sysclk_p, CLOCK_NS, "ns").start())
    await ClockCycles(dut.sysclk_p, 40)
    heard: list[Frame | None] = []
    cocotb.start_soon(receive(dut.uart_txd, heard))
    dut.cpu_reset.value = 0
    await ClockCycles(dut.sysclk_p, 40)
    assert int(dut.led.value) >> 1 & 1 == 1, "out of reset"

    await send(dut.uart_rxd, b"\0" + pack(Kind.READ, 7, 0, 8, bytes([Register.MAGIC, 18])))
    await Timer(1000 * BIT_NS, "ns")
    (answer,) = [frame for frame in heard if frame is not None and frame.kind == Kind.REGISTERS]
    assert answer.seq == 7
    words = [int.from_bytes(answer.payload[at : at + 4], "little") for at in range(1, 73, 4)]

    data = b"".join(rng.getrandbits(21).to_bytes(3, "little") for _ in range(20))
    await send(dut.uart_rxd, pack(Kind.DATA_IN, 0, 0, 8, data))
    await Timer(1200 * BIT_NS, "ns")
    results = b"".join(frame.payload for frame in heard if frame is not None and frame.kind == Kind.DATA_OUT)
    assert results == vendor_loopback.expected(data)
    assert None not in heard
    assert int(dut.led.value) >> 4 & 1 == 0, "nothing lost"

    # A byte without its frame is trouble; the button ends that and is a reset.
    await send(dut.uart_rxd, b"\x05\x00")
    await Timer(20 * BIT_NS, "ns")
    assert int(dut.led.value) >> 4 & 1 == 1
    dut.cpu_reset.value = 1
    await ClockCycles(dut.sysclk_p, 5)
    assert int(dut.led.value) >> 1 & 1 == 0, "in reset"
    dut.cpu_reset.value = 0
    await ClockCycles(dut.sysclk_p, 20)
    assert int(dut.led.value) >> 4 & 1 == 0
    save(words=words)
