"""cocotb tests of the byte port behind AXI4-Lite: its registers, and random traffic against a queue each way."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from designs.flow.bench import generator, start

IDENT, STATUS, BYTE, WORD, FLAGS = range(0x10, 0x24, 4)
DEPTH = int(os.environ["GATEWARP_DEPTH"])
READ_MOST = 8  # cycles in which an access must be answered


async def bring_up(dut: Any) -> AxiLiteMaster:
    for name in ("s_axis_tvalid", "s_axi_awvalid", "s_axi_wvalid", "s_axi_arvalid"):
        getattr(dut, name).value = 0
    await start(dut)  # registers start with random values: nobody may look before the reset
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
    await ClockCycles(dut.clk, 2)
    return master


async def put(dut: Any, data: bytes) -> None:
    """Offer bytes on the stream in, back to back."""
    for byte in data:
        dut.s_axis_tvalid.value = 1
        dut.s_axis_tdata.value = byte
        await RisingEdge(dut.clk)
        while dut.s_axis_tready.value != 1:
            await RisingEdge(dut.clk)
    dut.s_axis_tvalid.value = 0


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def registers(dut: Any) -> None:
    master = await bring_up(dut)
    read, write = master.read_dword, master.write_dword
    assert (await read(IDENT)).to_bytes(4, "big") == b"BYTE"
    assert await read(STATUS) == DEPTH << 16
    assert await read(FLAGS) == 0

    # Out: with nobody taking, exactly DEPTH bytes find room, the next one is lost and says so.
    dut.m_axis_tready.value = 0
    await write(WORD, 0x44332211)
    await write(BYTE, 0xAA55)
    assert await read(STATUS) == DEPTH - 5 << 16
    for value in range(5, DEPTH):
        await write(BYTE, value)
    assert (await read(STATUS), await read(FLAGS)) == (0, 0)
    await write(BYTE, 0xEE)
    assert await read(FLAGS) == 1
    sent = []
    dut.m_axis_tready.value = 1
    for _ in range(DEPTH + 4):
        await RisingEdge(dut.clk)
        if dut.m_axis_tvalid.value == 1:
            sent.append(int(dut.m_axis_tdata.value))
    assert sent == [0x11, 0x22, 0x33, 0x44, 0x55, *(value & 0xFF for value in range(5, DEPTH))]
    assert await read(STATUS) == DEPTH << 16
    await write(FLAGS, 0)
    assert await read(FLAGS) == 0

    # In: words and bytes, then one more than there is.
    await put(dut, bytes([1, 2, 3, 4, 5, 6]))
    assert await read(STATUS) == DEPTH << 16 | 6
    assert await read(WORD) == 0x04030201
    assert await read(BYTE) == 5
    assert await read(FLAGS) == 0
    assert await read(WORD) == 6
    assert await read(FLAGS) == 2
    assert await read(STATUS) == DEPTH << 16

    # Other addresses read zero and do nothing.
    await put(dut, bytes([7]))
    await write(IDENT, 1)
    await write(STATUS, 1)
    for address in (0x00, 0x08, 0x0C, 0x24, 0x118, 0x81C):
        await write(address, 0x01010101)
        assert await read(address) == 0
    assert await read(STATUS) == DEPTH << 16 | 1
    assert await read(BYTE) == 7


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def both_ways(dut: Any) -> None:
    """Random accesses with pauses on every channel; what the registers promise is what happens."""
    rng = generator("axil_bytes")
    master = await bring_up(dut)

    def pauses(share: float) -> Any:
        while True:
            yield rng.random() < share

    for channel in (master.write_if.aw_channel, master.write_if.w_channel, master.write_if.b_channel,
                    master.read_if.ar_channel, master.read_if.r_channel):  # fmt: skip
        channel.set_pause_generator(pauses(rng.choice([0.0, 0.3, 0.7])))
    written, left = deque[int](), []
    to_put, expected = deque(rng.randrange(256) for _ in range(600)), deque[int]()

    async def sink() -> None:
        while True:
            dut.m_axis_tready.value = int(rng.random() < 0.4)
            await RisingEdge(dut.clk)
            if dut.m_axis_tvalid.value == 1 and dut.m_axis_tready.value == 1:
                left.append(int(dut.m_axis_tdata.value))

    async def source() -> None:
        while to_put:
            dut.s_axis_tvalid.value = 0
            await ClockCycles(dut.clk, rng.choice([1, 1, 1, 5, 20]))
            byte = to_put.popleft()
            expected.append(byte)  # before it is there, so never late
            await put(dut, bytes([byte]))

    answered = 0

    async def watch() -> None:
        nonlocal answered
        waited = 0
        while True:
            await RisingEdge(dut.clk)
            waited = waited + 1 if dut.s_axi_arready.value == 0 and dut.s_axi_rvalid.value == 0 else 0
            answered = max(answered, waited)

    for task in (sink, source, watch):
        cocotb.start_soon(task())
    got: list[int] = []
    for _ in range(400):
        status = await master.read_dword(STATUS)
        there, room = status & 0xFFFF, status >> 16
        assert there <= DEPTH + 1
        assert room <= DEPTH
        if room >= 4 and rng.random() < 0.4:
            word = rng.getrandbits(32)
            written.extend(word.to_bytes(4, "little"))
            await master.write_dword(WORD, word)
        elif room and rng.random() < 0.4:
            byte = rng.randrange(256)
            written.append(byte)
            await master.write_dword(BYTE, byte)
        if there >= 4 and rng.random() < 0.6:
            got.extend((await master.read_dword(WORD)).to_bytes(4, "little"))
        elif there:
            got.append(await master.read_dword(BYTE))
    while (status := await master.read_dword(STATUS)) & 0xFFFF or to_put:
        if status & 0xFFFF:
            got.append(await master.read_dword(BYTE))
    await ClockCycles(dut.clk, 40 * DEPTH)
    while await master.read_dword(STATUS) & 0xFFFF:
        got.append(await master.read_dword(BYTE))
    assert left == list(written)
    assert got == list(expected)
    assert len(left) > 200
    assert await master.read_dword(FLAGS) == 0
    assert 1 <= answered <= READ_MOST, answered
