"""Generated tops, table images and the words of the streams."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from md_systems import CHARGED, ENGINE, SINGLE, start

from designs.flow.verilator import run_verilator
from designs.md.generate import Design, beat_bits, generate_system, memory_images
from designs.md.protocol import EngineFault, Script, Status, check, dumped, packed, reported, unpacked
from workloads.md.system import System
from workloads.md.tables import format_of, tables


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


@pytest.mark.parametrize("system", [SINGLE, CHARGED], ids=lambda s: s.name)
def test_images_hold_the_tables(system: System) -> None:
    table = tables(system, format_of(system))
    images = memory_images(table)
    assert [name for name in images if name.startswith("table")] == [f"table_{t}" for t in range(len(table.base))]
    for term in range(len(table.base)):
        words = [int(line, 16) for line in images[f"table_{term}"].split()]
        fields = [unpacked(word, (table.value_bits, table.slope_bits)) for word in words]
        assert [signed(base, table.value_bits) for base, _ in fields] == table.base[term].tolist()
        assert [signed(slope, table.slope_bits) for _, slope in fields] == table.slope[term].tolist()
    if table.coefficients is None:
        assert "coefficients" not in images
        return
    words = [int(line, 16) for line in images["coefficients"].split()]
    rows = [[signed(c, 18) for c in unpacked(word, (18,) * 3)] for word in words]
    assert rows == table.coefficients.transpose(1, 2, 0).reshape(4, 3).tolist()


@pytest.mark.parametrize("system", [SINGLE, CHARGED], ids=lambda s: s.name)
def test_generated_tops_are_clean(system: System, tmp_path: Path) -> None:
    design = generate_system(system, ENGINE)
    assert design.bits == beat_bits(design.table.format) == 216
    for path in design.memories:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    arguments = ["--lint-only", "-Wall", "--no-timing", "--top-module", design.top, *map(str, design.sources)]
    run_verilator(arguments, tmp_path, tmp_path / "verilator.log")


def test_a_design_changes_with_what_it_is_made_from() -> None:
    first = generate_system(SINGLE, ENGINE)
    assert generate_system(SINGLE, ENGINE).digest == first.digest
    assert generate_system(CHARGED, ENGINE).digest != first.digest


def test_words_come_back_as_they_were_sent() -> None:
    design = generate_system(CHARGED, ENGINE)
    _, state = start(CHARGED, 2)
    script = Script(design)
    script.load(state, ids=range(len(state.positions))[::-1])
    assert script.words[0] == 1 | CHARGED.n << 16
    back = dumped(design, [CHARGED.n, *script.words[1:]])
    np.testing.assert_array_equal(back.positions, state.positions[::-1])
    np.testing.assert_array_equal(back.velocities, state.velocities[::-1])
    np.testing.assert_array_equal(back.kinds, state.kinds[::-1])
    assert (state.velocities < 0).any()


def test_packets_that_cannot_be_are_refused(single: Design) -> None:
    with pytest.raises(ValueError, match="a dump of 3 particles with 1 beats"):
        dumped(single, [3, 0])
    with pytest.raises(ValueError, match="a dump in which a particle comes twice"):
        dumped(single, [2, 5, 5])
    with pytest.raises(ValueError, match="a status of 2 workers with 1 beats"):
        reported([2 << 8, 0])


def test_status_fields(single: Design) -> None:
    head = packed((5, 2, 100, 4000, 5000, 256, 3), (8, 8, 32, 48, 48, 32, 32))
    status = reported([head, packed((1700, 9000, 1), (48,) * 3), packed((1900, 9001, 2), (48,) * 3)])
    assert (status.flags, status.steps, status.particles, status.lost) == (5, 100, 256, 3)
    assert (status.pairs.tolist(), status.stalled.tolist()) == ([1700, 1900], [1, 2])
    assert status.useful == 3600 / (2 * 4000)


def test_a_host_names_what_went_wrong(single: Design) -> None:
    def status(flags: int, lost: int = 0) -> Status:
        nothing = np.zeros(2, np.int64)
        return Status(flags, 2, 7, 10, 10, 256, lost, nothing, nothing, nothing)

    check(single, status(0))
    with pytest.raises(
        EngineFault,
        match=r"^single on small, after 7 steps: 3 particles lost: a cell got more than the 20 of its memory$",
    ):
        check(single, status(1, lost=3))
    with pytest.raises(EngineFault, match=r"two particles came closer than 0.75, .*; a particle became too fast"):
        check(single, status(6))
    with pytest.raises(EngineFault, match="a command, cell or kind came in"):
        check(single, status(8))


@pytest.fixture
def single() -> Design:
    return generate_system(SINGLE, ENGINE)
