"""What cocotb test modules share: vectors in, arrays out, and one driver and monitor for AXI streams.

    @cocotb.test()
    async def run(dut):
        await start(dut)
        trace = await stream(dut, vectors()["words"], idle=0.3, stall=0.3)
        save(words=trace.words, out_cycles=trace.out_cycles)

Imported inside the simulator only. A word is a Python integer of any width; 0 <= word < 2**width.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import First, RisingEdge, Timer, ValueChange
from cocotb.utils import get_sim_time

CLOCK_NS = 10


def vectors() -> dict[str, np.ndarray]:
    """The arrays that were given to `simulate(vectors=...)`."""
    return dict(np.load(os.environ["GATEWARP_VECTORS"]))


def save(**arrays: Any) -> None:
    """Hand arrays back: they appear in `SimulationResult.payload`. Call it once a simulation."""
    np.savez(os.environ["GATEWARP_PAYLOAD"], **arrays)


def generator(name: str = "") -> random.Random:
    """A random generator of the simulation's seed (and a name, to have several); the seed is printed to the log."""
    seed = os.environ["COCOTB_RANDOM_SEED"]
    cocotb.log.info("seed %s %s", seed, name)
    return random.Random(f"{seed} {name}")


async def start(dut: Any, cycles: int = 4) -> None:
    """Start the clock, drive the stream inputs idle, and hold `rst` for some cycles."""
    for name, value in (("s_axis_tvalid", 0), ("s_axis_tlast", 0), ("m_axis_tready", 0)):
        if hasattr(dut, name):
            getattr(dut, name).value = value
    dut.rst.value = 1
    cocotb.start_soon(Clock(dut.clk, CLOCK_NS, "ns").start())
    for _ in range(cycles):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


@dataclass(frozen=True)
class StreamTrace:
    """What was seen at the pins. Cycles count rising clock edges from the start of `stream`.

    `in_cycles[i]` is the edge at which input word i was taken, `out_cycles[i]` the edge at which output word i was;
    the latency of a word is out - in (a single register gives 1), with the sink always ready.
    """

    words: list[int]
    lasts: list[int]
    in_cycles: np.ndarray
    out_cycles: np.ndarray


async def stream(
    dut: Any,
    words: Sequence[int],
    *,
    lasts: Sequence[int] | None = None,
    expect: int | None = None,
    idle: float = 0.0,
    stall: float = 0.0,
    seed: str = "",
    timeout: int = 2000,
) -> StreamTrace:
    """Send `words` into s_axis and collect `expect` words (default: as many) from m_axis; tlast where there is one.

    `idle` and `stall` are the probabilities, per cycle, that the source offers nothing and that the sink is not ready.
    The rules of AXI-Stream are checked: a word that is offered stays, unchanged, until it is taken. Errors:
    AssertionError when they are broken or when nothing moves for `timeout` cycles.
    """
    rng = generator(f"stream {seed}")
    count = len(words) if expect is None else expect
    lasts = lasts if lasts is not None else [0] * len(words)
    s_valid, s_ready, s_data = dut.s_axis_tvalid, dut.s_axis_tready, dut.s_axis_tdata
    m_valid, m_ready, m_data = dut.m_axis_tvalid, dut.m_axis_tready, dut.m_axis_tdata
    s_last, m_last = (getattr(dut, f"{side}_axis_tlast", None) for side in "sm")
    edge = RisingEdge(dut.clk)
    out_words: list[int] = []
    out_lasts: list[int] = []
    in_cycles: list[int] = []
    out_cycles: list[int] = []
    cycle = moved = 0
    offered = accepting = False
    waiting: tuple[int, int] | None = None
    await edge
    began = get_sim_time("ns")
    while True:
        # Here signals still have the values that the registers see at this edge; writes take effect after it.
        asleep = True
        if offered and s_ready.value == 1:
            in_cycles.append(cycle)
            offered, moved, asleep = False, cycle, False
        if m_valid.value == 1:
            asleep = False
            word = (int(m_data.value), 0 if m_last is None else int(m_last.value))
            assert waiting is None or word == waiting, f"offered word changed from {waiting} to {word} at {cycle}"
            waiting = None if accepting else word
            if accepting:
                assert len(out_words) < count, f"more than {count} words came out"
                out_words.append(word[0])
                out_lasts.append(word[1])
                out_cycles.append(cycle)
                moved = cycle
        else:
            assert waiting is None, f"tvalid fell at cycle {cycle} before the word was taken"
        if len(in_cycles) == len(words) and len(out_words) == count:
            break
        assert cycle - moved < timeout, (
            f"nothing moved for {timeout} cycles: {len(in_cycles)} of {len(words)} in, {len(out_words)} of {count} out"
        )
        if not offered and len(in_cycles) < len(words):
            asleep = False
            if idle == 0.0 or rng.random() >= idle:
                s_data.value = int(words[len(in_cycles)])
                if s_last is not None:
                    s_last.value = int(lasts[len(in_cycles)])
                offered = True
        s_valid.value = int(offered)
        accepting = stall == 0.0 or rng.random() >= stall
        m_ready.value = int(accepting)
        if asleep:
            # Until one of these changes the coming edges show nothing new; a core that folds is mostly so.
            await First(ValueChange(s_ready), ValueChange(m_valid), Timer(timeout * CLOCK_NS, "ns"))
        await edge
        cycle = round((get_sim_time("ns") - began) / CLOCK_NS)
    s_valid.value = 0
    m_ready.value = 0
    return StreamTrace(out_words, out_lasts, np.array(in_cycles), np.array(out_cycles))
