"""cocotb bench of md_worker: loads particles, runs units as the engine does, and collects all sums."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from designs.flow.bench import generator, save, start, vectors

SUM_LATENCY = 3


def signed(word: int, bits: int) -> list[int]:
    """Three signed numbers, the lowest first."""
    parts = (word >> bits * i & (1 << bits) - 1 for i in range(3))
    return [part - (part >> bits - 1 << bits) for part in parts]


class Worker:
    """The worker's ports, and what was seen at them."""

    def __init__(self, dut: Any, given: dict[str, np.ndarray]) -> None:
        self.dut = dut
        self.given = given
        self.edge = RisingEdge(dut.clk)
        self.bits = int(given["sums"])
        self.close = 0
        self.rng = generator("worker")
        for name in ("pos_write", "count_write", "unit_valid", "home_ready", "sum_read", "clear"):
            getattr(dut, name).value = 0

    async def load(self) -> None:
        """Counts and positions."""
        dut, given = self.dut, self.given
        dut.count_write.value = 1
        for number, count in enumerate(given["counts"]):
            dut.count_cell.value = number
            dut.count_value.value = int(count)
            await self.edge
        dut.count_write.value = 0
        dut.pos_write.value = 1
        p = int(given["position"])
        # Empty slots hold particles too, as those that have left.
        words = [self.rng.getrandbits(3 * p + 1) for _ in range(int(given["words"]))]
        for place, kind, address in zip(given["places"], given["kinds"], given["addresses"], strict=True):
            x, y, z = (int(value) for value in place)
            words[int(address)] = x | y << p | z << 2 * p | int(kind) << 3 * p
        for address, word in enumerate(words):
            dut.pos_address.value, dut.pos_data.value = address, word
            await self.edge
        dut.pos_write.value = 0

    async def sums(self, addresses: list[int]) -> list[list[int]]:
        """Read the sums of these places, one a cycle."""
        dut = self.dut
        found = []
        for cycle in range(len(addresses) + SUM_LATENCY + 1):
            if cycle > SUM_LATENCY:
                word = dut.sum_force.value
                found.append(signed(int(word), self.bits) if word.is_resolvable else [])
            dut.sum_read.value = int(cycle < len(addresses))
            dut.sum_address.value = addresses[cycle] if cycle < len(addresses) else 0
            await self.edge
        return found

    async def phase(self) -> tuple[dict[int, list[int]], int]:
        """All units: home sums by address, and cycles until idle."""
        dut, given, rng = self.dut, self.given, self.rng
        units = given["units"].tolist()
        nx, ny, _ = given["cells"].tolist()
        stall, pause = float(given["home_stall"]), float(given["unit_idle"])
        found: dict[int, list[int]] = {}
        number = cycles = 0
        offered = ready = False
        waiting: tuple[int, int] | None = None
        while True:
            if not offered and number < len(units) and not (pause and rng.random() < pause):
                cell, first, count = units[number]
                dut.unit_cell.value = cell
                dut.unit_x.value = cell % nx
                dut.unit_y.value = cell // nx % ny
                dut.unit_z.value = cell // (nx * ny)
                dut.unit_first.value = first
                dut.unit_count.value = count
                offered = True
            dut.unit_valid.value = int(offered)
            ready = not (stall and rng.random() < stall)
            dut.home_ready.value = int(ready)
            await self.edge
            cycles += 1
            self.close += int(dut.close.value)
            if dut.home_valid.value == 1:
                word = int(dut.home_address.value), int(dut.home_force.value)
                assert waiting is None or word == waiting, "a home sum changed while it waited"
                waiting = None if ready else word
                if ready:
                    assert word[0] not in found, f"address {word[0]} came twice"
                    found[word[0]] = signed(word[1], self.bits)
            else:
                assert waiting is None, "a home sum was withdrawn"
            taken = offered and dut.unit_ready.value == 1
            if dut.idle.value == 1 and number == len(units):
                return found, cycles
            if taken:
                number, offered = number + 1, False
            assert cycles < 2_000_000


@cocotb.test()
async def force_phase(dut: Any) -> None:
    given = vectors()
    worker = Worker(dut, given)
    await start(dut)
    await worker.sums(list(range(int(given["words"]))))
    await worker.load()
    while dut.idle.value == 0:
        await worker.edge
    addresses = [int(address) for address in given["addresses"]]
    before: list[list[int]] | None = None
    for _ in range(int(given["rounds"])):
        dut.clear.value = 1
        await worker.edge
        dut.clear.value = 0
        worker.close = 0
        home, cycles = await worker.phase()
        assert sorted(home) == sorted(addresses), "home sums of other particles than there are"
        sums = await worker.sums(addresses)
        forces = [[h + s for h, s in zip(home[a], row, strict=True)] for a, row in zip(addresses, sums, strict=True)]
        assert before is None or forces == before, "another round gives other forces"
        before = forces
    again = await worker.sums(addresses)
    assert not np.any(again), "a sum was not made zero by reading it"
    half = 1 << worker.bits - 1
    total = (np.array(before, np.int64).reshape(-1, 3) + half) % (2 * half) - half
    counters = {name: int(getattr(dut, name).value) for name in ("pairs", "candidates", "stalled")}
    save(forces=total, close=worker.close, cycles=cycles, **counters)
