"""The append-only store of records: JSON lines, a new file per run, never overwritten.

The writer needs the standard library only. The reader also validates against `record.schema.json`; a line or a file
that cannot be read is reported as a `Problem` and left as it is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from compare.provenance import repo_root, utc_now
from compare.record import SCHEMA_VERSION, Record, RecordError

#: Where records live, relative to the repository: those shipped with it, and the user's own.
REFERENCE = "compare/reference"
RESULTS = "results"


@dataclass(frozen=True)
class Problem:
    """A record file or a line of it that was skipped. `line` counts from 1; 0 means the whole file."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.message}"


@dataclass(frozen=True)
class Stored:
    """A record and where it was read. `shipped` tells the product's reference records from the user's own."""

    record: Record
    path: Path
    line: int
    shipped: bool


def write_records(folder: Path | str, stem: str, records: Iterable[Record], *, keep: bool = False) -> Path:
    """Write one run's records to a new file `<stem>-<time>.jsonl` in `folder` and return its path.

    Each line goes to a temporary name and to the disk as soon as its record comes; at the end the file is renamed to a
    final name that did not exist before. After any error or an interrupt nothing is left behind; with `keep` the
    records that came before it are. Errors: ValueError for no records or a stem that is no plain file name; OSError
    when the disk refuses; whatever the records raise.
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", stem):
        raise ValueError(f"stem {stem!r} must be a plain file name: letters, digits, '.', '_', '-'")
    waiting = iter(records)
    first = next(waiting, None)
    if first is None:
        raise ValueError(f"no records to write for {stem!r}")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    stamp = re.sub(r"[^0-9TZ]", "", utc_now().replace("+00:00", "Z"))
    temporary, final = target / f".{stem}-{stamp}-{os.getpid()}.tmp", target / f"{stem}-{stamp}.jsonl"
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as stream:
            for record in chain([first], waiting):
                stream.write(record.to_json() + "\n")
                stream.flush()
                os.fsync(stream.fileno())
        return _move_new(temporary, final)
    except BaseException:
        if keep and temporary.exists() and temporary.stat().st_size:
            _move_new(temporary, final)
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _move_new(temporary: Path, wanted: Path) -> Path:
    """Give `temporary` the first free name like `wanted`, claimed by exclusive creation so that nothing is replaced."""
    final, count = wanted, 1
    while True:
        try:
            open(final, "x").close()
            break
        except FileExistsError:
            count += 1
            final = wanted.with_name(f"{wanted.stem}-{count}{wanted.suffix}")
    try:
        os.replace(temporary, final)
        directory = os.open(final.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except BaseException:
        final.unlink(missing_ok=True)
        raise
    return final


def read_store(*folders: Path | str) -> tuple[list[Record], list[Problem]]:
    """Return the readable records of every `*.jsonl` in `folders`, and the problems met; a missing folder is empty."""
    stored, problems = scan(*folders)
    return [item.record for item in stored], problems


def scan(*folders: Path | str) -> tuple[list[Stored], list[Problem]]:
    """As `read_store`, with the place of each record; a record that occurs twice is taken once, shipped first."""
    found: dict[str, Stored] = {}
    problems: list[Problem] = []
    places = [Path(folder) for folder in folders]
    for folder in places:
        if folder.exists() and not folder.is_dir():
            problems.append(Problem(folder, 0, "is no folder of records"))
    reference = (repo_root() / REFERENCE).resolve()
    paths = {path.resolve(): path for folder in places for path in sorted(folder.glob("*.jsonl"))}
    for path in sorted(paths, key=lambda p: (not p.is_relative_to(reference), p)):
        for item in _read_file(paths[path], path.is_relative_to(reference), problems):
            found.setdefault(item.record.id, item)
    return list(found.values()), problems


def _read_file(path: Path, shipped: bool, problems: list[Problem]) -> list[Stored]:
    items: list[Stored] = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problems.append(Problem(path, 0, f"cannot be read, skipped: {error}"))
        return items
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            items.append(Stored(parse(line), path, number, shipped))
        except RecordError as error:
            problems.append(Problem(path, number, f"skipped: {error}"))
    return items


def parse(line: str) -> Record:
    """Return the record of one line, checked against the schema and by the record itself.

    Errors: RecordError, naming the field.
    """
    try:
        data = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise RecordError("not a JSON object")
    if data.get("schema") != SCHEMA_VERSION:
        raise RecordError(f"schema {data.get('schema')!r}, this version reads {SCHEMA_VERSION}")
    for flaw in sorted(_validator().iter_errors(data), key=lambda e: str(e.json_path)):
        raise RecordError(f"{flaw.json_path}: {flaw.message}")
    return Record.from_json(line)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema_path().read_text(encoding="utf-8")))


def schema_path() -> Path:
    """Return the JSON Schema of a record line."""
    return Path(__file__).with_name("record.schema.json")
