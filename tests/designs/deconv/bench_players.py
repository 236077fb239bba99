"""cocotb test of the wrapper of `players`: a row of inputs each cycle, all outputs of each cycle."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from designs.flow.bench import save, start, vectors


@cocotb.test()
async def play(dut: Any) -> None:
    rows = vectors()["rows"]
    dut.data.value = 0
    await start(dut)
    size = (len(dut.seen) + 7) // 8
    seen = []
    for row in rows:
        dut.data.value = int.from_bytes(row.tobytes(), "little")
        await RisingEdge(dut.clk)
        seen.append(int(dut.seen.value).to_bytes(size, "little"))
    save(seen=np.frombuffer(b"".join(seen), np.uint8).reshape(len(rows), size))
