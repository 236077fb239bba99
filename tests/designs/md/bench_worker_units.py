"""cocotb tests of the worker's modules that wait, one a module; expectations are worked out here."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from designs.flow.bench import generator, start, vectors


def given() -> dict[str, int]:
    return {name: int(value) for name, value in vectors().items()}


@cocotb.test()
async def md_cells(dut: Any) -> None:
    """The cells of random units, at full speed and with pauses; the next unit's come without a gap."""
    rng = generator("cells")
    g = given()
    sides = (g["x"], g["y"], g["z"])
    number = sides[0] * sides[1] * sides[2]
    for name in ("count_write", "unit_valid", "cell_ready"):
        getattr(dut, name).value = 0
    await start(dut)
    edge = RisingEdge(dut.clk)
    counts = [rng.randrange(g["capacity"] + 1) for _ in range(number)]
    dut.count_write.value = 1
    for cell, count in enumerate(counts):
        dut.count_cell.value, dut.count_value.value = cell, count
        await edge
    dut.count_write.value = 0
    offsets = [(0, 0, 0)] + [
        (dx, dy, dz) for dz in (0, 1) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dz, dy, dx) > (0, 0, 0)
    ]
    units, wanted = [], []
    for _ in range(3 * number):
        cell = rng.randrange(number)
        if not counts[cell]:
            continue
        first, loads = rng.randrange(counts[cell]), rng.randrange(1, g["filters"] + 1)
        at = (cell % sides[0], cell // sides[0] % sides[1], cell // (sides[0] * sides[1]))
        units.append((cell, at, first, loads))
        for step in offsets:
            x, y, z = ((a + s) % n for a, s, n in zip(at, step, sides, strict=True))
            other = (z * sides[1] + y) * sides[0] + x
            begin = first if step == (0, 0, 0) else 0
            shift = (step[0] & 3) | (step[1] & 3) << 2 | step[2] << 4
            last = step == (1, 1, 1)
            wanted.append((other * g["capacity"] + begin, counts[other] - begin, shift, step == (0, 0, 0), last, loads))
    assert dut.busy.value == 0
    got: list[tuple[int, ...]] = []
    offered, cycles = False, 0
    ready = False
    while len(got) < len(wanted):
        fast = len(got) < len(wanted) // 2
        if not offered and units and (fast or rng.random() < 0.2):
            cell, (x, y, z), first, loads = units[0]
            dut.unit_cell.value, dut.unit_first.value, dut.unit_count.value = cell, first, loads
            dut.unit_x.value, dut.unit_y.value, dut.unit_z.value = x, y, z
            offered = True
        dut.unit_valid.value = int(offered)
        ready = fast or rng.random() < 0.5
        dut.cell_ready.value = int(ready)
        await edge
        cycles += fast
        if ready and dut.cell_valid.value == 1:
            names = ("cell_address", "cell_left", "cell_shift", "cell_home", "cell_last", "cell_loads")
            got.append(tuple(int(getattr(dut, name).value) for name in names))
            assert dut.cell_empty.value == (got[-1][1] == 0)
            assert dut.cell_single.value == (got[-1][1] == 1)
            assert dut.busy.value == 1
        if offered and dut.unit_ready.value == 1:
            units.pop(0)
            offered = False
    dut.unit_valid.value = 0
    await edge
    await edge
    assert got == [tuple(int(value) for value in row) for row in wanted]
    assert not units
    assert dut.busy.value == 0
    assert cycles <= len(wanted) // 2 + 12, "a cell a cycle"


@cocotb.test()
async def md_stream(dut: Any) -> None:
    """Particles of random units, with empty cells, units without particles, a queue that is full, and sets in use."""
    rng = generator("stream")
    filters = given()["filters"]
    for name in ("cell_valid", "room", "freed"):
        getattr(dut, name).value = 0
    await start(dut)
    edge = RisingEdge(dut.clk)
    cells: list[tuple[int, ...]] = []  # address, left, shift, home, last, loads
    wanted: list[tuple[int, ...]] = []
    begins: list[tuple[int, ...]] = []
    tag = 0
    for _ in range(60):
        counts = [rng.choice([0, 0, 1, 2, filters, filters + 2]) for _ in range(14)]
        counts[13] = rng.choice([0, 0, 1, 3])
        counts[0] = rng.choice([0, 1, filters, filters + 3])
        loads = rng.randrange(1, min(filters, counts[0]) + 1) if counts[0] else 1
        home = rng.randrange(200)
        if counts[0]:
            begins.append((tag & 1, home, loads))
        loaded = 0
        for n, count in enumerate(counts):
            base = home if n == 0 else rng.randrange(200)
            cells.append((base, count, n, n == 0, n == 13, loads))
            if not counts[0]:
                continue
            for k in range(count):
                load = 1 << loaded if n == 0 and loaded < loads else 0
                last = n == 13 and k == count - 1
                wanted.append((1, last, tag & 1, base + k, n, (1 << loaded) - 1, loaded, load))
                loaded += load != 0
            if n == 13 and not count:
                wanted.append((0, 1, tag & 1, -1, -1, -1, 0, 0))
        tag += counts[0] != 0
    free = 2  # sets
    taken = [0, 0]
    got = 0
    waits = 0
    offered = False
    for cycle in range(200_000):
        fast = cycle < 800
        if not offered and cells and (fast or rng.random() < 0.8):
            for name, value in zip(("address", "left", "shift", "home", "last", "loads"), cells[0], strict=True):
                getattr(dut, f"cell_{name}").value = int(value)
            dut.cell_empty.value, dut.cell_single.value = int(cells[0][1] == 0), int(cells[0][1] == 1)
            offered = True
        dut.cell_valid.value = int(offered)
        room = fast or rng.random() < 0.7
        dut.room.value = int(room)
        freed = 0
        for s in range(2):
            if taken[s] == 2 and rng.random() < (1 if fast else 0.003):
                freed, taken[s], free = freed | 1 << s, 0, free + 1
        dut.freed.value = freed
        await edge
        waits += int(dut.waits.value)
        if dut.begin_valid.value == 1:
            begin = tuple(int(getattr(dut, f"begin_{name}").value) for name in ("set", "address", "count"))
            assert begin == begins.pop(0)
            assert taken[begin[0]] == 0, "a set in use"
            taken[begin[0]] = 1
            free -= 1
        if dut.valid.value == 1:
            names = ("real_particle", "last", "set", "address", "shift", "meets", "met", "load")
            seen = [int(getattr(dut, name).value) for name in names]
            for value, right in zip(seen, wanted[got], strict=True):
                assert right in (-1, value), f"particle {got}: {seen}, wanted {wanted[got]}"
            got += 1
            if seen[1]:
                taken[seen[2]] = 2
        else:
            assert dut.load.value == 0
            assert dut.met.value == 0
        if offered and dut.cell_ready.value == 1:
            cells.pop(0)
            offered = False
        if not cells and got == len(wanted):
            break
    assert not begins
    assert got == len(wanted)
    assert waits > 0


@cocotb.test()
async def md_queue(dut: Any) -> None:
    """Words in, pairs out in order; a pair a cycle while there are any; never more words than there is room for."""
    rng = generator("queue")
    g = given()
    for name in ("push", "push_mask", "push_last"):
        getattr(dut, name).value = 0
    await start(dut)
    edge = RisingEdge(dut.clk)
    waiting: list[tuple[int, int, int]] = []  # pairs that must come: valid, index, data; last is in valid's bit 1
    held = most = seen = 0
    rooms = [0] * g["late"]  # what the sender knows is some cycles old
    for cycle in range(6000):
        busy = cycle // 500 % 3  # 0 many, 1 few, 2 single pairs at full speed
        rooms.append(int(dut.room.value) if dut.room.value.is_resolvable else 0)
        push = rooms.pop(0) and cycle < 5500 and rng.random() < (0.9, 0.2, 1.0)[busy]
        if push:
            last = int(rng.random() < 0.1)
            mask = 1 << rng.randrange(g["filters"])
            if busy != 2:
                mask = rng.randrange(1 << g["filters"]) & rng.randrange(1 << g["filters"])
            mask = mask or int(not last)
            data = rng.randrange(1 << g["data"])
            dut.push_mask.value, dut.push_last.value, dut.push_data.value = mask, last, data
            places = [f for f in range(g["filters"]) if mask >> f & 1]
            for f in places or [0]:
                ends = last and f == (places or [0])[-1]
                waiting.append((int(bool(places)) | int(ends) << 1, f, data))
            held += 1
            most = max(most, held)
        dut.push.value = int(bool(push))
        await edge
        valid = int(dut.pair_valid.value) | int(dut.pair_last.value) << 1
        if valid:
            right = waiting.pop(0)
            assert valid == right[0]
            if valid & 1:
                assert (int(dut.pair_index.value), int(dut.pair_data.value)) == right[1:]
            seen += 1
            if not waiting or waiting[0][2] != right[2]:
                held -= 1
        # Past the few cycles that a word takes there is always a pair.
        assert valid or len(waiting) <= 8 * g["filters"] * 2
    assert not waiting
    assert seen > 3000
    assert g["words"] - 16 < most <= g["words"] + 5


@cocotb.test()
async def md_home_sums(dut: Any) -> None:
    """Units in turn, the next one's pairs at once; sums in order, with the opposite sign, each once."""
    rng = generator("home sums")
    g = given()
    bits = g["sum"]
    for name in ("begin_valid", "add", "add_last", "home_ready"):
        getattr(dut, name).value = 0
    await start(dut)
    edge = RisingEdge(dut.clk)
    while dut.ready.value == 0:
        await edge
    wanted: list[tuple[int, int]] = []
    free = [True, True]
    ready = False
    before: tuple[int, int] | None = None

    async def cycle() -> None:
        nonlocal ready, before
        ready = rng.random() < 0.6
        dut.home_ready.value = int(ready)
        await edge
        if dut.home_valid.value == 1:
            word = int(dut.home_address.value), int(dut.home_force.value)
            assert before in (None, word)
            before = None if ready else word
            if ready:
                assert word == wanted.pop(0)
        freed = int(dut.freed.value)
        for s in range(2):
            if freed >> s & 1:
                assert not free[s]
                free[s] = True

    for unit in range(100):
        s = unit & 1
        while not free[s]:
            await cycle()
        free[s] = False
        count, address = rng.randrange(1, g["filters"] + 1), rng.randrange(100)
        dut.begin_valid.value, dut.begin_set.value = 1, s
        dut.begin_address.value, dut.begin_count.value = address, count
        await cycle()
        dut.begin_valid.value = 0
        sums = [[0] * 3 for _ in range(count)]
        pairs = rng.choice([0, 1, 5, 40])
        for left in range(pairs, -1, -1):
            add = left > 0 or rng.random() < 0.5
            index = rng.randrange(min(count, 3)) if left else 0
            force = [rng.randrange(1 << bits) for _ in range(3)]
            dut.add.value, dut.add_set.value, dut.add_index.value = int(add), s, index
            dut.add_last.value = int(left == 0)
            dut.add_force.value = force[0] | force[1] << bits | force[2] << 2 * bits
            if add:
                sums[index] = [(a - b) % (1 << bits) for a, b in zip(sums[index], force, strict=True)]
            if left == 0:
                wanted += [(address + k, x | y << bits | z << 2 * bits) for k, (x, y, z) in enumerate(sums)]
            await cycle()
        dut.add.value, dut.add_last.value = 0, 0
        for _ in range(rng.choice([0, 0, 60])):
            await cycle()
    for _ in range(300):
        await cycle()
    assert not wanted
    assert all(free)
