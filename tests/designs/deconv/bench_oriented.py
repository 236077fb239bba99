"""cocotb test of oriented_dut: runs one after another, each with its registers; all that is written, and the issues."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from designs.flow.bench import save, start, vectors

TIMEOUT = 60_000


@cocotb.test()
async def runs(dut: Any) -> None:
    given = vectors()
    names = [str(name) for name in given["names"]]
    lanes, bits = len(dut.write_enable), len(dut.write_data) // len(dut.write_enable)
    address_bits = len(dut.write_address) // lanes
    dut.start.value = 0
    for name in names:
        getattr(dut, name).value = 0
    await start(dut)
    while not dut.ready.value:
        await RisingEdge(dut.clk)
    writes: list[tuple[int, ...]] = []  # run, bank, address, part
    words: list[int] = []
    issues: list[tuple[int, ...]] = []  # run, group, fold, present, kept
    cycles: list[tuple[int, ...]] = []  # run: cycles, issues, those stalled for weights, for the drain
    for run, row in enumerate(given["registers"]):
        for name, value in zip(names, row, strict=True):
            getattr(dut, name).value = int(value)
        dut.start.value = 1
        await RisingEdge(dut.clk)
        dut.start.value = 0
        await RisingEdge(dut.clk)
        group = count = issued = weights = drain = 0
        while True:
            await RisingEdge(dut.clk)
            count += 1
            assert count < TIMEOUT, f"run {run} does not end"
            weights += int(dut.stall_weights.value)
            drain += int(dut.stall_drain.value)
            if dut.issue_valid.value:
                issued += 1
                counts = (int(dut.issue_fold.value), int(dut.issue_present.value), int(dut.issue_kept.value))
                issues.append((run, group, *counts))
                group += int(dut.group_done.value)
            enabled = int(dut.write_enable.value)
            if enabled:
                addresses, data = int(dut.write_address.value), int(dut.write_data.value)
                for bank in range(lanes):
                    if enabled >> bank & 1:
                        address = addresses >> (bank * address_bits) & ((1 << address_bits) - 1)
                        writes.append((run, bank, address, int(dut.write_part.value)))
                        words.append(data >> (bank * bits) & ((1 << bits) - 1))
            if not dut.busy.value:
                break
        cycles.append((count, issued, weights, drain))
    size = (bits + 7) // 8
    data = b"".join(word.to_bytes(size, "little") for word in words)
    save(
        writes=np.array(writes),
        words=np.frombuffer(data, np.uint8).reshape(len(words), size),
        issues=np.array(issues),
        cycles=np.array(cycles),
    )
