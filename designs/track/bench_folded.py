"""cocotb tests of the folded `track_core`: at full rate, and with a source and a sink that pause at random."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from designs.flow.bench import generator, save, start, stream, vectors

#: Hits that are sent each after the one before is out.
ALONE = 16
#: Chance, each cycle, that the source offers nothing and that the sink takes nothing. Rare enough to reach the slowest
#: folds: a core that takes hundreds of cycles a hit does not notice a pause of three.
IDLE, STALL = 0.9, 0.9


@cocotb.test()
async def folded(dut: Any) -> None:
    """Send all words without and with pauses, then some one by one; the caller compares the words with the oracle.

    tlast of a hit is random and has to come out with it. Words are rows of bytes, lowest first.
    """
    given = vectors()
    words = [int.from_bytes(row.tobytes(), "little") for row in given["words"]]
    size = int(given["out_bytes"])
    rng = generator("last")
    lasts = [int(rng.random() < 0.5) for _ in words]
    await start(dut)
    patience = int(given["patience"])
    free = await stream(dut, words, lasts=lasts, seed="free", timeout=patience)
    paused = await stream(dut, words, lasts=lasts, idle=IDLE, stall=STALL, seed="paused", timeout=patience)
    alone = [await stream(dut, [word], timeout=patience) for word in words[:ALONE]]
    assert [trace.words[0] for trace in alone] == free.words[:ALONE]
    for trace in (free, paused):
        assert trace.lasts == lasts, "tlast did not come out with its hit"

    def rows(found: list[int]) -> np.ndarray:
        return np.frombuffer(b"".join(word.to_bytes(size, "little") for word in found), np.uint8).reshape(-1, size)

    save(
        free_words=rows(free.words),
        free_in=free.in_cycles,
        free_out=free.out_cycles,
        paused_words=rows(paused.words),
        paused_out=paused.out_cycles,
        alone=np.concatenate([trace.out_cycles - trace.in_cycles for trace in alone]),
    )
