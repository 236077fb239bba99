"""A host of the shell for its tests, in cocotb: bytes in and out of the module with pauses and damage, and rules that
every frame of the board must keep."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

import cocotb
import shell_reference as ref
from cocotb.triggers import RisingEdge

WINDOW, SLOTS = 64, 8


class Host:
    """Sends frames, takes those of the board, goes back when told. `idle` and `stall` are chances of a pause a cycle.

    `harm` changes the bytes of a frame on their way to the board, `deaf` is the chance that a frame of the board is not
    received. `results` is the output stream so far.
    """

    def __init__(self, dut: Any, rng: Random, *, idle: float = 0.0, stall: float = 0.0) -> None:
        self.dut, self.rng, self.idle, self.stall = dut, rng, idle, stall
        self.harm: Callable[[bytes], bytes] = lambda data: data
        self.deaf = 0.0
        self.window = WINDOW
        self.cycle = 0
        self.line: deque[int] = deque()
        self.forget()
        cocotb.start_soon(self._run())

    def forget(self) -> None:
        """As after a reset."""
        self.sent = self.acked = self.limit = self.ack = self.highest = 0  # counted without end, not modulo 256
        self.results = bytearray()
        self.kept: dict[int, bytes] = {}
        self.frames: list[bytes] = []
        self.told = 0
        self.packets: deque[ref.Packet] = deque()
        self.back = False

    def send(self, kind: int, seq: int = 0, payload: bytes = b"") -> None:
        """Queue one frame."""
        self.line.extend(self.harm(ref.frame(kind, seq, self.ack, self.ack + self.window, payload)))

    async def _run(self) -> None:
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        buffer = bytearray()
        offered = ready = False
        while True:
            await edge
            self.cycle += 1
            if offered and dut.rx_ready.value == 1:
                self.line.popleft()
                offered = False
            if ready and dut.tx_valid.value == 1:
                byte = int(dut.tx_data.value)
                if byte:
                    buffer.append(byte)
                else:
                    assert buffer, "an empty frame"
                    self._take(ref.parse(bytes(buffer)))
                    buffer.clear()
            if not offered and self.line and (not self.idle or self.rng.random() >= self.idle):
                dut.rx_data.value = self.line[0]
                offered = True
            dut.rx_valid.value = int(offered)
            ready = not self.stall or self.rng.random() >= self.stall
            dut.tx_ready.value = int(ready)

    def _take(self, packet: ref.Packet) -> None:
        if self.rng.random() < self.deaf:
            return
        ack = self.acked + (packet.ack - self.acked) % 256
        self.highest = max(self.highest, self.sent)  # before it went back
        if ack <= self.highest:
            self.acked = max(self.acked, ack)
            self.sent = max(self.sent, self.acked)
            ahead = (packet.limit - packet.ack) % 256
            assert ahead <= WINDOW, f"limit {packet.limit} for ack {packet.ack}"
            self.limit = max(self.limit, ack + ahead)
        else:
            assert (self.acked - ack) % 256 <= WINDOW, f"ack {packet.ack} of frames that were not sent: {self.highest}"
        if packet.kind == ref.RESULT:
            assert 1 <= len(packet.payload) <= 240
            ahead = (packet.seq - self.ack) % 256
            if ahead == 0:
                self.results += packet.payload
                self.kept[packet.seq] = packet.payload
                self.ack += 1
            elif ahead < 128:
                assert ahead < SLOTS, "more frames out than the board keeps"
            elif packet.seq in self.kept and ahead >= 256 - SLOTS:
                assert self.kept[packet.seq] == packet.payload, "a frame sent again differs"
        elif packet.kind == ref.NAK:
            self.back = True
        self.packets.append(packet)

    async def wait(self, cycles: int) -> None:
        """Let cycles pass."""
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)

    async def answer(self, kind: int, *, timeout: int = 6000) -> ref.Packet:
        """The next packet of that kind; those of other kinds before it are dropped."""
        for _ in range(timeout):
            while self.packets:
                packet = self.packets.popleft()
                if packet.kind == kind:
                    return packet
            await RisingEdge(self.dut.clk)
        raise AssertionError(f"no frame of kind {kind:#04x} in {timeout} cycles")

    async def silence(self, cycles: int = 600) -> None:
        """Nothing is on its way: fails when a packet comes within `cycles`."""
        self.packets.clear()
        await self.wait(cycles)
        assert not self.packets, f"unexpected {self.packets}"

    async def write(self, tag: int, address: int, value: int) -> None:
        self.send(ref.WRITE, tag, bytes((address,)) + value.to_bytes(4, "little"))
        packet = await self.answer(ref.WRITTEN)
        assert (packet.seq, packet.payload) == (tag, bytes((address,)) + value.to_bytes(4, "little"))
        if address == ref.CONTROL and value & ref.RESET:
            assert (packet.ack, packet.limit) == (0, 16), "answered after the reset"
            self.forget()

    async def read(self, address: int, count: int, tag: int = 77) -> list[int]:
        self.send(ref.READ, tag, bytes((address, count)))
        packet = await self.answer(ref.REGISTERS)
        assert (packet.seq, packet.payload[0], len(packet.payload)) == (tag, address, 1 + 4 * count)
        return [int.from_bytes(packet.payload[i : i + 4], "little") for i in range(1, len(packet.payload), 4)]

    async def counters(self) -> dict[str, int]:
        """Registers 18 to 38 by name; halves are joined."""
        words = dict(zip(ref.COUNTERS, await self.read(18, len(ref.COUNTERS)), strict=True))
        for name in ("cycles", "steady", "latency_sum", "line"):
            words[name] |= words.pop(f"{name}_hi") << 32
        return words

    async def exchange(self, data: bytes, expected: int, *, most: int = 240, timeout: int = 60_000) -> bytes:
        """Send `data` in frames of random sizes, return `expected` bytes; go back on NAK and on silence."""
        at = 0
        pending: list[bytes] = []
        while at < len(data):
            size = self.rng.choice([1, most, self.rng.randrange(1, most + 1)])
            pending.append(data[at : at + size])
            at += size
        first = self.sent
        frames = {first + i: part for i, part in enumerate(pending)}
        moved = spoke = self.cycle
        marks = (0, 0)
        while self.acked < first + len(frames) or len(self.results) < expected:
            if marks != (self.acked, len(self.results)):
                marks, moved, spoke = (self.acked, len(self.results)), self.cycle, self.cycle
            assert self.cycle - moved < timeout, f"nothing moved: {marks}, sent {self.sent}, limit {self.limit}"
            self.packets.clear()
            if not self.line:
                if self.back:
                    self.highest = max(self.highest, self.sent)
                    self.sent, self.back = self.acked, False
                if self.sent in frames and self.sent < min(self.limit, self.acked + WINDOW):
                    self.send(ref.DATA, self.sent, frames[self.sent])
                    self.sent += 1
                    self.told = self.ack
                elif self.told != self.ack:
                    self.send(ref.POLL)
                    self.told = self.ack
                elif self.cycle - spoke > 6000:
                    self.send(ref.RESEND)
                    spoke, self.back = self.cycle, True
            await RisingEdge(self.dut.clk)
        answer = bytes(self.results[:expected])
        del self.results[:expected]
        return answer
