"""cocotb tests at the RGMII pins of a whole top: latency and payload with a host that answers at once; the reset."""

from __future__ import annotations

import os
from typing import Any

import cocotb
import ethernet_frames as net
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, Timer

from designs.boards.frames import SLOTS, WINDOW, Control, Decoder, Kind, Register, pack
from designs.flow.bench import generator, save

HALF_NS = 4
#: Frames that surely fit the input FIFO.
HELD = 50
WORD = 3  # bytes of a word of the loopback core
CLOCK_PS, BYTES = int(os.environ["GATEWARP_CLOCK_PS"]), int(os.environ["GATEWARP_LINE_BYTES"])


def answer(data: bytes) -> bytes:
    """What the core makes of a stream: one is added to the low 20 of the 21 bits of each word."""
    words = (int.from_bytes(data[at : at + WORD], "little") for at in range(0, len(data), WORD))
    return b"".join((word & 1 << 20 | (word + 1) % (1 << 20)).to_bytes(WORD, "little") for word in words)


class Host:
    """The host's end of the cable, without a moment's thought: frames at once, acknowledgements at once."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = generator("host")
        self.cycle = 0
        self.queue: list[bytes] = []
        self.number = self.expected = self.base = self.next = self.limit = 0
        self.decoder = Decoder()
        self.out = bytearray()
        self.answered = False
        self.answers = self.tag = 0
        self.news: list[int] = []  # cycle in which the last byte of each frame of the board was there

    async def begin(self) -> None:
        dut = self.dut
        dut.rgmii_rx_clk.value = dut.rgmii_rx_ctl.value = dut.rgmii_rxd.value = 0
        dut.gsrn.value = dut.uart_rx.value = 1
        cocotb.start_soon(Clock(dut.clk_100mhz, CLOCK_PS, "ps").start())
        self.cable = cocotb.start_soon(self._cable())
        await ClockCycles(dut.clk_100mhz, 40)

    async def _cable(self) -> None:
        """Both directions, an edge at a time."""
        dut = self.dut
        sending, gap, arriving = b"", 0, bytearray()
        place = 0
        await Timer(HALF_NS, "ns")
        while True:
            if place >= len(sending) and gap == 0 and self.queue:
                sending, place = net.PREAMBLE + net.wire(self.queue.pop(0)), 0
            valid = place < len(sending)
            byte = sending[place] if valid else 0xDD
            dut.rgmii_rx_ctl.value, dut.rgmii_rxd.value, dut.rgmii_rx_clk.value = int(valid), byte & 15, 1
            await Timer(HALF_NS, "ns")
            assert dut.rgmii_tx_clk.value == 1
            low, ctl = int(dut.rgmii_txd.value), int(dut.rgmii_tx_ctl.value)
            dut.rgmii_rxd.value, dut.rgmii_rx_clk.value = byte >> 4, 0
            await Timer(HALF_NS, "ns")
            assert dut.rgmii_tx_clk.value == 0
            assert int(dut.rgmii_tx_ctl.value) == ctl
            self.cycle += 1
            if valid:
                place += 1
                gap = 12
            elif gap:
                gap -= 1
            if self.cycle < 20:  # registers that have seen no reset yet
                continue
            if ctl:
                arriving.append(low | int(dut.rgmii_txd.value) << 4)
            elif arriving:
                assert arriving.startswith(net.PREAMBLE)
                self._take(net.unwire(bytes(arriving[8:])))
                arriving.clear()

    def _take(self, frame: bytes) -> None:
        if frame[12:14] == b"\x08\x06":
            assert frame[22:28] == net.BOARD_MAC
            self.answers += 1
            return
        self.news.append(self.cycle)
        for each in self.decoder.feed(net.parse(frame).payload[4:]):
            assert each is not None
            assert each.kind != Kind.NAK
            self.base += (each.ack - self.base) & 255
            self.limit = self.base + ((each.limit - each.ack) & 255)
            if each.kind == Kind.DATA_OUT:
                assert each.seq == self.expected & 255
                self.expected += 1
                self.out += each.payload
            self.answered |= each.kind == Kind.WRITTEN

    def send(self, *packets: tuple[int, int, bytes]) -> None:
        """A datagram with frames of some kind, number and payload."""
        self.number += 1
        line = b"".join(
            pack(kind, seq & 255, self.expected, self.expected + WINDOW, load) for kind, seq, load in packets
        )
        self.queue.append(net.udp(net.numbered(self.number, line)))

    async def until(self, true: Any, cycles: int = 60_000) -> None:
        """Wait for something. Errors: AssertionError after some cycles."""
        end = self.cycle + cycles
        while not true():
            await Timer(2 * HALF_NS, "ns")
            assert self.cycle < end, "waited for too long"

    async def write(self, control: int) -> None:
        """Write the register CONTROL."""
        self.answered = False
        self.tag += 1
        self.send((Kind.WRITE, self.tag, bytes((Register.CONTROL,)) + control.to_bytes(4, "little")))
        await self.until(lambda: self.answered)

    async def reset(self) -> None:
        """Reset the shell; what it says has the credit."""
        await self.write(Control.RESET)
        self.base = self.next = self.expected = 0


@cocotb.test()
async def pins(dut: Any) -> None:
    """The PHY is held in reset, then let go; an ARP question is answered through the pins."""
    host = Host(dut)
    await host.begin()
    assert dut.phy_rst_n.value == 0
    assert dut.uart_tx.value == 1
    host.queue.append(net.question())
    await host.until(lambda: host.answers == 1)
    host.cable.cancel()  # edge by edge it would take long
    await Timer(32_768 * CLOCK_PS + 1_000_000, "ps")
    assert dut.phy_rst_n.value == 1
    dut.gsrn.value = 0
    await ClockCycles(dut.clk_100mhz, 8)
    dut.gsrn.value = 1
    await ClockCycles(dut.clk_100mhz, 8)
    assert dut.phy_rst_n.value == 0


@cocotb.test()
async def latency(dut: Any) -> None:
    """One item: from the first byte of its frame on the cable to the last byte of the answer's."""
    host = Host(dut)
    await host.begin()
    await host.reset()
    found = []
    for seq in range(5):
        await Timer(10_000 + host.rng.randrange(1000) * 8, "ns")
        before = len(host.news)
        started = host.cycle
        text = bytes(host.rng.randrange(1, 32) for _ in range(WORD))
        host.send((Kind.DATA_IN, seq, text))
        await host.until(lambda: host.expected > seq)  # noqa: B023
        assert bytes(host.out[-WORD:]) == answer(text)
        found.append(next(at for at in host.news[before:] if at > started) - started)
        await host.until(lambda: not host.queue)
    save(cycles=found)


