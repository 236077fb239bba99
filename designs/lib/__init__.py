"""Shared SystemVerilog modules: `source("stream_fifo")` is the path of one; `lattice/` holds vendor primitives."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def source(*names: str) -> list[Path]:
    """Paths of library modules by name, such as `source("stream_fifo", "lattice/ecp5_pll")`.

    Errors: FileNotFoundError that lists the modules there are.
    """
    paths = [FOLDER / f"{name}.sv" for name in names]
    for name, path in zip(names, paths, strict=True):
        if not path.is_file():
            known = sorted(p.relative_to(FOLDER).with_suffix("").as_posix() for p in FOLDER.rglob("*.sv"))
            raise FileNotFoundError(f"no library module {name!r}; there are: {', '.join(known)}")
    return paths
