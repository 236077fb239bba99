"""cocotb tests of the shell at its byte stream; `shell_reference` is the format, `shell_host` the other end."""

from __future__ import annotations

import os
from typing import Any

import cocotb
import shell_reference as ref
from cocotb.triggers import RisingEdge
from shell_host import WINDOW, Host

from designs.flow.bench import generator, save, start, vectors


async def begin(dut: Any, name: str, **pauses: float) -> Host:
    rng = generator(name)
    dut.frame_error.value = 0
    dut.overrun.value = 0
    dut.rx_valid.value = 0
    dut.tx_ready.value = 0
    await start(dut)
    host = Host(dut, rng, **pauses)
    assert (await host.answer(ref.STATE))[:4] == (ref.STATE, 0, 0, 16), "the board tells that it has started"
    return host


def loopback(data: bytes) -> bytes:
    """What tests/designs/boards/loopback_core.sv makes of whole words."""
    out = b""
    for i in range(0, len(data), 3):
        word = int.from_bytes(data[i : i + 3], "little") & (1 << 21) - 1
        out += (word & 1 << 20 | word + 1 & (1 << 20) - 1).to_bytes(3, "little")
    return out


def pacing(data: bytes) -> bytes:
    """What tests/designs/boards/pacing_core.sv makes of whole items."""
    out = b""
    for i in range(0, len(data), 6):
        total = sum(int.from_bytes(data[i + 2 * k : i + 2 * k + 2], "little") for k in range(3))
        out += (total & 65535).to_bytes(2, "little") + (total + 1 & 65535).to_bytes(2, "little")
    return out


def stream(host: Host, size: int) -> bytes:
    """Random bytes with runs of zeros and ones, which stuffing cares about."""
    pieces: list[bytes] = []
    while sum(map(len, pieces)) < size:
        kind, length = host.rng.randrange(4), host.rng.randrange(1, 300)
        pieces.append(bytes(length) if kind == 0 else b"\xff" * length if kind == 1 else host.rng.randbytes(length))
    return b"".join(pieces)[:size]


@cocotb.test()
async def registers(dut: Any) -> None:
    host = await begin(dut, "registers", idle=0.2, stall=0.2)
    identification = await host.read(0, 18)
    assert (await host.read(18, 21))[:3] == [0, 0, 0]
    # Any part of the map, up to the most words, beyond its end zeros.
    whole = identification + [0] * 46
    for _ in range(12):
        address = host.rng.randrange(18)
        count = host.rng.randrange(1, 18 - address + 1)
        assert await host.read(address, count, host.rng.randrange(256)) == whole[address : address + count]
    assert (await host.read(0, 58))[39:] == [0] * 19
    assert await host.read(200, 2) == [0, 0]
    # Questions back to back are all answered, in their order.
    for tag in range(30):
        host.send(ref.READ, tag, bytes((tag % 18, 1)))
    for tag in range(30):
        packet = await host.answer(ref.REGISTERS)
        assert (packet.seq, packet.payload[0]) == (tag, tag % 18)
        assert int.from_bytes(packet.payload[1:], "little") == identification[tag % 18]
    # What is asked while a long answer goes out is not forgotten.
    host.send(ref.READ, 1, b"\0\x3a")
    host.send(ref.POLL)
    host.send(5)
    await host.answer(ref.REGISTERS)
    await host.answer(ref.NAK)
    await host.answer(ref.STATE)
    # Counts that no answer holds, kinds that there are not, and sizes that are not theirs are told as bad frames.
    bad = 1
    for kind, payload in (
        (ref.READ, b"\0\0"),
        (ref.READ, b"\0\x3b"),
        (ref.READ, b"\0"),
        (ref.WRITE, bytes(4)),
        (5, b""),
    ):
        host.send(kind, 9, payload)
        await host.answer(ref.NAK)
        bad += 1
    for kind in (ref.POLL, ref.RESEND):
        host.send(kind, 0, b"x")
        await host.answer(ref.NAK)
        bad += 1
        host.send(kind)
        await host.answer(ref.STATE)
    counters = await host.counters()
    assert counters["frames_bad"] == bad
    assert counters["flags"] == 4
    # The tag rule: a WRITE that comes again is answered, not done; bits come back to zero by themselves.
    assert counters["last_tag"] == 0
    await host.write(5, ref.CONTROL, ref.CLEAR | ref.HOLD)
    assert (await host.counters())["flags"] == 0
    assert (await host.read(18, 3))[0::2] == [ref.HOLD, 0x105]
    await host.write(5, ref.CONTROL, 0)
    assert (await host.read(18, 1)) == [ref.HOLD], "the same tag is not done again"
    await host.write(6, ref.CONTROL, 0)
    assert (await host.read(18, 3))[0::2] == [0, 0x106]
    await host.write(7, 3, 0xFFFFFFFF)
    assert await host.read(0, 18) == identification, "nothing else can be written"
    # Pulses of the serial receiver.
    for bit, pin in ((1, dut.frame_error), (2, dut.overrun)):
        pin.value = 1
        await RisingEdge(dut.clk)
        pin.value = 0
        assert (await host.counters())["flags"] & bit
    save(identification=identification)


