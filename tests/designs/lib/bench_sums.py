"""cocotb test of the wrapper of test_lib_sums: a new word each cycle, all outputs of each cycle."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from designs.flow.bench import save, start, vectors


@cocotb.test()
async def sums(dut: Any) -> None:
    words = [int.from_bytes(row.tobytes(), "little") for row in vectors()["words"]]
    dut.data.value = 0
    await start(dut)
    seen = []
    size = (len(dut.sums) + 7) // 8
    for word in words:
        dut.data.value = word
        await RisingEdge(dut.clk)
        seen.append(int(dut.sums.value).to_bytes(size, "little"))
    save(seen=np.frombuffer(b"".join(seen), np.uint8).reshape(len(words), size))
