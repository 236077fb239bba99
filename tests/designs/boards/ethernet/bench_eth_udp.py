"""cocotb tests of the Ethernet side, between the bytes of the PHY and those of the shell, in two clocks."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import cocotb
import ethernet_frames as net
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from designs.flow.bench import generator

ETHERNET_PS = 8000
NAMES = ("taken", "bad", "foreign", "late", "lost", "asked", "sent")


class Cable:
    """Both sides of the module. Values change at falling edges, so that each rising edge meets settled ones."""

    def __init__(self, dut: Any, seed: str, clock_ps: int = 20_800) -> None:
        self.dut, self.clock_ps = dut, clock_ps
        self.rng = generator(seed)
        self.frames: list[bytes] = []  # out of the board
        self.gaps: list[int] = []
        self.line = bytearray()  # to the shell
        self.take = 1.0  # chance a cycle that the shell takes a byte

    async def begin(self) -> None:
        dut = self.dut
        for name in ("rx_valid", "rx_error", "rx_data", "m_ready", "s_valid", "s_data"):
            getattr(dut, name).value = 0
        dut.rst.value = dut.eth_rst.value = 1
        cocotb.start_soon(Clock(dut.eth_clk, ETHERNET_PS, "ps").start())
        cocotb.start_soon(Clock(dut.clk, self.clock_ps, "ps").start())
        await ClockCycles(dut.clk, 8)
        await ClockCycles(dut.eth_clk, 8)
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        await FallingEdge(dut.eth_clk)
        dut.eth_rst.value = 0
        cocotb.start_soon(self._watch())
        cocotb.start_soon(self._shell())
        await ClockCycles(dut.eth_clk, 20)

    async def _watch(self) -> None:
        """Frames out of the board; their preambles, FCS and gaps are checked."""
        frame, gap = bytearray(), 100
        while True:
            await FallingEdge(self.dut.eth_clk)
            if self.dut.tx_valid.value == 1:
                frame.append(int(self.dut.tx_data.value))
            elif frame:
                assert frame.startswith(net.PREAMBLE), frame.hex()
                self.frames.append(net.unwire(bytes(frame[8:])))
                self.gaps.append(gap)
                assert gap >= 12, gap
                frame, gap = bytearray(), 1
            else:
                gap += 1

    async def _shell(self) -> None:
        """Take bytes for the shell."""
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            ready = self.rng.random() < self.take
            dut.m_ready.value = int(ready)
            if ready and dut.m_valid.value == 1:
                self.line.append(int(dut.m_data.value))

    async def raw(self, data: bytes, *, gap: int = 12, error_at: int = -1) -> None:
        """Bytes of the PHY as they are, then a gap."""
        dut = self.dut
        for place, byte in enumerate(data):
            await FallingEdge(dut.eth_clk)
            dut.rx_valid.value = 1
            dut.rx_data.value = byte
            dut.rx_error.value = int(place == error_at)
        await FallingEdge(dut.eth_clk)
        dut.rx_valid.value = dut.rx_error.value = 0
        for _ in range(gap - 1):
            await FallingEdge(dut.eth_clk)

    async def send(self, frame: bytes, *, preamble: int = 7, gap: int = 12) -> None:
        """A whole frame of the host."""
        await self.raw(b"\x55" * preamble + b"\xd5" + net.wire(frame), gap=gap)

    async def put(self, data: bytes, chance: float = 1.0) -> None:
        """Bytes of the shell."""
        dut = self.dut
        await FallingEdge(dut.clk)
        for byte in data:
            while self.rng.random() >= chance:
                await FallingEdge(dut.clk)
            dut.s_valid.value = 1
            dut.s_data.value = byte
            while True:
                taken = dut.s_ready.value == 1
                await FallingEdge(dut.clk)
                if taken:
                    break
            dut.s_valid.value = 0

    async def settle(self, cycles: int = 200) -> None:
        """Wait until nothing has come out for a while."""
        while True:
            before = len(self.frames), len(self.line)
            await ClockCycles(self.dut.eth_clk, max(cycles, 1600))
            if before == (len(self.frames), len(self.line)):
                return

    async def counts(self) -> dict[str, int]:
        """Ask for the counters."""
        await self.settle()
        before = len(self.frames)
        await self.send(net.udp(b"?", port=net.BOARD_PORT + 1, from_port=5))
        await self.settle()
        (frame,) = self.frames[before:]
        got = net.parse(frame)
        assert (got.to_mac, got.to_ip, got.to_port, got.from_port) == (
            net.HOST_MAC, net.HOST_IP, 5, net.BOARD_PORT + 1,
        )  # fmt: skip
        magic, *words = struct.unpack("<8I", got.payload)
        assert magic == 0x47415445
        del self.frames[before:]
        return dict(zip(NAMES, words, strict=True))

    def datagrams(self) -> list[net.Datagram]:
        """All frames so far, as datagrams."""
        return [net.parse(each) for each in self.frames]


def frames_of(rng: Any, count: int, most: int = 250) -> list[bytes]:
    """Frames of the shell: no zero but the last byte."""
    return [bytes(rng.randrange(1, 256) for _ in range(rng.randrange(0, most))) + b"\0" for _ in range(count)]


def expected_arp() -> bytes:
    return net.arp(2, net.BOARD_MAC, net.BOARD_IP, net.HOST_MAC, net.HOST_IP, net.HOST_MAC).ljust(60, b"\0")


@cocotb.test()
async def answers(dut: Any) -> None:
    """ARP to all and to the board alone, with short and long preambles; pings of all sizes; counters."""
    cable = Cable(dut, "answers")
    await cable.begin()
    for preamble, to in ((7, net.EVERYONE), (1, net.BOARD_MAC), (0, net.EVERYONE), (15, net.EVERYONE)):
        await cable.send(net.question(to=to), preamble=preamble)
        await cable.settle()
        assert cable.frames == [expected_arp()], (preamble, [each.hex() for each in cable.frames])
        cable.frames.clear()
    for size in (0, 1, 17, 18, 31, 56, 60, *(cable.rng.randrange(61) for _ in range(2))):
        await cable.send(net.ping(size))
        await cable.settle()
        (frame,) = cable.frames
        asked = net.ping(size)
        assert frame[:12] == net.HOST_MAC + net.BOARD_MAC
        assert net.checksum(frame[14:34]) == 0
        assert frame[26:34] == net.BOARD_IP + net.HOST_IP
        total = struct.unpack(">H", frame[16:18])[0]
        icmp = frame[34 : 14 + total]
        assert net.checksum(icmp) == 0, icmp.hex()
        assert icmp[:2] == b"\0\0"
        assert icmp[4:] == asked[38:]
        assert frame[14 + total :] == b"\0" * (len(frame) - 14 - total)
        cable.frames.clear()
    # A checksum that the change of the type carries over, and two echoes so close that the second is dropped.
    await cable.send(net.ping(56), gap=12)
    await cable.send(net.ping(20), gap=12)
    await cable.settle()
    assert len(cable.frames) == 1
    assert net.checksum(cable.frames[0][34:98]) == 0
    cable.frames.clear()
    # From senders whose addresses make every kind of sum in the header.
    for _ in range(10):
        ip = bytes(cable.rng.randrange(256) for _ in range(4))
        await cable.send(net.udp(b"?", port=net.BOARD_PORT + 1, from_ip=ip))
        await cable.settle()
        (got,) = cable.datagrams()
        assert got.to_ip == ip
        cable.frames.clear()
    told = await cable.counts()
    assert told == {"taken": 0, "bad": 0, "foreign": 0, "late": 0, "lost": 0, "asked": 4 + 9 + 2 + 10 + 1, "sent": 0}


async def both_ways(cable: Cable, sizes: Sequence[int], chance: float) -> None:
    """Datagrams in, and frames of the shell out, at once."""
    await cable.begin()
    rng = cable.rng
    payloads = [bytes(rng.randrange(256) for _ in range(size)) for size in sizes]
    await cable.send(net.udp(net.numbered(1000, payloads[0])))
    await cable.settle()
    out = b"".join(frames_of(rng, 40))
    putting = cocotb.start_soon(cable.put(out, chance))
    for number, payload in enumerate(payloads[1:], start=1001):
        while len(cable.line) + 4000 < sum(map(len, payloads[: number - 999])):  # the credit of the shell
            await ClockCycles(cable.dut.eth_clk, 50)
        await cable.send(net.udp(net.numbered(number, payload)))
    await putting
    await cable.settle()
    assert bytes(cable.line) == b"".join(payloads)
    got = cable.datagrams()
    assert b"".join(each.payload[4:] for each in got) == out
    for number, each in enumerate(got):
        assert each.payload[:4] == struct.pack("<I", number)
        assert (each.to_mac, each.to_ip, each.to_port) == (net.HOST_MAC, net.HOST_IP, net.HOST_PORT)
        assert each.from_port == net.BOARD_PORT
        assert len(each.payload) <= 1472
        assert each.payload.endswith(b"\0"), "cut inside a frame"
    told = await cable.counts()
    assert (told["taken"], told["sent"]) == (len(payloads), len(got))
    assert told["bad"] == told["foreign"] == told["late"] == told["lost"] == 0


@cocotb.test()
async def streams_slow_shell(dut: Any) -> None:
    """All sizes of datagrams, at the clock of an easy design."""
    cable = Cable(dut, "streams", 20_800)
    await both_ways(cable, [0, 1, 2, 13, 14, 15, 250, 1467, 1468, *(cable.rng.randrange(1469) for _ in range(8))], 1.0)


@cocotb.test()
async def streams_fast_shell(dut: Any) -> None:
    """A shell faster than Ethernet that hesitates."""
    cable = Cable(dut, "fast", 5_000)
    cable.take = 0.7
    await both_ways(cable, [cable.rng.randrange(600) for _ in range(12)], 0.6)


@cocotb.test()
async def strangers(dut: Any) -> None:
    """What is not for the board, or not whole, is counted and leaves nothing behind."""
    cable = Cable(dut, "strangers")
    await cable.begin()
    text = net.numbered(9, b"never\0" * 20)
    foreign = [
        net.question(ip=bytes((192, 168, 77, 9))),
        net.question(to=b"\x02" * 6),
        net.arp(2, net.HOST_MAC, net.HOST_IP, net.BOARD_MAC, net.BOARD_IP, net.BOARD_MAC),
        net.udp(text, mac=net.EVERYONE),
        net.udp(text, mac=b"\x02" * 6),
        net.udp(text, ip=bytes((192, 168, 77, 3))),
        net.udp(text, ip=bytes((192, 168, 77, 255))),
        net.udp(text, port=net.BOARD_PORT - 1),
        net.udp(text, port=net.BOARD_PORT ^ 0x100),
        net.udp(text, fragment=0x2000),
        net.udp(text, fragment=0x0001),
        net.udp(text, fragment=0x0100),
        net.udp(text, wrong_sum=1),
        net.udp(text, wrong_sum=0x100),
        net.udp(text, length=len(text) + 9),
        net.udp(text, length=len(text) + 7),
        net.udp(b"abc"),
        net.udp(b"?", port=net.BOARD_PORT + 1, ip=bytes((192, 168, 77, 3))),
        net.ipv4(6, net.udp(text)[34:]),
        net.ipv4(17, net.udp(text)[34:], total=20 + 8 + len(text) + 900),
        *(net.udp(text, length=8 + len(text) + more, total=28 + len(text) + more) for more in (1, 4, 300)),
        net.ping(61),
        net.ping(8, kind=0),
        net.udp(text)[:14] + b"\x46" + net.udp(text)[15:],
        net.BOARD_MAC + net.HOST_MAC + b"\x86\xdd" + b"\x60" * 60,
        net.BOARD_MAC + net.HOST_MAC + b"\x08\x00" + b"\0" * 60,
    ]
    for frame in foreign:
        await cable.send(frame)
    good = net.PREAMBLE + net.wire(net.udp(text))
    bad = 0
    for place in (8, 8 + 5, 8 + 41, 8 + 60, len(good) - 4, len(good) - 1):
        broken = bytearray(good)
        broken[place] ^= 1 << cable.rng.randrange(8)
        await cable.raw(bytes(broken))
        bad += 1
    await cable.raw(good, error_at=50)
    await cable.raw(net.PREAMBLE + net.wire(net.udp(text), pad=False)[:40])
    await cable.raw(net.PREAMBLE + net.wire(net.udp(net.numbered(9, b"a"))[:50], pad=False))
    await cable.raw(net.PREAMBLE + net.wire(net.udp(net.numbered(9, b"x" * 1500))))
    await cable.raw(net.PREAMBLE + net.wire(net.udp(net.numbered(9, b"x" * 3000))))
    await cable.raw(net.PREAMBLE)
    await cable.raw(b"\x55\x54" + good[2:])
    await cable.raw(b"\xd4" + good)
    bad += 8
    await cable.settle()
    assert not cable.frames
    assert not cable.line
    # Even without a peer the shell's bytes must not pile up.
    await cable.put(b"\x01\0" * 3000)
    await cable.settle()
    assert not cable.frames
    told = await cable.counts()
    assert told == {
        "taken": 0, "bad": bad, "foreign": len(foreign), "late": 0, "lost": 0, "asked": 1, "sent": 0,
    }, told  # fmt: skip
    await cable.send(net.udp(net.numbered(9, b"at last\0")))
    await cable.settle()
    assert bytes(cable.line) == b"at last\0"


@cocotb.test()
async def order(dut: Any) -> None:
    """Numbers that go back are late, from a new sender they count anew; answers go to the last good sender."""
    cable = Cable(dut, "order")
    await cable.begin()
    taken = bytearray()

    async def offer(number: int, good: bool, *, port: int = net.HOST_PORT, ip: bytes = net.HOST_IP) -> None:
        text = bytes((number & 255, port & 255, ip[3])) + b"\0"
        await cable.send(net.udp(net.numbered(number, text), from_port=port, from_ip=ip))
        if good:
            taken.extend(text)

    for number, good in (
        (0xFFFFFFF0, True), (0xFFFFFFF0, False), (0xFFFFFFEF, False), (0xFFFFFFFF, True), (0, True),
        (0xFFFFFFFF, False), (5, True), (4, False), (5, False), (0x80000004, True), (6, False),
        (0x80000005, True), (0x80000003, False),
    ):  # fmt: skip
        await offer(number, good)
    await offer(3, True, port=6)
    await offer(3, False, port=6)
    await offer(1, True, ip=bytes((192, 168, 77, 5)), port=6)
    await cable.settle()
    assert bytes(cable.line) == bytes(taken), (cable.line.hex(), taken.hex())
    await cable.put(b"answer\0")
    await cable.settle()
    (got,) = cable.datagrams()
    assert (got.to_ip, got.to_port, got.payload[4:]) == (bytes((192, 168, 77, 5)), 6, b"answer\0")
    cable.frames.clear()
    told = await cable.counts()
    assert (told["taken"], told["late"], told["foreign"]) == (len(taken) // 4, 8, 0), told


@cocotb.test()
async def no_room(dut: Any) -> None:
    """A shell that takes nothing: whole datagrams are lost, none in part, and what was taken comes out later."""
    cable = Cable(dut, "room")
    cable.take = 0.0
    await cable.begin()
    sent = []
    for number in range(1, 8):
        line = bytes(cable.rng.randrange(256) for _ in range(900 if number < 7 else 300))
        sent.append(line)
        await cable.send(net.udp(net.numbered(number, line)))
    cable.take = 1.0
    await cable.settle()
    told = await cable.counts()
    assert told["taken"] + told["lost"] == 7, told
    assert told["lost"] == 2, told
    assert bytes(cable.line) == b"".join([*sent[:4], sent[6]])
    await cable.send(net.udp(net.numbered(9, b"more\0")))
    await cable.settle()
    assert cable.line.endswith(b"more\0")


@cocotb.test()
async def crossed(dut: Any) -> None:
    """Questions while datagrams go out: all of both come, none is mixed up."""
    cable = Cable(dut, "crossed")
    await cable.begin()
    await cable.send(net.udp(net.numbered(1, b"")))
    out = b"".join(frames_of(cable.rng, 60))
    putting = cocotb.start_soon(cable.put(out))
    asked = 0
    for _ in range(25):
        await cable.send(net.question(), gap=cable.rng.randrange(600, 3000))
        asked += 1
    await putting
    await cable.settle()
    arps = [each for each in cable.frames if each[12:14] == b"\x08\x06"]
    assert arps == [expected_arp()] * len(arps)
    assert len(arps) >= asked - 3
    cable.frames = [each for each in cable.frames if each[12:14] == b"\x08\x00"]
    assert b"".join(each.payload[4:] for each in cable.datagrams()) == out
