"""The engine's modules, all in one simulator: what goes in is fixed beforehand, what came out is looked at."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from designs.lib import closure

sys.path.append(str(Path(__file__).parents[1] / "deconv"))
from players import Player, pack, play

FOLDER = Path(__file__).parents[3] / "designs" / "md"
SOURCES = [
    *closure("delay", "adder_tree", "credit_stream"),
    *(FOLDER / f"md_{name}.sv" for name in (
        "account", "axis", "broadcast", "collect", "control", "counts", "dispatch", "dump", "load", "master", "memory",
        "motion", "move", "place", "scale", "status", "walk",
    )),
]  # fmt: skip
SEED = 29
CYCLES = 700

Seen = Mapping[str, list[int]]


@dataclass
class Unit:
    """A module, what goes into it in each cycle, and the check of what came out."""

    player: Player
    inputs: dict[str, list[int]] = field(default_factory=dict)
    check: Callable[[Seen], None] = lambda seen: None

    def drive(self, **values: int) -> int:
        """One more cycle, inputs that are not named are 0; returns its number."""
        for port in self.player.inputs:
            self.inputs.setdefault(port, []).append(values.get(port, 0))
        return len(next(iter(self.inputs.values()))) - 1

    def expect(self, wanted: Mapping[str, Mapping[int, int]]) -> None:
        """Check values of ports by cycle."""

        def check(seen: Seen) -> None:
            for port, values in wanted.items():
                mask = (1 << self.player.outputs[port]) - 1
                wrong = [(c, seen[port][c], v & mask) for c, v in values.items() if seen[port][c] != v & mask]
                assert not wrong, f"{self.player.module} {port}: cycle, got, wanted {wrong[:3]}"

        self.check = check


def signed(rng: np.random.Generator, bits: int) -> int:
    """A signed number of so many bits, often an extreme one."""
    top = 1 << bits - 1
    return int(rng.choice([-top, -1, 0, top - 1])) if rng.random() < 0.2 else int(rng.integers(-top, top))


def memory(rng: np.random.Generator, module: str, words: int, bits: int, huge: int) -> Unit:
    """Random writes and reads; md_master has two halves and a cycle more each way."""
    master = module == "md_master"
    address = (words - 1).bit_length()
    inputs = {"write": 1, "write_address": address, "write_data": bits, "read_address": address}
    if master:
        inputs |= {"write_half": 1, "read_half": 1}
    parameters = {"WORDS": words, "BITS": bits, "HUGE": huge}
    unit = Unit(Player(module, parameters, inputs, {"read_data": bits}, has_reset=False))
    held: dict[tuple[int, int], int] = {}
    wanted = {}
    for _ in range(CYCLES - 10):
        w, wh, write = int(rng.integers(words)), int(rng.integers(2)), int(rng.integers(2))
        r, rh, value = int(rng.integers(words)), int(rng.integers(2)), int(rng.integers(1 << bits))
        half = {"write_half": wh, "read_half": rh} if master else {}
        cycle = unit.drive(write=write, write_address=w, write_data=value, read_address=r, **half)
        read, written = (rh if master else 0, r), (wh if master else 0, w)
        if read in held:
            wanted[cycle + (3 if master else 2)] = held[read]
        if write:
            held[written] = value
    unit.expect({"read_data": wanted})
    return unit


def axis(rng: np.random.Generator, p: int, v: int, velocity: int, force: int) -> Unit:
    inputs = {"half": 1, "drift": 1, "force_in": force, "velocity": velocity, "position": p}
    outputs = {"new_velocity": velocity, "new_position": p, "move": 2, "fast": 1}
    parameters = {"P": p, "V": v, "VELOCITY": velocity, "FORCE": force}
    unit = Unit(Player("md_axis", parameters, inputs, outputs, has_reset=False))
    wanted: dict[str, dict[int, int]] = {port: {} for port in outputs}
    for pass_ in range(8):
        half, drift = pass_ & 1, pass_ >> 1 & 1
        for _ in range(60):
            f, speed, x = signed(rng, force), signed(rng, velocity), signed(rng, p) % (1 << p)
            f >>= int(rng.integers(force)) if rng.random() < 0.5 else 0
            cycle = unit.drive(half=half, drift=drift, force_in=f, velocity=speed, position=x)
            after = speed + ((f + 1) >> 1 if half else f)
            kept = (after + (1 << velocity - 1)) % (1 << velocity) - (1 << velocity - 1)
            there = x + ((kept + (1 << v - 1) >> v) if drift else 0)
            values = (kept, there, there >> p, after != kept)
            for port, value in zip(outputs, values, strict=True):
                wanted[port][cycle + 4] = int(value)
        for _ in range(5):
            unit.drive(half=half, drift=drift)
    unit.expect(wanted)
    return unit


def scale(rng: np.random.Generator, ratio: int) -> Unit:
    inputs, outputs = {"kind": 1, "force_in": 36}, {"force_out": 37}
    unit = Unit(Player("md_scale", {"RATIO": f"18'd{ratio}"}, inputs, outputs, has_reset=False))
    wanted = {}
    for _ in range(300):
        f, kind = signed(rng, 36), int(rng.integers(2))
        wanted[unit.drive(kind=kind, force_in=f) + 4] = f * ratio >> 17 if kind else f
    unit.expect({"force_out": wanted})
    return unit


def motion(rng: np.random.Generator, kinds: int) -> Unit:
    """Particles near the faces of a box of 3 x 5 x 4 cells: their cells, through every face."""
    cells, p, v, velocity, total, ratio = (3, 5, 4), 12, 4, 16, 20, 100_000
    inputs = {
        "half": 1, "drift": 1, "along": 9, "force_in": 3 * total, "velocity": 3 * velocity, "position": 3 * p,
        "kind": 1, "x": 2, "y": 3, "z": 2, "cell_in": 6,
    }  # fmt: skip
    outputs = {"new_along": 9, "new_velocity": 3 * velocity, "new_position": 3 * p, "new_cell": 6, "fast": 1}
    parameters = {
        "CELLS_X": 3, "CELLS_Y": 5, "CELLS_Z": 4, "KINDS": kinds, "P": p, "V": v, "VELOCITY": velocity, "SUM": total,
        "ALONG": 9, "RATIO": f"18'd{ratio}",
    }  # fmt: skip
    unit = Unit(Player("md_motion", parameters, inputs, outputs, has_reset=False))
    latency = 6 if kinds == 1 else 10
    wanted: dict[str, dict[int, int]] = {port: {} for port in outputs}
    for _ in range(500):
        at = [int(rng.integers(n)) for n in cells]
        x = [int(rng.choice([5, 2000, 4090])) for _ in range(3)]
        speed, force = [signed(rng, velocity) for _ in range(3)], [signed(rng, 12) for _ in range(3)]
        kind, along = int(rng.integers(kinds)), int(rng.integers(512))
        cycle = latency + unit.drive(
            drift=1, along=along, force_in=pack(force, total), velocity=pack(speed, velocity), position=pack(x, p),
            kind=kind, x=at[0], y=at[1], z=at[2], cell_in=(at[2] * 5 + at[1]) * 3 + at[0],
        )  # fmt: skip
        new_speed, new_x, new_at, fast = [], [], [], False
        for d in range(3):
            after = speed[d] + (force[d] * ratio >> 17 if kind else force[d])
            kept = (after + (1 << velocity - 1)) % (1 << velocity) - (1 << velocity - 1)
            there = (at[d] << p) + x[d] + (kept + (1 << v - 1) >> v)
            new_speed.append(kept)
            new_x.append(there % (1 << p))
            new_at.append((there >> p) % cells[d])
            fast |= kept != after
        values = (
            along, pack(new_speed, velocity), pack(new_x, p), (new_at[2] * 5 + new_at[1]) * 3 + new_at[0], int(fast)
        )  # fmt: skip
        for port, value in zip(outputs, values, strict=True):
            wanted[port][cycle] = value
    # `drift` stays until the last one is through.
    for _ in range(20):
        unit.drive(drift=1)
    unit.expect(wanted)
    return unit


def counts(rng: np.random.Generator) -> Unit:
    """Zero all, place particles into both halves in turn, read the present one."""
    cells, capacity = 11, 6
    inputs = {
        "half": 1, "read_cell": 4, "place": 1, "place_half": 1, "place_cell": 4, "zero": 2, "zero_cell": 4
    }  # fmt: skip
    outputs = {"read_count": 3, "place_count": 3, "place_full": 1}
    unit = Unit(Player("md_counts", {"CELLS": cells, "CAPACITY": capacity}, inputs, outputs, has_reset=False))
    wanted: dict[str, dict[int, int]] = {port: {} for port in outputs}
    held = [[0] * cells, [0] * cells]
    for cell in range(cells):
        unit.drive(zero=3, zero_cell=cell)
    for pass_ in range(6):
        half = pass_ & 1
        for cell in range(cells):
            unit.drive(half=half, zero=2 - half, zero_cell=cell)
            held[1 - half][cell] = 0
        for _ in range(70):
            cell, read, place = int(rng.integers(cells)), int(rng.integers(cells)), int(rng.random() < 0.8)
            cycle = unit.drive(half=half, place=place, place_half=1 - half, place_cell=cell, read_cell=read)
            wanted["read_count"][cycle] = held[half][read]
            if place:
                wanted["place_count"][cycle] = held[1 - half][cell]
                wanted["place_full"][cycle] = int(held[1 - half][cell] == capacity)
                held[1 - half][cell] = min(capacity, held[1 - half][cell] + 1)
    unit.expect(wanted)
    return unit


def place(rng: np.random.Generator) -> Unit:
    """Slots come from the counts beside it, here any numbers."""
    cells, capacity, bits = 30, 13, 20
    inputs = {"valid": 1, "cell_in": 5, "particle": bits, "place_count": 4, "place_full": 1}
    outputs = {
        "place": 1, "place_cell": 5, "placed": 1, "dropped": 1, "address": 9, "placed_cell": 5, "count": 4,
        "placed_particle": bits,
    }  # fmt: skip
    unit = Unit(Player("md_place", {"CELLS": cells, "CAPACITY": capacity, "BITS": bits}, inputs, outputs))
    wanted: dict[str, dict[int, int]] = {port: {} for port in outputs}
    before = (0, 0, 0)
    for cycle in range(400):
        valid, cell, particle = int(rng.random() < 0.7), int(rng.integers(cells)), int(rng.integers(1 << bits))
        count, full = int(rng.integers(capacity)), int(rng.random() < 0.2)
        unit.drive(valid=valid, cell_in=cell, particle=particle, place_count=count, place_full=full)
        # The counts of this cycle are for the particle of the cycle before.
        was, at, what = before
        wanted["place"][cycle] = was
        wanted["placed"][cycle + 2] = int(was and not full)
        wanted["dropped"][cycle + 2] = int(was and full)
        if was:
            wanted["place_cell"][cycle] = at
        if was and not full:
            for port, value in (
                ("address", at * capacity + count), ("placed_cell", at), ("count", count + 1), ("placed_particle", what)
            ):  # fmt: skip
                wanted[port][cycle + 2] = value
        before = (valid, cell, particle)
    unit.expect(wanted)
    return unit


def collect(rng: np.random.Generator, workers: int) -> Unit:
    """Each worker's words come out once and in order; one stays until it is taken."""
    bits = 12
    unit = Unit(
        Player(
            "md_collect", {"WORKERS": workers, "BITS": bits}, {"s_valid": workers, "s_data": workers * bits},
            {"s_ready": workers, "m_valid": 1, "m_data": bits, "busy": 1},
        )
    )  # fmt: skip
    # What a source offers must not depend on `ready` here: it offers for long enough, and takes note of what was taken.
    offers = []
    for _ in range(400):
        valid = sum(int(rng.random() < 0.5) << w for w in range(workers))
        data = [int(rng.integers(1 << bits)) for _ in range(workers)]
        unit.drive(s_valid=valid, s_data=pack(data, bits))
        offers.append((valid, data))
    for _ in range(workers + 2):
        unit.drive()

    def check(seen: Seen) -> None:
        taken = [
            (cycle + workers - w, data[w])
            for cycle, (valid, data) in enumerate(offers)
            for w in range(workers)
            if valid & seen["s_ready"][cycle] & 1 << w
        ]
        out = [(cycle, seen["m_data"][cycle]) for cycle in range(len(seen["m_valid"])) if seen["m_valid"][cycle]]
        assert sorted(taken) == out
        assert len(out) > 150
        busy = [any(t - workers < cycle <= t for t, _ in taken) for cycle in range(410)]
        assert all(seen["busy"][cycle] for cycle in range(410) if seen["m_valid"][cycle])
        assert not any(seen["busy"][cycle] and not busy[cycle] for cycle in range(410))

    unit.check = check
    return unit


