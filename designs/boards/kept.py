"""Bitstreams that are kept as files, each with a `.json` beside it that says what it is.

path = keep(built, Path("build"), subject.sources("compact"))
facts = facts_of(path)
check(path, facts, load("ulx3s"))            of this board's part, and not older than its sources
stored(path, planned, facts)                 of the same top and the same sources as would be built today
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compare.provenance import SourceError, hash_sources, repo_root
from designs.boards import Board
from designs.boards.bitstream import Built, Plan, Routed, of, sources_of
from designs.boards.program import check_bitstream

#: What `keep` writes, and of which type each is.
_FACTS: Mapping[str, type | tuple[type, ...]] = {
    "workload": str, "case": str, "board": str, "part": str, "clock_mhz": (int, float), "baud": int, "design": str,
    "sha256": str, "seed": int, "fmax_hz": (int, float), "options": list, "sources": list, "sources_hash": str,
    "top_hash": str, "contents_hash": str,
}  # fmt: skip


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
        "sha256": built.sha256, "seed": built.seed, "fmax_hz": built.fmax_hz,
        "options": list(built.options), "sources": every,
        "sources_hash": hash_sources(repo_root(), every), "top_hash": top_hash(built),
        "contents_hash": contents_hash(built),
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
        if not isinstance(facts, dict):
            raise ValueError("no JSON object")
        return {name: _typed(name, facts[name]) for name in _FACTS}
    except FileNotFoundError:
        raise _untold(path, "there is none; `deploy` does not take a bitstream of `gatewarp build`") from None
    except KeyError as error:
        raise _untold(path, f"{error} is missing") from None
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        raise _untold(path, str(error)) from None


def top_hash(made: Built | Plan) -> str:
    """SHA-256 of the text of the top: clock, baud rate, pins and buffers are in it."""
    return hashlib.sha256(made.text.encode()).hexdigest()


def contents_hash(made: Built | Plan) -> str:
    """SHA-256 over the names and contents of all other files of the synthesis, generated ones and memories included."""
    digest = hashlib.sha256()
    for path in (*made.sources, *made.core.memories):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _typed(name: str, value: Any) -> Any:
    """A fact as it should be. Errors: ValueError."""
    good = isinstance(value, _FACTS[name]) and not isinstance(value, bool)
    if good and isinstance(value, list):
        good = all(isinstance(each, str) for each in value)
    if good and isinstance(value, int | float):
        good = math.isfinite(value) and value > 0
    if not good:
        raise ValueError(f"{name} cannot be {str(value)[:40]!r}")
    return value


def _untold(path: Path, why: str) -> WrongBitstream:
    return WrongBitstream(
        f"{path}: what it is should stand in {path.with_suffix('.json').name}, which gatewarp writes with it ({why}); "
        "leave --bitstream out and it is built"
    )


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
    """A bitstream that `check` let pass, as `build` would return it.

    Errors: WrongBitstream for another design, another top (its clock and baud rate included), or other source texts.
    """
    if facts["design"] != planned.design:
        raise WrongBitstream(f"{path} holds design {facts['design']}, today's is {planned.design}; build it again")
    for what, has, due in (
        ("top level", facts["top_hash"], top_hash(planned)),
        ("sources", facts["contents_hash"], contents_hash(planned)),
    ):
        if has != due:
            raise WrongBitstream(
                f"{path} was built from another text of the {what} ({has[:12]}) than today's for "
                f"{facts['clock_mhz']:g} MHz and {facts['baud']:,} baud ({due[:12]}); leave --bitstream out and it is "
                "built again"
            )
    routed = Routed(int(facts["seed"]), float(facts["fmax_hz"]), True, path, tuple(facts["options"]))
    return of(planned, routed)
