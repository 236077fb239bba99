"""SystemVerilog of the vendor boards: the byte port behind AXI4-Lite, and the vendor's primitives in files of their own.

byte_port(), clock() or clock(simulated=True) for stand-ins of the primitives
"""

from __future__ import annotations

from pathlib import Path

from designs.lib import source

FOLDER = Path(__file__).resolve().parent


def byte_port() -> list[Path]:
    """The module `axil_bytes` and what it instantiates."""
    return [FOLDER / "axil_bytes.sv", *source("stream_fifo")]
