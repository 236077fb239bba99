"""The CUDA kernels of `md`, thread for thread on this machine's CPU, against float64."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu.md import bricks
from gpu.md.checks import judge
from gpu.md.launch import BadState, Unsupported
from gpu.md.layout import Problem
from gpu.md.plan import Plan, candidates, plan
from gpu.runtime.device import Info
from tests.gpu.md.grid_simt import Emulated, without_ptx
from workloads.md.motion import Moment, run
from workloads.md.system import Species, System

SIDE = 5
BOX = (SIDE * (4 / 0.8442) ** (1 / 3),) * 3
COUNT = 4 * SIDE**3
PLAIN = System("plain", (Species(),), (COUNT,), BOX, 2.5, 0.004, (3, 3, 3))
SALT = System(
    "salt", (Species(1.0, 1.0, 1.0, 0.02), Species(2.0, 0.9, 1.2, -0.02)), (COUNT // 2, COUNT // 2), BOX, 2.5, 0.004,
    (3, 3, 3), switch=2.0, ewald=0.9,
)  # fmt: skip
#: 30 particles in a box of two cutoffs and a bit: images of a brick are its own neighbours.
FEW = System("few", (Species(),), (30,), (8.0,) * 3, 3.0, 0.004, (2, 2, 2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("grid_simt")


def start(system: System, seed: int = 7) -> tuple[Any, Any]:
    """Shaken lattice sites in any order, and velocities."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    side = SIDE if system.n == COUNT else 2
    corners = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 1, 3)
    sites = (corners + np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])).reshape(-1, 3)
    at = sites[rng.permutation(len(sites))[: system.n]] * (np.array(system.box) / side)
    at = np.mod(at + rng.uniform(-0.08, 0.08, at.shape), system.box)
    return at, rng.normal(size=at.shape) * 1.2


def made(folder: Path, system: System, choice: Plan, units: int, batch: int = 5) -> Any:
    problem = Problem(system.name, system)
    return bricks.simulation(Emulated(folder, units), problem, "fp32", choice, batch, "queue")  # type: ignore[arg-type]


def planned(system: System, cut: tuple[int, int, int], members: int, lanes: int, units: int, **more: Any) -> Plan:
    info = Emulated(Path(), units).info
    return plan(Problem(system.name, system), info, cut, members=members, lanes=lanes, skin=0.15, **more)


SHAPES = [
    (PLAIN, (3, 2, 3), 2, 1, 4, False),  # a queue of bricks, lists packed by single threads
    (PLAIN, (2, 2, 2), 1, 2, 16, True),  # a cluster
    (SALT, (2, 2, 2), 4, 4, 16, False),  # kinds, charges, a switch; blocks keep their brick
    (FEW, (1, 2, 1), 1, 32, 4, False),
]


@pytest.mark.parametrize(("system", "cut", "members", "lanes", "units", "cluster"), SHAPES)
def test_trajectory(
    folder: Path, system: System, cut: tuple[int, int, int], members: int, lanes: int, units: int, cluster: bool
) -> None:
    choice = planned(system, cut, members, lanes, units, cluster=cluster)
    simulation = made(folder, system, choice, units)
    positions, velocities = start(system)
    simulation.set(positions, velocities)
    problem = simulation.problem
    assert judge(problem, simulation.snapshot(), simulation.resolution).complaint == ""
    for launches in (1, 2):
        for _ in range(launches):
            simulation.launch(0)
    got, status = simulation.snapshot(), simulation.status()
    assert (status.steps, status.problem) == (15, "")
    assert status.builds > 1 or system is FEW
    *_, wanted = run(system, Moment(positions, velocities), 15, 15)
    off = got.positions - wanted.positions
    off -= np.array(system.box) * np.round(off / np.array(system.box))
    assert np.abs(off).max() < 2e-6
    assert np.abs(got.velocities - wanted.velocities).max() < 2e-5
    assert judge(problem, got, simulation.resolution).complaint == ""


def test_blocks_and_order_do_not_matter(folder: Path) -> None:
    """Sums have one order, whichever block does a brick and in whatever order particles came into it: races show."""
    found = []
    for units in (2, 3):
        choice = dataclasses.replace(planned(PLAIN, (3, 2, 3), 2, 1, units), resident=1, grid=units)
        simulation = made(folder, PLAIN, choice, units)
        simulation.set(*start(PLAIN))
        for _ in range(3):
            simulation.launch(0)
        found.append(simulation.snapshot())
    for name in ("positions", "velocities", "forces"):
        assert np.array_equal(getattr(found[0], name), getattr(found[1], name)), name


