"""cocotb test of the engine: commands, activations and weights go in as streams, activations come out."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from designs.flow.bench import generator, save, start, vectors

COUNTERS = ("busy", "issues", "stalled_weights", "stalled_drain", "useful", "kept", "loaded", "stored", "weighed")


@cocotb.test()
async def engine(dut: Any) -> None:
    given = vectors()
    idle, stall = (float(x) for x in given["pace"])
    expect, timeout = (int(x) for x in given["limits"])
    rng = generator("engine")
    sources = []
    for name in ("cmd", "axis", "weight"):
        words = [int.from_bytes(row.tobytes(), "little") for row in given[name]]
        lasts = given["weight_last"].tolist() if name == "weight" else [0] * len(words)
        prefix = {"cmd": "s_cmd", "axis": "s_axis", "weight": "s_weight"}[name]
        pins = [getattr(dut, f"{prefix}_{pin}") for pin in ("tvalid", "tready", "tdata")]
        pins[0].value = 0
        sources.append([pins, words, lasts, 0, False, name])
    dut.s_weight_tlast.value = 0
    await start(dut)
    beats: list[int] = []
    marks: list[int] = []
    cycles: list[int] = []
    cycle = moved = 0
    accepting = False
    edge = RisingEdge(dut.clk)
    while len(beats) < expect and cycle - moved < timeout:
        await edge
        cycle += 1
        if accepting and dut.m_axis_tvalid.value == 1:
            beats.append(int(dut.m_axis_tdata.value))
            marks.append(int(dut.m_axis_tlast.value))
            cycles.append(cycle)
            moved = cycle
        accepting = stall == 0 or rng.random() >= stall
        dut.m_axis_tready.value = int(accepting)
        for source in sources:
            (valid, ready, data), words, lasts, position, offered, name = source
            if offered and ready.value == 1:
                position, offered, moved = position + 1, False, cycle
            if not offered and position < len(words) and (idle == 0 or rng.random() >= idle):
                data.value = words[position]
                if name == "weight":
                    dut.s_weight_tlast.value = int(lasts[position])
                offered = True
            valid.value = int(offered)
            source[3], source[4] = position, offered
    size = len(dut.m_axis_tdata) // 8
    left = [len(words) - position for _, words, _, position, _, _ in sources]
    save(
        beats=np.frombuffer(b"".join(beat.to_bytes(size, "little") for beat in beats), np.uint8).reshape(-1, size),
        marks=np.array(marks),
        cycles=np.array(cycles),
        left=np.array(left),
        counts=np.array([int(getattr(dut, f"count_{name}").value) for name in COUNTERS], np.int64),
    )
    assert len(beats) == expect, f"{len(beats)} of {expect} beats; commands, inputs, weights left: {left}"