@cocotb.test()
async def frames(dut: Any) -> None:
    """Sequence rules, one by one."""
    host = await begin(dut, "frames")
    host.send(ref.POLL)
    state = await host.answer(ref.STATE)
    limit = state.limit
    assert state[:3] == (ref.STATE, 0, 0)
    assert 0 < limit <= WINDOW
    await host.silence()
    host.line.extend(bytes(9))
    await host.silence()
    # In order: acknowledged by STATE without being asked. Two words are not complete yet, so that nothing comes out.
    data = host.rng.randbytes(2)
    host.sent = 1
    host.send(ref.DATA, 0, data[:1])
    assert (await host.answer(ref.STATE)).ack == 1
    await host.wait(300)
    await host.silence()
    # Once more: acknowledged again, not taken.
    host.send(ref.DATA, 0, data[:1])
    assert (await host.answer(ref.STATE)).ack == 1
    # One ahead: told once, until the right one is there.
    for _ in range(3):
        host.send(ref.DATA, 2, b"lost")
    assert (await host.answer(ref.NAK)).ack == 1
    await host.silence()
    host.send(ref.POLL)
    assert (await host.answer(ref.STATE)).ack == 1
    host.send(ref.DATA, 2, b"lost")
    assert (await host.answer(ref.NAK)).ack == 1
    # Damaged in every byte of a frame, and cut: told every time, nothing taken.
    good = ref.frame(ref.DATA, 1, host.ack, host.ack + WINDOW, data[1:2])
    damaged = [good[:i] + bytes((good[i] ^ 1 << host.rng.randrange(8),)) + good[i + 1 :] for i in range(len(good) - 1)]
    damaged += [good[:i] + b"\0" for i in range(1, len(good) - 1)]
    for wrong in damaged:
        host.line.extend(wrong)
        assert (await host.answer(ref.NAK)).ack == 1, wrong.hex()
    # Too long by one byte, and endless: the longest that is allowed is not.
    for wrong in (ref.frame(ref.DATA, 1, 0, WINDOW, b"\1" * 241), b"\2\1" * 500 + b"\0"):
        host.line.extend(wrong)
        assert (await host.answer(ref.NAK)).ack == 1
    host.sent = 3
    host.send(ref.DATA, 1, data[1:2] + b"\1" * 239)
    host.send(ref.DATA, 2)
    words = data + b"\1" * 239
    while len(host.results) < 240:
        await RisingEdge(dut.clk)
    assert bytes(host.results) == loopback(words[:240])
    await host.wait(300)
    host.packets.clear()
    host.send(ref.POLL)
    assert (await host.answer(ref.STATE)).ack == 3, "a frame may be empty"
    flags = (await host.counters())["flags"]
    assert flags == 4 + 8, "bad frames, and frames out of order"
    save(done=True)


@cocotb.test()
async def resend(dut: Any) -> None:
    """The ring: at most eight frames wait for their acknowledgement, and come again when asked."""
    host = await begin(dut, "resend")
    data = stream(host, 3600)
    answer = loopback(data)
    for seq in range(15):
        host.line.extend(ref.frame(ref.DATA, seq, 0, 3, data[240 * seq : 240 * seq + 240]))
    host.sent = 15
    # The host lets three frames come, and says nothing.
    await host.wait(9000)
    assert (host.ack, bytes(host.results)) == (3, answer[:720])
    # Nothing is acknowledged, but the window opens: five more, then the ring is full.
    host.line.extend(ref.frame(ref.POLL, 0, 0, WINDOW))
    await host.wait(9000)
    assert (host.ack, bytes(host.results)) == (8, answer[:1920])
    await host.silence()
    # Again from the first, and from the sixth; the host checks that they are the same. What comes before the last of
    # these acknowledges frames that were never sent, which is not believed.
    for first, count in ((0, 8), (5, 3), (5, 3)):
        host.packets.clear()
        host.line.extend(ref.frame(ref.RESEND, 0, first, first + 8))
        await host.wait(12000 if first == 0 else 5000)
        seen = [packet.seq for packet in host.packets if packet.kind == ref.RESULT]
        assert seen[:count] == list(range(first, first + count))
        host.line.extend(ref.frame(ref.POLL, 0, 200, 200 + WINDOW))
        await host.wait(6000)
    counters = await host.counters()
    assert counters["flags"] == 64, "results found no room"
    assert counters["stall_out"] > 0
    host.acked = 15
    host.send(ref.POLL)
    assert await host.exchange(b"", 3600) == answer
    save(done=True)


