"""Shared SystemVerilog modules: `source("stream_fifo")` is the path of one; `lattice/` holds vendor primitives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


#: Modules that a module instantiates.
PARTS: Mapping[str, tuple[str, ...]] = {
    "adder_tree": ("delay",),
    "credit_stream": ("stream_fifo",),
    "dot_product": ("adder_tree", "delay", "popcount"),
    "mvtu": ("adder_tree", "delay", "dot_product", "replay_buffer", "rom", "stream_fifo"),
    "popcount": ("adder_tree", "delay"),
    "rom": ("delay",),
    "sliding_window": ("stream_width",),
}


def closure(*names: str) -> list[Path]:
    """Paths of library modules and of all that they instantiate, each once: `closure("mvtu", "sliding_window")`."""
    known: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop(0)
        if name not in known:
            known[name] = None
            waiting += PARTS.get(name, ())
    return source(*known)


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
