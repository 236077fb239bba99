"""deconv_rom: every word of memories with one bank and with several, where the Python puts them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from engine_bench import FOLDER, SOURCES
from players import Player, play

from designs.deconv.compiler_images import BLOCK, hexadecimal, lines_of
from designs.flow.tools import FlowError
from designs.flow.verilator import build

ROM = FOLDER / "deconv_rom.sv"
#: Words and most words of a bank: one bank, two, and four of which the last lines are not full.
SHAPES = ((5, 8), (8, 8), (9, 8), (29, 8))


def test_every_word_comes_three_cycles_after_its_address(tmp_path: Path) -> None:
    seed = 51
    print("seed", seed)
    rng = np.random.default_rng(seed)
    players, stimuli, held, files = [], [], [], []
    for words, block in SHAPES:
        rows = rng.integers(0, 256, (words, 2), dtype=np.uint8)
        lines = lines_of(rows, block)
        files.append(tmp_path / f"words{words}.hex")
        files[-1].write_text(hexadecimal(lines, 8 * lines.shape[1]))
        parameters: dict[str, int | str] = {
            "WIDTH": 16, "DEPTH": words, "BLOCK": block, "FILE": f'"{files[-1].name}"'
        }  # fmt: skip
        address = (words - 1).bit_length()
        players.append(Player("deconv_rom", parameters, {"address": address}, {"data": 16}, has_reset=False))
        stimuli.append({"address": [*range(words), *(int(n) for n in rng.integers(0, words, 200 - words))]})
        held.append(rows.view("<u2")[:, 0])
    found = play(players, stimuli, sources=[ROM], results=tmp_path / "run", seed=seed, data=files)
    for values, answer, words_held in zip(stimuli, found, held, strict=True):
        for cycle in range(197):
            assert answer["data"][cycle + 3] == words_held[values["address"][cycle]]


def test_the_python_has_the_same_block() -> None:
    found = re.search(r"parameter int BLOCK = (\d+)", ROM.read_text())
    assert found
    assert int(found[1]) == BLOCK


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"FILE": '"zero.hex"', "DEPTH": 1}, "DEPTH at least 2"),
        ({"FILE": '"zero.hex"', "BLOCK": 3}, "BLOCK must be a power of two"),
        ({}, "FILE must name a file of DEPTH words"),
    ],
)
def test_illegal_parameters_stop_elaboration(parameters: dict[str, int | str], message: str) -> None:
    with pytest.raises(FlowError, match=f"deconv_rom: .*{message}"):
        build("deconv_rom", SOURCES, parameters=parameters)
