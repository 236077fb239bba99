"""A table as text cells, which every writer shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar


@dataclass(frozen=True)
class Table:
    """A title, column names, cells as text.

    `numbers` are set right, `wraps` hold sentences, as the last column may. A `long` table stands in files, and on a
    terminal only when the whole is asked for. On a page the last column of a `wide` one stands under each row.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[str] = frozenset()
    wraps: frozenset[str] = frozenset()
    long: bool = False
    wide: bool = False


Thing = TypeVar("Thing")


def table(
    title: str,
    things: Iterable[Thing],
    columns: Mapping[str, Callable[[Thing], str]],
    numbers: Sequence[str] = (),
    *,
    wide: bool = False,
) -> Table:
    """Return a table with one row for each thing and one column for each function of it."""
    cells = [tuple(cell(thing) for cell in columns.values()) for thing in things]
    return Table(title, tuple(columns), tuple(cells), frozenset(numbers), wide=wide)


def without(given: Table, column: str) -> Table:
    """Return a table less one column."""
    keep = [i for i, name in enumerate(given.columns) if name != column]
    rows = tuple(tuple(row[i] for i in keep) for row in given.rows)
    return replace(given, columns=tuple(given.columns[i] for i in keep), rows=rows)


def without_empty(given: Table, missing: str, keep: Sequence[str] = ()) -> Table:
    """Return a table less the columns in which every cell is `missing`, but for those to `keep`."""
    empty = [c for i, c in enumerate(given.columns) if given.rows and all(row[i] == missing for row in given.rows)]
    for column in empty:
        given = given if column in keep else without(given, column)
    return given
