"""The shell after synthesis for an ECP5, in the same tests as its source: minutes of compiling, so by hand.

    python tests/designs/boards/shell_netlist.py [registers resend exchange ...]

Block RAM (with its output register) is the model beside this file; all other cells are Yosys' own.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2])]

PORTS = ["rx_valid", "rx_ready", "rx_data", "tx_valid", "tx_ready", "tx_data", "frame_error", "overrun", "trouble"]


def main(names: list[str]) -> int:
    """Synthesise, then run the tests of bench_shell.py by name; 1 when one failed."""
    import test_shell as tests

    from designs import boards
    from designs.boards.shell.top import Buffers, shell_sources, shelled
    from designs.flow import yosys
    from designs.flow.verilator import BuildOptions, simulate

    folder = Path(tempfile.mkdtemp(prefix="gatewarp-shell-"))
    core, items = tests.core("loopback")
    top = folder / "shelled.sv"
    text = shelled(core, clock_hz=100e6, idle=10, items=items, buffers=Buffers(4096, 1024, 512))
    top.write_text(text)
    shell = shell_sources(boards.load("ulx3s-85f"))
    synthesis = yosys.synth_ecp5("shelled", list(dict.fromkeys([*shell, *core.sources, top])))
    print(dict(synthesis.cells))
    library = yosys.cell_library()
    cells = folder / "cells.v"
    cells.write_text(re.sub(r"\(\* blackbox \*\)\s*module DP16KD\(.*?endmodule", "", library.read_text(), flags=re.S))
    # A module around it: in the netlist every wire would be visible to the test, which takes very long to compile.
    pins = folder / "pins.sv"
    header = text[text.index("(\n    input wire clk") : text.index(");") + 2]
    connections = ", ".join(f".{port}({port})" for port in ("clk", "rst", *PORTS))
    pins.write_text(f"`default_nettype none\nmodule pins {header}\n  shelled u_shelled ({connections});\nendmodule\n")
    failed = 0
    for seed, name in enumerate(names or ["registers", "resend", "exchange"], start=7):
        result = simulate(
            "pins",
            [pins, synthesis.verilog, cells, HERE / "DP16KD.sv"],
            tests.BENCH,
            results=folder / name,
            vectors={"items": [1, 1]},
            env={"GATEWARP_CORE": "loopback", "PYTHONPATH": str(HERE)},
            seed=seed,
            testcase=f"{name}$",
            options=BuildOptions(includes=(str(library.parent),), optimise="-O1"),
        )
        failed += not result.passed
        print(f"{name}: {'passed' if result.passed else result.message} (seed {seed})", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
