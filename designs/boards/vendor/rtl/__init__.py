"""SystemVerilog of the vendor boards: the byte port behind AXI4-Lite, the clock, and stand-ins of primitives.

byte_port(), clock() or clock(simulated=True) with stand-ins for the primitives
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


def clock(*, simulated: bool = False) -> list[Path]:
    """The module `vc709_clock`; with `simulated`, stand-ins of the vendor's primitives too."""
    stand_ins = [FOLDER / "sim" / f"{name}.sv" for name in PRIMITIVES]
    return [FOLDER / "vc709_clock.sv", *(stand_ins if simulated else ())]
