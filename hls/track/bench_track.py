"""cocotb tests of `track_core`: at full rate, and with a source and a sink that pause at random."""

from __future__ import annotations

from typing import Any

import cocotb

from designs.flow.bench import save, start, stream, vectors

#: Chance, each cycle, that the source offers nothing and that the sink takes nothing.
IDLE, STALL = 0.25, 0.25


@cocotb.test()
async def track(dut: Any) -> None:
    """Send all words twice, without and with pauses; the caller compares the words with the oracle."""
    words = [int(w) for w in vectors()["words"]]
    await start(dut)
    free = await stream(dut, words, seed="free")
    paused = await stream(dut, words, idle=IDLE, stall=STALL, seed="paused")
    save(
        free_words=free.words,
        free_in=free.in_cycles,
        free_out=free.out_cycles,
        paused_words=paused.words,
        paused_out=paused.out_cycles,
    )
