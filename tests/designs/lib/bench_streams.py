"""cocotb tests of the stream modules, one a module, named after the top that they are for."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from designs.flow.bench import generator, save, start, stream

BYTES = int(os.environ["GATEWARP_BYTES"])
#: (idle, stall) probabilities: full rate, each side slow, both slow, a sink that nearly never takes.
RHYTHMS = ((0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.3, 0.3), (0.05, 0.9))


async def fill(dut: Any, limit: int) -> int:
    """Offer words while the sink takes none; return how many go in. The words are then drained."""
    dut.m_axis_tready.value = 0
    dut.s_axis_tvalid.value = 1
    taken = 0
    for _ in range(limit):
        await RisingEdge(dut.clk)
        taken += int(dut.s_axis_tready.value)
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 1
    for _ in range(limit):
        await RisingEdge(dut.clk)
    return taken


async def words_through(dut: Any, expected: Callable[[int], int], bits: int) -> None:
    await start(dut)
    rng = generator("words")
    full_rate: Any = None
    for number, (idle, stall) in enumerate(RHYTHMS):
        words = [rng.getrandbits(bits) for _ in range(400)] + [0, 2**bits - 1]
        lasts = [rng.getrandbits(1) for _ in words]
        trace = await stream(dut, words, lasts=lasts, idle=idle, stall=stall, seed=str(number))
        assert trace.words == [expected(word) for word in words]
        assert trace.lasts == lasts
        full_rate = full_rate or trace
    capacity = await fill(dut, 100)
    trace = await stream(dut, [1, 2, 3])
    assert trace.words == [expected(word) for word in (1, 2, 3)], "empty again after the drain"
    save(
        latency=full_rate.out_cycles - full_rate.in_cycles,
        interval=np.diff(full_rate.out_cycles),
        capacity=capacity,
    )


@cocotb.test()
async def stream_fifo(dut: Any) -> None:
    await words_through(dut, lambda word: word, len(dut.s_axis_tdata))


@cocotb.test()
async def credit_dut(dut: Any) -> None:
    mask = 2 ** len(dut.s_axis_tdata) - 1
    await words_through(dut, lambda word: (word + 1) & mask, len(dut.s_axis_tdata))


@cocotb.test()
async def stream_pack(dut: Any) -> None:
    await start(dut)
    rng = generator("bytes")
    interval: Any = None
    for number, (idle, stall) in enumerate(RHYTHMS):
        data, lasts, words, word_lasts = [], [], [], []
        for _ in range(150):
            # Now and then a packet ends early: the word is filled up with zeros.
            length = rng.randint(1, BYTES) if number and rng.random() < 0.2 else BYTES
            chunk = [rng.randrange(256) for _ in range(length)]
            last = length < BYTES or rng.random() < 0.3
            data += chunk
            lasts += [0] * (length - 1) + [int(last)]
            words.append(int.from_bytes(bytes(chunk), "little"))
            word_lasts.append(int(last))
        trace = await stream(dut, data, lasts=lasts, expect=len(words), idle=idle, stall=stall, seed=str(number))
        assert trace.words == words
        assert trace.lasts == word_lasts
        interval = np.diff(trace.out_cycles) if interval is None else interval
    save(interval=interval)


@cocotb.test()
async def stream_unpack(dut: Any) -> None:
    await start(dut)
    rng = generator("words")
    interval: Any = None
    for number, (idle, stall) in enumerate(RHYTHMS):
        words = [rng.getrandbits(8 * BYTES) for _ in range(150)]
        lasts = [rng.getrandbits(1) for _ in words]
        data = b"".join(word.to_bytes(BYTES, "little") for word in words)
        ends = [bit for last in lasts for bit in [0] * (BYTES - 1) + [last]]
        trace = await stream(dut, words, lasts=lasts, expect=len(data), idle=idle, stall=stall, seed=str(number))
        assert bytes(trace.words) == data
        assert trace.lasts == ends
        interval = np.diff(trace.out_cycles) if interval is None else interval
    save(interval=interval)