@cocotb.test()
async def storm(dut: Any) -> None:
    """Frames of different lengths are asked for again at every moment: what comes is always a whole frame of before."""
    host = await begin(dut, "storm")
    rng = host.rng
    base, data = 0, b""
    for _ in range(2):
        # Eight frames, each closed before the next word is there.
        for size in rng.sample(range(1, 12), 8):
            part = stream(host, 3 * size)
            data += part
            host.line.extend(ref.frame(ref.DATA, host.sent, base, base + WINDOW, part))
            host.sent += 1
            await host.wait(1500)
        await host.wait(1500)
        assert host.ack == base + 8
        # Backwards only asks for frames again, forwards acknowledges; the host compares what comes with what came.
        for first in sorted(rng.choices(range(9), k=300)):
            host.line.extend(ref.frame(rng.choice([ref.RESEND, ref.POLL]), 0, base + first, base + first + WINDOW))
            await host.wait(rng.randrange(50, 300))
        base += 8
        host.line.extend(ref.frame(ref.POLL, 0, base, base + WINDOW))
        await host.wait(1500)
        assert (host.ack, bytes(host.results)) == (base, loopback(data))
    save(done=True)


@cocotb.test()
async def exchange(dut: Any) -> None:
    """Streams through the core at every pace, with more than 256 frames each way."""
    host = await begin(dut, "exchange")
    for tag, (size, most, idle, stall) in enumerate(
        ((6000, 240, 0.0, 0.0), (1500, 60, 0.5, 0.5), (750, 2, 0.95, 0.0), (2100, 240, 0.0, 0.8))
    ):
        host.idle, host.stall = idle, stall
        data = stream(host, size)
        assert await host.exchange(data, size, most=most) == loopback(data)
        counters = await host.counters()
        assert counters["flags"] & ~64 == 0
        assert counters["frames_bad"] == 0
        for name in ("words_in", "words_out", "items_in", "items_out"):
            assert counters[name] == size // 3
        await host.write(tag, ref.CONTROL, ref.CLEAR)
    assert host.sent > 300
    assert host.ack > 256
    save(frames=[host.sent, host.ack])


