"""docs/boards.md says what the code does: boards, rules, registers, messages, options."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from compare.provenance import repo_root
from designs import boards
from designs.boards import frames
from designs.boards.program_errors import udev_rule

ROOT = repo_root()
TEXT = (ROOT / "docs" / "boards.md").read_text()
#: The board table writes sizes of a family as suffixes.
FAMILIES = {"ulx3s": ("-12f", "-25f", "-45f", "-85f"), "orangecrab": ("-25f", "-85f"), "ecpix5": ("-45f", "-85f")}


def code() -> str:
    """Sources that say something to users, with strings that go over several lines joined, and fields as dots."""
    folders = [ROOT / "designs" / "boards", ROOT / "gatewarp", ROOT / "designs" / "flow"]
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    text = "\n".join(path.read_text() for path in (*files, ROOT / "designs" / "md" / "on_board.py"))
    return re.sub(r'"\s*\n\s*f?"', "", text)


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table behind a heading."""
    section = TEXT.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("name", boards.names())
def test_each_board_is_there(name: str) -> None:
    family = name.rsplit("-", 1)[0]
    suffix = f"-{name.rsplit('-', 1)[-1]}"
    assert f"`{name}`" in TEXT or suffix in FAMILIES.get(family, ())
    board = boards.load(name)
    if board.flow == "open":
        row = next(cells for cells in rows("The boards") if f"`{name}`" in cells[0] or f"`{family}-" in cells[0])
        assert f"{board.highest_baud:,}" == row[4]
        assert f"{board.clock_hz / 1e6:g} MHz" == row[2]
        assert row[6] in board.usb
        assert ("memory" in row[5].split(";")[0]) == board.sram
        assert board.bridge == "external" or board.bridge.split()[0] in row[3]


def test_the_rules_are_the_ones_that_errors_name() -> None:
    ids = {usb for name in boards.names() for usb in boards.load(name).usb if boards.load(name).flow == "open"}
    for usb in ids:
        assert f"    {udev_rule(usb)}\n" in TEXT


def test_registers_and_kinds() -> None:
    section = TEXT.split("| word | register | |")[1]
    for register in frames.Register:
        assert re.search(rf"\b{register.name}\b", section), register
    for line in section.split("\n\n")[0].splitlines()[2:]:
        numbers, names = (cell.strip() for cell in line.strip("|").split("|")[:2])
        first = int(re.split(r"[–,]", numbers)[0])
        assert frames.Register[re.split(r"[,\s]", names)[0]] == first
    for kind in frames.Kind:
        assert f"0x{kind:02x} {kind.name.split('_')[0]}" in " ".join(TEXT.split()), kind
    flags = {"serial frame error": 1, "overrun": 2, "bad frame": 4, "out of order": 8, "input FIFO overflow": 16}
    flags |= {"latency memory overflow": 32, "output FIFO was full": 64}
    assert set(flags.values()) == {flag.value for flag in frames.Flag}
    assert all(f"{value} {name}" in section for name, value in flags.items())


def test_messages_are_those_of_the_code() -> None:
    said = code()
    for cells in rows("What can go wrong"):
        for message in re.findall(r"`([^`]+)`", cells[0]):
            for part in re.split(r"…|\d[\d:]*|/dev/ttyUSB0|ulx3s-85f|LFE5U-45F|cmsisdap", message):
                assert part.strip(" ,();.") in said, (message, part)


def test_figures_of_the_shipped_runs() -> None:
    shares, clocks = [], []
    for workload in ("track", "bcnn", "deconv", "md"):
        run = json.loads((ROOT / "compare" / "reference" / f"{workload}-simulated-board.jsonl").read_text())
        said, figures = run["conditions"], {m["quantity"]: m["value"] for m in run["measurements"]}
        bits = 10 * round(figures["clock"] / said["baud"])
        shares.append(100 * bits * max(said["bytes_in"], said["bytes_out"]) / figures["cycles.line"])
        clocks.append(f"`{workload}/{run['case']}` {said['bitstream_fmax_hz'] / 1e6:.1f}")
    assert f"{', '.join(f'{share:.1f}' for share in shares)} %" in TEXT
    assert f"{', '.join(clocks)} MHz" in TEXT


def test_options_exist() -> None:
    said = code()
    for option in set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", TEXT)) - {"control", "reload-rules"}:
        assert re.search(rf'"--{option}"|\b{option.replace("-", "_")}: ', said), option


def test_the_picture_is_there() -> None:
    for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", TEXT):
        assert (Path(ROOT) / "docs" / name).is_file()
