"""What networks generated, as pictures: pixels that came in records, with their provenance like any other figure.

A record of pictures has a measurement `samples`, their number, and the conditions `pixels` (see `pack`), `shape`
(`24x8x8x1`: number, rows, columns, channels) and `arithmetic`; or `real` in place of an arithmetic, for what the
network was trained to resemble.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from compare import packed
from compare.record import Scalar
from compare.rows import Row, text
from compare.store import Problem

Pixels = NDArray[np.uint8]

#: In place of an arithmetic: nothing that a network generated.
REAL = "real"
#: Bytes that a record may unfold to: pictures in a report, no data set.
BYTES_AT_MOST = 2**22


class PixelError(ValueError):
    """Pixels that do not fit what the record says of them; the message says how."""


@dataclass(frozen=True)
class Sheet:
    """Pictures (n, rows, columns, channels), 1 channel or 3, and the row that they came in."""

    row: Row
    pixels: Pixels

    @property
    def name(self) -> str:
        """The arithmetic in which they were generated, or `real`."""
        return self.row.arithmetic


def pack(pixels: Pixels) -> dict[str, Scalar]:
    """Return the conditions that carry pictures (n, rows, columns, channels): deflated bytes in base 64.

    Errors: PixelError for another type or shape.
    """
    if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[-1] not in (1, 3):
        raise PixelError(f"pictures must be uint8 of (n, rows, columns, 1 or 3), got {pixels.dtype} of {pixels.shape}")
    raw = np.ascontiguousarray(pixels).tobytes()
    return {"pixels": packed.pack(raw), "shape": "x".join(map(str, pixels.shape))}


def unpack(pixels: Scalar, shape: Scalar) -> Pixels:
    """Return what `pack` packed. Errors: PixelError, saying what does not fit."""
    try:
        sides = tuple(int(side) for side in text(shape).split("x"))
        if len(sides) != 4 or min(sides) < 1 or sides[-1] not in (1, 3) or math.prod(sides) > BYTES_AT_MOST:
            raise ValueError(f"pictures have no shape {text(shape)!r}")
        raw = packed.unpack(pixels, math.prod(sides), f"pixels of the shape {text(shape)}")
    except ValueError as error:
        raise PixelError(str(error)) from None
    return np.frombuffer(raw, np.uint8).reshape(sides)


def is_sheet(row: Row) -> bool:
    """Whether a row carries pictures."""
    return "samples" in row.figures


def sheets_of(rows: Iterable[Row]) -> tuple[tuple[Sheet, ...], list[Problem]]:
    """Return the pictures of rows, real ones last, and those that cannot be read."""
    sheets: list[Sheet] = []
    problems: list[Problem] = []
    for row in rows:
        try:
            sheets.append(Sheet(row, unpack(row.conditions.get("pixels"), row.conditions.get("shape"))))
        except PixelError as error:
            problems.append(Problem(Path(row.implementation), 0, f"pictures of {row.case} skipped: {error}"))
    return tuple(sorted(sheets, key=lambda s: (s.row.case, s.name == REAL, -_finer(s.name)))), problems


def _finer(arithmetic: str) -> int:
    """Floats before integers, more bits before fewer."""
    bits = int("".join(filter(str.isdigit, arithmetic)) or 0)
    return bits + (1000 if arithmetic.startswith("f") and not arithmetic.startswith("fixed") else 0)