@cocotb.test()
async def noise(dut: Any) -> None:
    """Bytes flipped, lost and doubled on their way to the board, frames of the board not received."""
    host = await begin(dut, "noise")
    rng = host.rng

    def harm(data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            chance = rng.random()
            if chance < 0.001:
                byte ^= 1 << rng.randrange(8)
            if chance >= 0.002:
                out.append(byte)
            if chance > 0.999:
                out.append(byte)
        return bytes(out)

    host.harm, host.deaf = harm, 0.05
    data = stream(host, 15_000)
    assert await host.exchange(data, len(data)) == loopback(data)
    host.harm, host.deaf = lambda data: data, 0.0
    counters = await host.counters()
    assert counters["frames_bad"] > 3
    assert counters["flags"] & 12 == 12
    assert counters["words_in"] == counters["words_out"] == len(data) // 3
    save(bad=counters["frames_bad"])


@cocotb.test()
async def full(dut: Any) -> None:
    """Held words fill the FIFOs until there is no credit; a frame too many is dropped and told, and nothing is lost."""
    host = await begin(dut, "full")
    await host.write(1, ref.CONTROL, ref.HOLD)
    data = stream(host, 6000)
    parts = [data[i : i + 240] for i in range(0, len(data), 240)]
    host.send(ref.POLL)
    await host.answer(ref.STATE)
    while host.sent < host.limit:
        host.send(ref.DATA, host.sent, parts[host.sent])
        host.sent += 1
        while host.line:
            await RisingEdge(dut.clk)
        await host.wait(600)
    assert host.acked == host.sent
    assert host.sent * 240 > 4096 + 768 - 512, "the credit uses the memory"
    assert (await host.counters())["flags"] == 0
    # Frames without credit: bytes that fit in spite of it are taken one way or the other, the flag comes at last.
    host.send(ref.DATA, host.sent, parts[host.sent])
    packet = await host.answer(ref.NAK)
    assert packet.ack == packet.limit == host.sent
    counters = await host.counters()
    assert counters["flags"] == 16
    assert (counters["words_in"], counters["words_out"], counters["cycles"]) == (0, 0, 0)
    await host.write(2, ref.CONTROL, 0)
    host.back = False
    rest = b"".join(parts[host.sent :])
    assert await host.exchange(rest, len(data)) == loopback(data)
    assert (await host.counters())["words_out"] == len(data) // 3
    save(frames=host.sent)


@cocotb.test()
async def restart(dut: Any) -> None:
    """A reset by the host in the middle of everything; what came before leaves no trace."""
    host = await begin(dut, "restart", stall=0.2)
    for tag in range(12):
        rng = host.rng
        held = tag % 3 == 1
        # Half a word, half an item, full FIFOs, frames out that nobody acknowledged, half a frame on the line.
        host.send(ref.POLL)
        for seq in range(rng.randrange(1, 9)):
            host.send(ref.DATA, seq, rng.randbytes(rng.randrange(1, 241)))
            host.sent += 1
        cut = ref.frame(ref.DATA, host.sent, 0, WINDOW, rng.randbytes(200))
        host.line.extend(cut[: rng.randrange(1, len(cut))])
        await host.wait(rng.randrange(1, 6000))
        while host.line:
            await RisingEdge(dut.clk)
        host.line.extend(b"\0\0")
        await host.write(tag, ref.CONTROL, ref.RESET | (ref.HOLD if held else 0))
        await host.silence(40)
        host.send(ref.POLL)
        state = await host.answer(ref.STATE)
        assert (state.seq, state.ack, state.limit) == (0, 0, 16)
        counters = await host.counters()
        assert counters["control"] == (ref.HOLD if held else 0)
        assert counters["last_tag"] == 256 + tag
        assert all(counters[name] == 0 for name in ("flags", "words_in", "words_out", "frames_bad", "line"))
        await host.write(100 + tag, ref.CONTROL, 0)
        data = stream(host, 6 * rng.randrange(1, 200))
        model = pacing if os.environ["GATEWARP_CORE"] == "pacing" else loopback
        answer = model(data)
        assert await host.exchange(data, len(answer)) == answer
    save(done=True)


@cocotb.test()
async def counted(dut: Any) -> None:
    """The counters equal what is seen at the core's pins."""
    host = await begin(dut, "counted")
    words_in, words_out = (int(n) for n in vectors()["items"])
    pins: list[tuple[int, int, int, int]] = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            pins.append(tuple(int(s.value) for s in (dut.in_valid, dut.in_ready, dut.out_valid, dut.out_ready)))  # type: ignore[arg-type]

    await host.write(1, ref.CONTROL, ref.RESET)
    watching = cocotb.start_soon(watch())
    model = pacing if os.environ["GATEWARP_CORE"] == "pacing" else loopback
    for tag, held in ((2, False), (3, True), (5, True)):
        await host.write(tag, ref.CONTROL, ref.CLEAR | (ref.HOLD if held else 0))
        pins.clear()
        count = host.rng.randrange(20, 60)
        data = stream(host, 6 * count)
        answer = model(data)
        if held:
            at = 0
            while at < len(data):
                host.send(ref.DATA, host.sent, data[at : at + 240])
                host.sent += 1
                at += 240
            while host.line or host.acked < host.sent:
                await RisingEdge(dut.clk)
            await host.wait(2000)
            assert not any(pin[0] for pin in pins), "held words stay"
            await host.write(100 + tag, ref.CONTROL, 0)
            got = await host.exchange(b"", len(answer))
        else:
            got = await host.exchange(data, len(answer), most=7)
        assert got == answer
        counters = await host.counters()
        entered = [t for t, pin in enumerate(pins) if pin[0] and pin[1]]
        left = [t for t, pin in enumerate(pins) if pin[2] and pin[3]]
        begins, ends = entered[::words_in], left[words_out - 1 :: words_out]
        latencies = [end - first for first, end in zip(begins, ends, strict=True)]
        seen = {
            "words_in": len(entered),
            "words_out": len(left),
            "items_in": len(entered) // words_in,
            "items_out": len(ends),
            "cycles": left[-1] - entered[0],
            "steady": ends[-1] - ends[0],
            "latency_min": min(latencies),
            "latency_max": max(latencies),
            "latency_sum": sum(latencies),
            "stall_in": sum(1 for pin in pins if pin[0] and not pin[1]),
            "stall_out": sum(1 for pin in pins if pin[2] and not pin[3]),
        }
        assert {name: counters[name] for name in seen} == seen
        if held and model is loopback:
            assert counters["steady"] == len(ends) - 1, "from a full FIFO the core runs a word a cycle"
    watching.cancel()
    save(done=True)
