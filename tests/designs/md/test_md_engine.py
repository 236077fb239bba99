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

from designs.flow.verilator import simulate
from designs.lib import closure

HERE = Path(__file__).parent
FOLDER = HERE.parents[2] / "designs" / "md"
PARTS = (
    "account", "axis", "broadcast", "collect", "control", "counts", "dispatch", "dump", "engine", "load", "master",
    "memory", "motion", "move", "place", "scale", "status", "walk",
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


def play(script: Script, folder: Path, *, seed: int, pace: tuple[float, float] = (0.0, 0.0)) -> list[dict[str, object]]:
    """Simulate a script and compare every answer with the model; the statuses come back."""
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
        vectors={"words": words, "expect": np.array(sum(lengths)), "pace": np.array(pace)},
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
