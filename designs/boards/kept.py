"""Bitstreams that are kept as files, each with a `.json` beside it that says what it is.

path = keep(built, Path("build"), subject.sources("compact"))
facts = facts_of(path)
check(path, facts, load("ulx3s"))            of this board's part, and not older than its sources
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compare.provenance import SourceError, hash_sources, repo_root
from designs.boards import Board
from designs.boards.bitstream import Built, Plan, Routed, of, sources_of
from designs.boards.program import check_bitstream

_FACTS = (
    "workload", "case", "board", "part", "clock_mhz", "baud", "design", "sha256", "seed", "fmax_hz", "sources",
    "sources_hash",
)  # fmt: skip


class WrongBitstream(ValueError):
    """A bitstream of another part, board or design, or of older sources; the message says which, and the way out."""


def keep(built: Built, folder: Path, sources: Sequence[str]) -> Path:
    """Copy a bitstream to `<workload>-<case>-<board>.bit` in `folder`, and a `.json` that says what it is.

    `sources` are the files that determine the core. Returns the path of the bitstream.
    """
    core = built.core
    target = folder / f"{core.workload}-{core.case}-{built.board.name}-deploy.bit"
    folder.mkdir(parents=True, exist_ok=True)
    every = sorted({*sources, *sources_of(built.board)})
    facts = {
        "workload": core.workload, "case": core.case, "board": built.board.name, "part": built.board.part,
        "clock_mhz": built.clocking.frequency_hz / 1e6, "baud": built.baud, "design": built.design,
        "sha256": built.sha256, "seed": built.seed, "fmax_hz": built.fmax_hz, "sources": every,
        "sources_hash": hash_sources(repo_root(), every),
    }  # fmt: skip
    for path, content in ((target.with_suffix(".json"), json.dumps(facts, indent=1).encode()), (target, None)):
        part = path.with_name(f"{path.name}.part")
        try:
            if content is None:
                shutil.copyfile(built.path, part)
            else:
                part.write_bytes(content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return target


def facts_of(path: Path) -> dict[str, Any]:
    """What `keep` wrote beside a bitstream. Errors: WrongBitstream."""
    if not path.is_file():
        raise WrongBitstream(f"no bitstream {path}; leave --bitstream out and it is built")
    beside = path.with_suffix(".json")
    try:
        facts = json.loads(beside.read_text())
        return {name: facts[name] for name in _FACTS}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WrongBitstream(
            f"{path}: what it is should stand in {beside.name}, which gatewarp writes with it ({error}); leave "
            "--bitstream out and it is built"
        ) from None


def check(path: Path, facts: Mapping[str, Any], board: Board) -> None:
    """Refuse a stored bitstream that is not what it says, of another board or part, or older than its sources.

    Errors: WrongBitstream, and WrongPart of `designs.boards.program`; each case has its own message.
    """
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != facts["sha256"]:
        raise WrongBitstream(f"{path}: not the file that {path.with_suffix('.json').name} tells of; build it again")
    check_bitstream(path, content, board)
    if facts["board"] != board.name:
        raise WrongBitstream(
            f"{path} was built for the board {facts['board']}, not for {board.name}, which has other pins; leave "
            "--bitstream out and it is built"
        )
    try:
        now = hash_sources(repo_root(), facts["sources"])
    except SourceError as error:
        now = str(error)
    if now != facts["sources_hash"]:
        raise WrongBitstream(
            f"{path} is older than its sources: one of {len(facts['sources'])} files has changed since it was built; "
            "leave --bitstream out and it is built again"
        )


def stored(path: Path, planned: Plan, facts: Mapping[str, Any]) -> Built:
    """A bitstream that `check` let pass, as `build` would return it. Errors: WrongBitstream for another design."""
    if facts["design"] != planned.design:
        raise WrongBitstream(f"{path} holds design {facts['design']}, today's is {planned.design}; build it again")
    routed = Routed(int(facts["seed"]), float(facts["fmax_hz"]), True, path)
    return of(planned, routed)