def broadcast(rng: np.random.Generator, workers: int, group: int) -> Unit:
    parameters = {"WORKERS": workers, "GROUP": group, "FLAGS": 1, "BITS": 5}
    unit = Unit(Player("md_broadcast", parameters, {"in": 5}, {"out": 5 * workers}))
    wanted = {}
    for _ in range(50):
        word = int(rng.integers(32))
        wanted[unit.drive(**{"in": word}) + (2 if workers > group else 1)] = pack([word] * workers, 5)
    unit.expect({"out": wanted})
    return unit


def walk(rng: np.random.Generator, step: int, pause: float) -> Unit:
    """The counts are one memory in the wrapper's input: those of all cells are the same, but each pass has another."""
    cells, capacity = (3, 4, 3), 13
    inputs = {"start": 1, "count_value": 4, "unit_ready": 1}
    size = step.bit_length()
    outputs = {
        "busy": 1, "count_cell": 6, "unit_valid": 1, "unit_x": 2, "unit_y": 2, "unit_z": 2, "unit_cell": 6,
        "unit_first": 4, "unit_address": 9, "unit_count": size,
    }  # fmt: skip
    parameters = {"CELLS_X": 3, "CELLS_Y": 4, "CELLS_Z": 3, "CAPACITY": capacity, "STEP": step}
    unit = Unit(Player("md_walk", parameters, inputs, outputs))
    starts = []
    for length in (200, 480):
        starts.append(unit.drive(start=1, count_value=int(rng.integers(capacity + 1))))
        for _ in range(length - 1):
            value = int(rng.integers(1, capacity + 1)) if rng.random() < 0.7 else 0
            unit.drive(count_value=value, unit_ready=int(rng.random() >= pause))

    def check(seen: Seen) -> None:
        # The count of a cell is what was on the port in the last cycle in which that cell was asked for.
        first, last = starts[1], CYCLES - 20
        asked = {seen["count_cell"][c]: unit.inputs["count_value"][c] for c in range(first + 1, last)}
        units = [
            tuple(seen[f"unit_{port}"][c] for port in ("x", "y", "z", "cell", "first", "address", "count"))
            for c in range(first + 1, last)
            if seen["unit_valid"][c] and unit.inputs["unit_ready"][c]
        ]
        wanted = []
        for cell in range(36):
            count = asked[cell]
            parts = -(-count // step)
            each, slot = -(-count // max(parts, 1)), 0
            while slot < count:
                here = min(each, count - slot)
                wanted.append(
                    (cell % 3, cell // 3 % 4, cell // 12, cell, slot, cell * capacity + slot, here)
                )  # fmt: skip
                slot += here
        assert len(units) > 40
        assert units == wanted[: len(units)]
        done = not seen["busy"][last]
        assert units == wanted or not done

    unit.check = check
    _ = cells
    return unit


def dispatch(rng: np.random.Generator) -> Unit:
    """Units go out in order, each once, only to a worker that was ready, and to those in turn."""
    workers = 3
    inputs = {"start": 1, "count_value": 3, "unit_ready": workers}
    outputs = {"busy": 1, "unit_valid": workers, "unit_cell": 5, "unit_first": 3, "unit_count": 2, "count_cell": 5}
    parameters = {"WORKERS": workers, "FILTERS": 3, "CELLS_X": 3, "CELLS_Y": 3, "CELLS_Z": 3, "CAPACITY": 6}
    unit = Unit(Player("md_dispatch", parameters, inputs, outputs))
    unit.drive(start=1, count_value=5)
    for cycle in range(CYCLES - 1):
        ready = sum(int(cycle < 50 or rng.random() < 0.4) << w for w in range(workers))
        unit.drive(count_value=5, unit_ready=ready)

    def check(seen: Seen) -> None:
        given = []
        for c in range(CYCLES):
            valid = seen["unit_valid"][c]
            assert valid in (0, 1, 2, 4)
            if valid & unit.inputs["unit_ready"][c]:
                given.append((valid, seen["unit_cell"][c], seen["unit_first"][c], seen["unit_count"][c]))
        assert [g[1:] for g in given] == [(cell, *part) for cell in range(27) for part in ((0, 3), (3, 2))]
        # While all are ready they take turns.
        assert [g[0] for g in given[:6]] == [1, 2, 4, 1, 2, 4]
        assert not seen["busy"][CYCLES - 1]

    unit.check = check
    return unit


def load(rng: np.random.Generator) -> Unit:
    p, velocity, cells = 9, 11, 30
    beat = 3 * p + 3 * velocity + 48
    inputs = {"start": 1, "count": 32, "s_axis_tvalid": 1, "s_axis_tdata": beat}
    bits = 3 * p + 3 * velocity + 11
    outputs = {"busy": 1, "s_axis_tready": 1, "valid": 1, "invalid": 1, "cell_index": 5, "particle": bits}
    parameters = {"BEAT": beat, "P": p, "VELOCITY": velocity, "ID": 10, "KINDS": 2, "CELLS": cells}
    unit = Unit(Player("md_load", parameters, inputs, outputs))
    wanted: dict[str, dict[int, int]] = {port: {} for port in outputs}
    for count in (5, 0, 60, 1):
        wanted["busy"][unit.drive(start=1, count=count)] = 0
        left = count
        for _ in range(120):
            offered = int(rng.random() < 0.7)
            x, v = int(rng.integers(1 << 3 * p)), int(rng.integers(1 << 3 * velocity))
            kind, name, cell = int(rng.integers(3)), int(rng.integers(1 << 24)), int(rng.choice([3, 29, 30, 40]))
            word = x | v << 3 * p | (kind | name << 8 | cell << 32) << 3 * (p + velocity)
            cycle = unit.drive(s_axis_tvalid=offered, s_axis_tdata=word)
            took, good = offered and left > 0, kind < 2 and cell < cells
            wanted["s_axis_tready"][cycle] = int(left > 0)
            wanted["valid"][cycle + 1] = int(took and good)
            wanted["invalid"][cycle + 1] = int(took and not good)
            left -= took
            wanted["busy"][cycle + 1] = int(left > 0 or took)
            if took and good:
                wanted["cell_index"][cycle + 1] = cell
                wanted["particle"][cycle + 1] = x | v << 3 * p | (name % 1024 | kind << 10) << 3 * (p + velocity)
    wanted["busy"] = {
        c: v for c, v in wanted["busy"].items() if not unit.inputs["start"][min(c, len(unit.inputs["start"]) - 1)]
    }
    unit.expect(wanted)
    return unit


def status(rng: np.random.Generator, workers: int) -> Unit:
    counter, beat = 20, 144
    inputs = {
        "start": 1, "engine": beat, "pairs": workers * counter, "candidates": workers * counter,
        "stalled": workers * counter, "m_axis_tready": 1,
    }  # fmt: skip
    outputs = {"busy": 1, "m_axis_tvalid": 1, "m_axis_tdata": beat, "m_axis_tlast": 1}
    unit = Unit(Player("md_status", {"BEAT": beat, "WORKERS": workers, "COUNTER": counter}, inputs, outputs))
    numbers = {
        name: [int(rng.integers(1 << counter)) for _ in range(workers)] for name in ("pairs", "candidates", "stalled")
    }
    head = int(rng.integers(1 << 60)) << 80 | 3
    held = {"engine": head} | {name: pack(values, counter) for name, values in numbers.items()}
    for cycle in range(200):
        unit.drive(start=int(cycle in (3, 120)), m_axis_tready=int(rng.random() < 0.5), **held)
    wanted = [(head, 0)] + [
        (numbers["pairs"][w] | numbers["candidates"][w] << 48 | numbers["stalled"][w] << 96, int(w == workers - 1))
        for w in range(workers)
    ]

    def check(seen: Seen) -> None:
        got = taken(seen, unit.inputs["m_axis_tready"], 200)
        assert got == wanted * 2
        assert not seen["busy"][199]

    unit.check = check
    return unit


def taken(seen: Seen, ready: list[int], cycles: int) -> list[tuple[int, int]]:
    """Beats and marks of a stream; an offered one must stay."""
    got = []
    for c in range(cycles):
        if seen["m_axis_tvalid"][c]:
            beat = (seen["m_axis_tdata"][c], seen["m_axis_tlast"][c])
            if ready[c]:
                got.append(beat)
            else:
                assert (seen["m_axis_tdata"][c + 1], seen["m_axis_tlast"][c + 1]) == beat
                assert seen["m_axis_tvalid"][c + 1]
    return got


def dump(rng: np.random.Generator) -> Unit:
    """The beat that it sees LATENCY cycles after it let a particle in is here the number of that cycle."""
    latency = 5
    inputs = {"start": 1, "particles": 32, "walk_valid": 1, "beat": 40, "m_axis_tready": 1}
    outputs = {"busy": 1, "walk_ready": 1, "m_axis_tvalid": 1, "m_axis_tdata": 40, "m_axis_tlast": 1}
    unit = Unit(Player("md_dump", {"BEAT": 40, "LATENCY": latency}, inputs, outputs))
    for cycle in range(600):
        unit.drive(
            start=int(cycle in (5, 300)), particles=20 if cycle < 300 else 0, walk_valid=int(10 <= cycle < 290),
            beat=1000 + cycle, m_axis_tready=int(rng.random() < 0.3),
        )  # fmt: skip

    def check(seen: Seen) -> None:
        entered = [c for c in range(10, 290) if seen["walk_ready"][c]][:20]
        got = taken(seen, unit.inputs["m_axis_tready"], 290)[:21]
        assert got == [(20, 0)] + [(1000 + c + latency, int(n == 19)) for n, c in enumerate(entered)]
        later = [c for c in range(300, 600) if seen["m_axis_tvalid"][c] and seen["m_axis_tdata"][c] == 0]
        assert later
        assert all(seen["m_axis_tlast"][c] for c in later)

    unit.check = check
    return unit


def account(rng: np.random.Generator) -> Unit:
    events = (
        "forcing", "moving", "step_done", "loaded", "invalid", "load_dropped", "move_dropped", "unknown", "close",
        "fast",
    )  # fmt: skip
    inputs = {"clear": 1} | dict.fromkeys(events, 1)
    outputs = {"flags": 8, "steps": 32, "force_cycles": 48, "run_cycles": 48, "particles": 32, "lost": 32}
    unit = Unit(Player("md_account", {}, inputs, outputs, has_reset=False))
    wanted: dict[str, dict[int, int]] = {port: {} for port in outputs}
    unit.drive(clear=1)
    now = dict.fromkeys(outputs, 0)
    for part in range(4):
        for n in range(100):
            chance = 0.01 if part % 2 == 0 else 0.5
            on = {name: int(n < 90 and rng.random() < chance) for name in events}
            cycle = unit.drive(**on)
            now["flags"] |= int(on["load_dropped"] or on["move_dropped"]) | on["close"] << 1 | on["fast"] << 2
            now["flags"] |= int(on["invalid"] or on["unknown"]) << 3
            now["steps"] += on["step_done"]
            now["force_cycles"] += on["forcing"]
            now["run_cycles"] += int(on["forcing"] or on["moving"])
            now["particles"] += on["loaded"] - on["move_dropped"]
            now["lost"] += int(on["load_dropped"] or on["move_dropped"] or on["invalid"])
            for port in outputs:
                wanted[port][cycle + 2] = now[port]
        cycle = unit.drive(clear=1)
        now = dict.fromkeys(outputs, 0)
        for port in outputs:
            wanted[port].pop(cycle, None)
            wanted[port][cycle + 1] = 0
    unit.expect(wanted)
    return unit


def test_units(tmp_path: Path) -> None:
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    units = [
        memory(rng, "md_memory", 21, 9, 0),
        memory(rng, "md_memory", 16, 9, 1),
        memory(rng, "md_master", 11, 30, 0),
        axis(rng, 24, 10, 32, 36),
        axis(rng, 8, 3, 12, 9),
        axis(rng, 16, 1, 14, 15),
        scale(rng, 98_765),
        scale(rng, (1 << 18) - 1),
        motion(rng, 1),
        motion(rng, 2),
        counts(rng),
        place(rng),
        collect(rng, 1),
        collect(rng, 4),
        broadcast(rng, 3, 8),
        broadcast(rng, 7, 3),
        walk(rng, 1, 0.0),
        walk(rng, 5, 0.5),
        dispatch(rng),
        load(rng),
        status(rng, 1),
        status(rng, 5),
        dump(rng),
        account(rng),
    ]
    for unit in units:
        length = len(next(iter(unit.inputs.values())))
        assert length <= CYCLES, unit.player.module
        for port, values in unit.inputs.items():
            rest = values[-1] if port in ("particles", "drift") else 0
            values += [rest] * (CYCLES - length)
    seen = play(
        [u.player for u in units], [u.inputs for u in units], sources=SOURCES, results=tmp_path, seed=SEED
    )  # fmt: skip
    for unit, answer in zip(units, seen, strict=True):
        unit.check(answer)
