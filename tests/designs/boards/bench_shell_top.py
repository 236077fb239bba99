"""cocotb test of a board's top with the shell, at its serial pins: payload per line time, flags, the button."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

import cocotb
import shell_reference as ref
from bench_shell import loopback
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotb.utils import get_sim_time

from designs.flow.bench import CLOCK_NS, generator, save

CLOCKS = int(os.environ["GATEWARP_CLOCKS"])
BIT_NS = CLOCK_NS * CLOCKS
WINDOW = 64


def now() -> int:
    """Clock cycles so far."""
    return round(get_sim_time("ns")) // CLOCK_NS


class Line:
    """Both pins: what is sent, bit by bit, and the frames that come, each with the cycle of its first and last bit."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.packets: deque[tuple[int, int, ref.Packet]] = deque()
        self.came = FallingEdge(dut.ftdi_rxd)
        cocotb.start_soon(self._receive())

    async def send(self, data: bytes) -> None:
        for byte in data:
            for bit in [0, *((byte >> i & 1) for i in range(8)), 1]:
                self.dut.ftdi_txd.value = bit
                await Timer(BIT_NS, "ns")

    async def _receive(self) -> None:
        buffer = bytearray()
        start = 0
        while True:
            await FallingEdge(self.dut.ftdi_rxd)
            start = start or now()
            await Timer(BIT_NS + BIT_NS // 2, "ns")
            byte = 0
            for i in range(8):
                byte |= int(self.dut.ftdi_rxd.value) << i
                await Timer(BIT_NS, "ns")
            assert self.dut.ftdi_rxd.value == 1, "stop bit"
            if byte:
                buffer.append(byte)
            else:
                self.packets.append((start, now() + CLOCKS // 2, ref.parse(bytes(buffer))))
                buffer.clear()
                start = 0

    async def answer(self, kind: int) -> ref.Packet:
        """The next frame of that kind; others before it are dropped."""
        for _ in range(4000):
            while self.packets:
                packet = self.packets.popleft()[2]
                if packet.kind == kind:
                    return packet
            await Timer(10 * BIT_NS, "ns")
        raise AssertionError(f"no frame of kind {kind:#04x}")

    async def read(self, address: int, count: int) -> list[int]:
        await self.send(ref.frame(ref.READ, 1, 0, 0, bytes((address, count))))
        payload = (await self.answer(ref.REGISTERS)).payload[1:]
        return [int.from_bytes(payload[i : i + 4], "little") for i in range(0, len(payload), 4)]


@cocotb.test()
async def shell_top(dut: Any) -> None:
    rng = generator("shell_top")
    dut.btn.value = 0
    dut.ftdi_txd.value = 1
    cocotb.start_soon(Clock(dut.clk_25mhz, CLOCK_NS, "ns").start())
    line = Line(dut)
    assert (await line.answer(ref.STATE))[:4] == (ref.STATE, 0, 0, 16)
    assert int(dut.led.value) >> 1 & 1 == 1, "out of reset"
    assert dut.wifi_gpio0.value == 1
    assert (await line.read(0, 1)) == [0x47415445]

    # Both directions at once, back to back: the host acknowledges with its own DATA frames.
    count = int(os.environ["GATEWARP_FRAMES"])
    data = rng.randbytes(240 * count)
    results = bytearray()
    seen: list[tuple[int, int, int]] = []

    def collect() -> None:
        while line.packets:
            start, end, packet = line.packets.popleft()
            assert packet.kind in (ref.RESULT, ref.STATE), packet
            if packet.kind == ref.RESULT:
                assert packet.seq == len(seen) % 256
                results.extend(packet.payload)
                seen.append((start, end, len(packet.payload)))

    began = now()
    for seq in range(count):
        collect()
        part = data[240 * seq : 240 * seq + 240]
        await line.send(ref.frame(ref.DATA, seq, len(seen), len(seen) + WINDOW, part))
    ended = now()
    for _ in range(40):
        if len(results) == len(data):
            break
        await line.send(ref.frame(ref.POLL, 0, len(seen), len(seen) + WINDOW))
        await Timer(100 * BIT_NS, "ns")
        collect()
    assert bytes(results) == loopback(data)
    counters = dict(zip(ref.COUNTERS, await line.read(18, len(ref.COUNTERS)), strict=True))
    assert counters["flags"] == 0
    assert counters["frames_bad"] == 0
    byte = 10 * CLOCKS
    line_in = len(data) * byte / (ended - began)
    line_out = sum(size for _, _, size in seen) * byte / (seen[-1][1] - seen[0][0])
    # LINE: from the first byte in to the last one out; the receiver hands a byte on at its end, the transmitter takes
    # it at its beginning.
    difference = seen[-1][1] - began - 2 * byte - counters["line"]
    assert abs(difference) < byte, f"LINE is off by {difference} cycles"

    # A break on the line is a byte with a bad stop bit, and ends no frame.
    assert int(dut.led.value) >> 4 & 1 == 0
    dut.ftdi_txd.value = 0
    await Timer(15 * BIT_NS, "ns")
    dut.ftdi_txd.value = 1
    await Timer(3 * BIT_NS, "ns")
    assert int(dut.led.value) >> 4 & 1 == 1
    assert (await line.read(19, 1))[0] & 1
    # The button starts everything anew.
    await line.send(ref.frame(ref.DATA, 0, 0, WINDOW, b"abc")[:4])
    dut.btn.value = 1
    await Timer(4 * CLOCK_NS, "ns")
    dut.btn.value = 0
    await RisingEdge(dut.clk_25mhz)
    assert (await line.answer(ref.STATE))[:4] == (ref.STATE, 0, 0, 16)
    assert await line.read(19, 2) == [0, 0]
    assert int(dut.led.value) >> 4 & 1 == 0
    save(line_in=line_in, line_out=line_out)
