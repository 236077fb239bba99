"""Labelled images, their parts, and what is said where they cannot be had."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class ImagesError(RuntimeError):
    """Images that this machine cannot get: no package, or no network. The message says what mends it."""


@dataclass(frozen=True)
class Images:
    """`pixels` int8 (n, rows, columns, channels), `labels` int64 (n,)."""

    pixels: NDArray[np.int8]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Parts:
    """Three parts without an image in common. `test` is for the quality figure only, never for a choice."""

    train: Images
    validation: Images
    test: Images
