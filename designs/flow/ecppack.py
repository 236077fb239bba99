"""Bitstreams for Lattice ECP5: `pack` turns nextpnr's text configuration into a `.bit` file with ecppack."""

from __future__ import annotations

import shutil
from pathlib import Path

from designs.flow import cache
from designs.flow.nextpnr import PACKAGE, run_wasm
from designs.flow.tools import FlowError, version


def pack(textcfg: Path, *, compress: bool = True, idcode: int | None = None) -> Path:
    """Pack a routed design into a bitstream and return its path (in the cache, `design.bit`).

    `idcode` overrides the JTAG IDCODE in the bitstream. Errors: FlowError with ecppack's message; MissingTool.
    """
    arguments = ["--compress"] if compress else []
    arguments += ["--idcode", f"0x{idcode:08x}"] if idcode is not None else []

    def produce(folder: Path) -> None:
        shutil.copyfile(textcfg, folder / "routed.config")
        run_wasm("run_ecppack", [*arguments, "--input", "routed.config", "--bit", "design.bit"], folder, folder / "log")
        (folder / "routed.config").unlink()
        if not (folder / "design.bit").is_file():
            raise FlowError(f"ecppack wrote no bitstream; log: {folder / 'log'}")

    key_parts = {"step": "ecppack", "arguments": arguments, PACKAGE: version(PACKAGE)}
    return cache.build(key_parts, [textcfg], produce) / "design.bit"
