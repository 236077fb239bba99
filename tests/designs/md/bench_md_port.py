"""cocotb test of a core behind words of a byte."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from designs.flow.bench import save, start, stream, vectors


@cocotb.test()
async def port(dut: Any) -> None:
    given = vectors()
    await start(dut)
    words = [int(word) for word in given["words"]]
    trace = await stream(dut, words, expect=int(given["expect"][0]), idle=0.1, stall=0.1, timeout=30_000)
    save(words=np.array(trace.words, np.uint8))