def test_lengths_of_launches_do_not_matter(folder: Path) -> None:
    choice, found = planned(PLAIN, (2, 2, 2), 1, 2, 16, cluster=True), []
    for batch in (1, 4):
        simulation = made(folder, PLAIN, choice, 16, batch)
        simulation.set(*start(PLAIN))
        for _ in range(4 // batch):
            simulation.launch(0)
        found.append(simulation.snapshot())
    assert np.abs(found[0].positions - found[1].positions).max() < 1e-7  # two half kicks are not one whole


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"chunks": 1}, "a group of particles has more neighbours than the 16"),
        ({"room": 300}, "more particles are within reach of a brick than the 300"),
    ],
)
def test_too_little_room_is_named(folder: Path, change: dict[str, int], complaint: str) -> None:
    choice = dataclasses.replace(planned(PLAIN, (3, 2, 3), 2, 2, 4), **change)
    if "chunks" in change:
        choice = dataclasses.replace(choice, lanes=4)
    simulation = made(folder, PLAIN, choice, 4)
    with pytest.raises(BadState, match=complaint):
        simulation.set(*start(PLAIN))


def test_crowded_bricks_are_named(folder: Path) -> None:
    positions, velocities = start(PLAIN)
    choice = planned(PLAIN, (3, 2, 3), 2, 1, 4)
    problem = Problem("plain", PLAIN)
    most = int(bricks.pack(problem, choice, positions, velocities)["own"].max())
    tight = dataclasses.replace(choice, slots=most)
    with pytest.raises(Unsupported, match=f"{most} particles in a brick, but it has {most - 1} slots"):
        bricks.pack(problem, dataclasses.replace(choice, slots=most - 1), positions, velocities)
    # All move towards the middle.
    velocities = np.sign(BOX[0] / 2 - positions) * [25.0, 0, 0]
    simulation = made(folder, PLAIN, tight, 4)
    simulation.set(positions, velocities)
    for _ in range(2):
        simulation.launch(0)
    assert f"more particles than its {most} slots" in simulation.status().problem


def test_overlap_and_speed_are_named(folder: Path) -> None:
    choice = planned(PLAIN, (3, 2, 3), 2, 1, 4)
    simulation = made(folder, PLAIN, choice, 4)
    positions, velocities = start(PLAIN)
    close = positions.copy()
    close[17] = close[200] + [0.05, 0, 0]
    with pytest.raises(BadState, match="overlap"):
        simulation.set(close, velocities)
    simulation._set(close, velocities)
    assert "two particles overlap" in simulation.status().problem
    same = positions.copy()
    same[17] = same[200]
    simulation._set(same, velocities)
    assert "two particles overlap" in simulation.status().problem
    for speed in (1e9, np.nan):
        simulation.set(positions, velocities)
        fast = simulation._buffers["velocity_0"].view(np.float32).reshape(-1, 4)
        fast[3, 1] = speed
        simulation.launch(0)
        assert "moves by more than 0.25" in simulation.status().problem
    bad = positions.copy()
    bad[5, 1] = np.nan
    with pytest.raises(BadState, match="particle 5"):
        simulation.set(bad, velocities)


def test_lost_particles_are_refused(folder: Path) -> None:
    choice = planned(PLAIN, (3, 2, 3), 2, 1, 4)
    problem = Problem("plain", PLAIN)
    packed = bricks.pack(problem, choice, *start(PLAIN))
    shape = (choice.total, choice.slots, 4)
    arrays = {
        "own": packed["own"],
        "at": packed["at_0"].reshape(shape),
        "velocity_0": packed["velocity_0"].reshape(shape),
    }
    arrays["force"] = np.zeros(shape, np.float32)
    positions, velocities = start(PLAIN)
    found = bricks.unpack(problem, choice, arrays)
    assert np.abs(found.positions - positions).max() < BOX[0] / bricks.EDGE
    assert np.abs(found.velocities - velocities).max() < 1e-6
    arrays["own"][4] -= 1
    with pytest.raises(BadState, match="came back"):
        bricks.unpack(problem, choice, arrays)


def test_plans() -> None:
    """What a GPU is offered fits it, and what cannot be done is refused with the number and the limit."""
    info = Info("some", "some", "cuda", 132, 0, 32, True, 227 * 1024, {})
    problem = Problem("plain", PLAIN)
    for system in (PLAIN, SALT, FEW):
        found = candidates(Problem(system.name, system), info)
        assert found
        assert all(p.shared(problem) <= info.local_bytes and p.grid <= p.resident * info.units for p in found)
    with pytest.raises(Unsupported, match="less than half of the reach"):
        plan(problem, info, (9, 9, 9), members=1, lanes=1, skin=0.2)
    with pytest.raises(Unsupported, match="27 bricks, but a cluster has 16"):
        plan(problem, info, (3, 3, 3), members=1, lanes=1, skin=0.2, cluster=True)
    dense = dataclasses.replace(PLAIN, name="dense", counts=(12_000,))
    with pytest.raises(Unsupported, match="4095 at most"):
        plan(Problem("dense", dense), info, (1, 1, 1), members=1, lanes=1, skin=0.2)
    three = dataclasses.replace(PLAIN, name="three", species=(Species(),) * 3, counts=(1, 1, 498))
    assert bricks.supported(Problem("three", three), info) == ()


def test_ptx_is_replaced() -> None:
    choice = planned(PLAIN, (3, 2, 3), 2, 1, 4)
    assert "asm" not in without_ptx(bricks.text(Problem("plain", PLAIN), choice))
