"""SystemVerilog of the vendor boards: the byte port behind AXI4-Lite, the clock, and stand-ins of primitives.

byte_port(), clock(), and in simulation stand_ins() for the primitives of the clock
"""

from __future__ import annotations

from pathlib import Path

from designs.lib import source

FOLDER = Path(__file__).resolve().parent

#: The vendor's primitives that `vc709_clock` instantiates; sim/ has a stand-in of each.
PRIMITIVES = ("IBUFDS", "MMCME2_BASE", "BUFG")


def byte_port() -> list[Path]:
    """The module `axil_bytes` and what it instantiates."""
    return [FOLDER / "axil_bytes.sv", *source("stream_fifo")]


def clock() -> list[Path]:
    """The module `vc709_clock`, which instantiates the vendor's primitives."""
    return [FOLDER / "vc709_clock.sv"]


def stand_ins() -> list[Path]:
    """Stand-ins for those primitives in simulation."""
    return [FOLDER / "sim" / f"{name}.sv" for name in PRIMITIVES]
