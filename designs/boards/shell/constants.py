"""Constants of the frames as a SystemVerilog package: `shell_constants.sv` is written by this file.

    python -m designs.boards.shell.constants

Kinds, the register map and sizes exist once, in `designs.boards.frames`; a test compares the package with it.
"""

from __future__ import annotations

from pathlib import Path

from designs.boards import frames

FILE = Path(__file__).parent / "shell_constants.sv"

#: Registers whose address the shell needs by name; words 0 to 17 come as one parameter.
_NAMED = [register for register in frames.Register if register >= frames.Register.CONTROL]


def text() -> str:
    """SystemVerilog of the package `shell_constants`."""
    lines = [f"  localparam logic [7:0] KIND_{kind.name} = 8'h{kind:02x};" for kind in frames.Kind]
    lines += [f"  localparam logic [5:0] REG_{register.name} = 6'd{int(register)};" for register in _NAMED]
    sizes = {"PAYLOAD": frames.PAYLOAD, "READ_WORDS": frames.READ_WORDS, "SLOTS": frames.SLOTS, "WINDOW": frames.WINDOW}
    lines += [f"  localparam logic [7:0] {name} = 8'd{value};" for name, value in sizes.items()]
    body = "\n".join(lines)
    return f"""\
// Written by designs.boards.shell.constants out of designs.boards.frames; edit neither here.
`default_nettype none

package shell_constants;
{body}
endpackage

`default_nettype wire
"""


if __name__ == "__main__":
    FILE.write_text(text())
