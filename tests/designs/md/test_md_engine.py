"""The engine with stand-in workers: whole runs against a small integer model, flags, refusals, lint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from md_small import (
    CLEAR,
    CLOSE,
    DUMP,
    FAST,
    INVALID,
    LOAD,
    OVERFLOW,
    RUN,
    STATUS,
    Box,
    Model,
    Particle,
    command,
    copies,
    particle_beat,
    random_particles,
    read_particle,
    read_status,
)

from designs.flow.tools import FlowError
from designs.flow.verilator import build, lint, simulate
from designs.lib import closure

HERE = Path(__file__).parent
FOLDER = HERE.parents[2] / "designs" / "md"
PARTS = (
    "account", "answers", "axis", "broadcast", "bus", "collect", "control", "counts", "dispatch", "dump", "engine",
    "forces", "load", "master", "memory", "motion", "move", "place", "scale", "status", "walk",
)  # fmt: skip
ENGINE = [*closure("delay", "adder_tree", "credit_stream"), *(FOLDER / f"md_{part}.sv" for part in PARTS)]
SOURCES = [*ENGINE, HERE / "md_worker_model.sv", HERE / "md_engine_dut.sv"]


@dataclass
class Script:
    """Words for the engine, and what each answer must be; the model runs along."""

    box: Box
    model: Model
    words: list[int]
    answers: list[tuple[int, Model]]

    @classmethod
    def of(cls, box: Box) -> Script:
        return cls(box, Model(box), [], [])

    def load(self, particles: list[Particle]) -> None:
        self.words.append(command(LOAD, len(particles)))
        self.words += [particle_beat(self.box, p, self.model.cell(p)) for p in particles]
        self.model.particles += copies(particles)

    def run(self, steps: int, first_half: bool = True, last_half: bool = False) -> None:
        self.words.append(command(RUN, steps, int(first_half) | int(last_half) << 1))
        self.model.run(steps, first_half, last_half)

    def clear(self) -> None:
        self.words.append(command(CLEAR))
        self.model = Model(self.box)

    def ask(self, what: int) -> None:
        model = self.model
        self.words.append(command(what))
        now = Model(self.box, copies(model.particles), model.flags, model.steps, model.pairs, model.lost)
        self.answers.append((what, now))


def play(
    script: Script, folder: Path, *, seed: int, pace: tuple[float, float] = (0.0, 0.0), abort: int = 0
) -> list[dict[str, object]]:
    """Simulate a script and compare every answer with the model; the statuses come back.

    With `abort` the script is begun, and after so many cycles there is a reset before it begins again.
    """
    print(f"seed {seed}")
    box = script.box
    size = box.beat // 8
    words = np.frombuffer(b"".join(w.to_bytes(size, "little") for w in script.words), np.uint8).reshape(-1, size)
    lengths = [1 + (len(m.particles) if what == DUMP else box.workers) for what, m in script.answers]
    result = simulate(
        "md_engine_dut",
        SOURCES,
        HERE / "bench_md_engine.py",
        results=folder,
        parameters=box.parameters,
        vectors={"words": words, "expect": np.array(sum(lengths)), "pace": np.array(pace), "abort": np.array(abort)},
        seed=seed,
    )
    assert result.passed, result.message
    assert "%Error" not in result.log.read_text(), result.message
    beats = [int.from_bytes(row.tobytes(), "little") for row in result.payload["beats"]]
    lasts = result.payload["lasts"].tolist()
    statuses = []
    for (what, model), length in zip(script.answers, lengths, strict=True):
        mine, beats = beats[:length], beats[length:]
        assert lasts[:length] == [0] * (length - 1) + [1]
        lasts = lasts[length:]
        if what == STATUS:
            status = read_status(box, mine)
            assert status["flags"] == model.flags
            assert status["workers"] == box.workers
            assert status["steps"] == model.steps
            assert status["particles"] == len(model.particles)
            assert status["lost"] == model.lost
            assert sum(status["pairs"]) == model.pairs  # type: ignore[arg-type]
            assert status["stalled"] == [7] * box.workers
            statuses.append(status)
            continue
        assert mine[0] == len(model.particles)
        got = sorted((read_particle(box, beat) for beat in mine[1:]), key=lambda p: p[1].id)
        cells = [read_particle(box, beat)[0] for beat in mine[1:]]
        assert cells == sorted(cells)
        wanted = sorted(model.particles, key=lambda p: p.id)
        for (cell, particle), right in zip(got, wanted, strict=True):
            assert (particle, cell) == (right, model.cell(right)), f"seed {seed}: {particle}, not {right}"
    return statuses  # type: ignore[return-value]


def test_runs_equal_the_model(tmp_path: Path) -> None:
    seed = 5
    rng = np.random.default_rng(seed)
    script = Script.of(Box())
    script.ask(DUMP)
    script.ask(STATUS)
    script.load(random_particles(script.box, rng, 90))
    script.ask(DUMP)
    script.run(3)
    script.ask(DUMP)
    script.run(4, first_half=False, last_half=True)
    script.ask(DUMP)
    script.ask(STATUS)
    script.run(0, last_half=True)
    script.run(0)
    script.ask(DUMP)
    script.ask(STATUS)
    script.clear()
    script.ask(DUMP)
    script.ask(STATUS)
    script.load(random_particles(script.box, rng, 20))
    script.run(6)
    script.ask(DUMP)
    statuses = play(script, tmp_path, seed=seed)
    assert script.model.flags == 0
    assert statuses[1]["run_cycles"] > statuses[1]["force_cycles"] > 0  # type: ignore[operator]


@pytest.mark.parametrize("abort", [300, 700, 1000])
def test_a_reset_in_the_middle_leaves_nothing(tmp_path: Path, abort: int) -> None:
    """While particles are loaded, and in the phases of a step: after 216 cycles that clear, and 90 beats."""
    seed = 8
    rng = np.random.default_rng(seed)
    script = Script.of(Box())
    script.load(random_particles(script.box, rng, 90))
    script.run(3)
    script.ask(DUMP)
    script.ask(STATUS)
    play(script, tmp_path, seed=seed, abort=abort)


def test_pauses_two_kinds_and_many_workers(tmp_path: Path) -> None:
    """Two registers to the workers, masses, cells that are not a cube, numbers of few bits, pauses on both streams."""
    seed = 6
    rng = np.random.default_rng(seed)
    box = Box(workers=9, filters=3, cells=(3, 4, 5), capacity=11, kinds=2, ratio=98_765, id_bits=8)
    script = Script.of(box)
    script.load(random_particles(box, rng, 120, speed=0.9))
    script.ask(DUMP)
    script.run(3, last_half=True)
    script.ask(STATUS)
    script.ask(DUMP)
    script.run(1)
    script.ask(DUMP)
    play(script, tmp_path, seed=seed, pace=(0.3, 0.3))


def test_flags(tmp_path: Path) -> None:
    seed = 7
    rng = np.random.default_rng(seed)
    box = Box(workers=1, filters=5, capacity=5, rmin2=1 << 24, shift=24)
    script = Script.of(box)
    model = script.model

    # Two particles too close; the flag stays, CLEAR takes it away.
    near = [Particle([1000, 1000, 1000], [0, 0, 0], 0, 1), Particle([1000, 3000, 1000], [0, 0, 0], 0, 2)]
    script.load(near)
    script.run(0, last_half=True)
    assert model.flags == CLOSE
    script.ask(STATUS)
    script.clear()
    script.ask(STATUS)

    # A velocity that no longer fits its bits.
    model = script.model
    top = (1 << (box.velocity - 1)) - 1
    script.load([Particle([60000, 9, 9], [top, 0, 0], 0, 1), Particle([20000, 9, 9], [-top - 1, 3, 0], 0, 2)])
    script.run(1, first_half=False)
    script.run(1)
    assert model.flags == FAST
    script.ask(DUMP)
    script.ask(STATUS)
    script.clear()

    # What is not there: a command, a cell, a kind. The rest of the packet is kept.
    model = script.model
    script.words.append(command(9, 77))
    good = random_particles(box, rng, 10)
    script.words.append(command(LOAD, 12))
    for number, particle in enumerate(good):
        if number == 3:
            script.words.append(particle_beat(box, particle, 27))
        if number == 6:
            script.words.append(particle_beat(box, Particle(particle.x, particle.v, 1, 99), 0))
        script.words.append(particle_beat(box, particle, model.cell(particle)))
    model.particles += copies(good)
    model.flags, model.lost = INVALID, 2
    script.ask(STATUS)
    script.ask(DUMP)
    script.clear()

    # More particles than slots on loading: those that come later are lost and counted.
    model = script.model
    crowd = [Particle([100 * n, 9, 9], [n, 0, 0], 0, n) for n in range(8)]
    script.load(crowd)
    model.particles, model.flags, model.lost = model.particles[:5], OVERFLOW, 3
    script.ask(STATUS)
    script.ask(DUMP)
    script.clear()

    # More than slots in a step: six go to one cell, from the one before it and from itself.
    model = script.model
    edge = 1 << box.p
    across = [Particle([edge - 1, 9000 * n + 900, 900], [top, 0, 0], 0, n) for n in range(4)]
    stay = [Particle([edge + 900, 9000 * n + 900, 40000], [0, 0, 0], 0, 10 + n) for n in range(2)]
    script.load([*across, *stay])
    script.run(1)
    assert [model.cell(p) for p in model.particles] == [1] * 6
    script.ask(STATUS)
    # Which one is lost depends on the order of the particles: they meet their new cell by old addresses.
    model = script.answers[-1][1]
    model.flags |= OVERFLOW
    model.lost = 1
    model.particles.pop()
    play(script, tmp_path, seed=seed, pace=(0.1, 0.1))


@pytest.mark.parametrize(
    ("module", "parameters", "message"),
    [
        ("md_engine", {"CELLS_X": 2}, "CELLS_X, CELLS_Y and CELLS_Z must be at least 3"),
        ("md_engine", {"CELLS_Y": 2}, "CELLS_X, CELLS_Y and CELLS_Z must be at least 3"),
        ("md_engine", {"CELLS_Z": 2}, "CELLS_X, CELLS_Y and CELLS_Z must be at least 3"),
        ("md_engine", {"WORKERS": 256}, "WORKERS must be 1 to 255"),
        ("md_engine", {"CAPACITY": 1}, "FILTERS must be at least 1 and CAPACITY at least 2"),
        ("md_engine", {"SUM_LATENCY": 1}, "SUM_LATENCY must be at least 2"),
        ("md_engine", {"KINDS": 3}, "KINDS must be 1 or 2"),
        ("md_engine", {"ID": 25}, "ID must be 1 to 24"),
        ("md_engine", {"VELOCITY": 36}, "VELOCITY must be at most P . V . 1"),
        ("md_engine", {"V": 32}, "V must be 1 to VELOCITY - 1"),
        ("md_load", {"BEAT": 200}, "BEAT must hold a particle"),
        ("md_load", {"CELLS": 70000}, "at most 65536 cells"),
        ("md_status", {"BEAT": 136}, "BEAT must be at least 144 and COUNTER at most 48"),
        ("md_walk", {"STEP": 0}, "STEP must be at least 1"),
        ("md_counts", {"CELLS": 1}, "CELLS and CAPACITY must be at least 2"),
        ("md_memory", {"WORDS": 0}, "WORDS and BITS must be at least 1"),
        ("md_broadcast", {"GROUP": 0}, "GROUP must be at least 1"),
    ],
)
def test_illegal_parameters_stop_elaboration(module: str, parameters: dict[str, int | str], message: str) -> None:
    with pytest.raises(FlowError, match=message):
        build(module, ENGINE, parameters=parameters)


LINTED: dict[str, dict[str, int | str]] = {
    "small": {"WORKERS": 1, "CELLS_X": 3, "CELLS_Y": 3, "CELLS_Z": 3, "CAPACITY": 5, "P": 16, "V": 4, "VELOCITY": 20},
    "large": {
        "WORKERS": 40, "FILTERS": 8, "CELLS_X": 7, "CELLS_Y": 6, "CELLS_Z": 6, "CAPACITY": 112, "KINDS": 2, "HUGE": 1
    },
}  # fmt: skip


@pytest.mark.parametrize("name", LINTED)
def test_lint(name: str) -> None:
    lint("md_engine", ENGINE, parameters=LINTED[name])
