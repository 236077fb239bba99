"""cocotb test of the wrapper that `many_streams` writes: words through all modules at the same time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from designs.flow.bench import save, start, stream, vectors


class Nothing:
    """A `tlast` of a module that has none."""

    value = 0


def pins(dut: Any, number: int) -> SimpleNamespace:
    """Signals of one module under the names that `stream` uses."""
    names = [f"{s}_axis_{x}" for s in "sm" for x in ("tvalid", "tready", "tdata")]
    signals = {name: getattr(dut, f"d{number}_{name}") for name in names}
    return SimpleNamespace(clk=dut.clk, s_axis_tlast=Nothing(), m_axis_tlast=Nothing(), **signals)


@cocotb.test()
async def many(dut: Any) -> None:
    given = vectors()
    count = sum(name.startswith("sent") for name in given)
    duts = [pins(dut, i) for i in range(count)]
    for one in duts:
        one.s_axis_tvalid.value = 0
        one.m_axis_tready.value = 0
    await start(dut)
    for _ in range(4):
        await RisingEdge(dut.clk)
    sent = [[int.from_bytes(row.tobytes(), "little") for row in given[f"sent{i}"]] for i in range(count)]
    payload: dict[str, Any] = {}
    for r, (idle, stall) in enumerate(given["rhythms"]):
        tasks = [
            cocotb.start_soon(
                stream(one, words, expect=int(given[f"expect{i}"][0]), idle=idle, stall=stall, seed=f"{r} {i}")
            )
            for i, (one, words) in enumerate(zip(duts, sent, strict=True))
        ]
        for i, task in enumerate(tasks):
            trace = await task
            size = (int(given[f"expect{i}"][1]) + 7) // 8
            data = b"".join(word.to_bytes(size, "little") for word in trace.words)
            payload[f"words{i}_{r}"] = np.frombuffer(data, np.uint8).reshape(len(trace.words), size)
            payload[f"in{i}_{r}"], payload[f"out{i}_{r}"] = trace.in_cycles, trace.out_cycles
    save(**payload)