@cocotb.test()
async def payload(dut: Any) -> None:
    """As much as goes, both ways at once, then into the FIFO alone: cycles between first and last byte of payload."""
    host = Host(dut)
    await host.begin()
    await host.reset()
    total = BYTES
    data = bytes(host.rng.randrange(32) if i % WORD == WORD - 1 else host.rng.randrange(256) for i in range(total))
    frames = [data[i : i + 240] for i in range(0, total, 240)]

    async def exchange(expected: int) -> int:
        started, told = host.cycle, 0
        while len(host.out) < expected or host.base < len(frames):
            batch = []
            while host.next < min(host.limit, host.base + WINDOW, len(frames)) and len(batch) < 5:
                batch.append((Kind.DATA_IN, host.next, frames[host.next]))
                host.next += 1
            if batch:
                host.send(*batch)
                told = host.expected
            elif host.expected - told >= SLOTS // 4:
                host.send((Kind.POLL, 0, b""))
                told = host.expected
            await host.until(lambda: len(host.queue) < 2)
            await Timer(2 * HALF_NS, "ns")
            assert host.cycle < started + 20_000 + 25 * total
        return host.cycle - started

    both = await exchange(total)
    assert bytes(host.out) == answer(data)
    await host.reset()
    host.out.clear()
    await host.write(Control.HOLD)
    del frames[HELD:]
    save(cycles=[both, await exchange(0)], bytes=[total, 240 * len(frames)])
