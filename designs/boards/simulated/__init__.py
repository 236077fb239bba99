"""The simulated board: a part that openFPGALoader programs over JTAG, and the design it runs behind a serial port.

tap.py is the test access port, chip.py the ECP5 behind it, configuration.py its bitstream engine, xvc.py the server
that the programmer connects to, main.cpp and simulator.py the design in Verilator, board.py all of it together.

The bitstream's frames are checked, not interpreted: its fingerprint picks the Verilator build of the same RTL, and the
PLL's stand-in passes the clock. Netlist, routing, packer and PLL are not exercised; the shell's synthesised netlist is,
by hand, in tests/designs/boards/shell_netlist.py.
"""

from designs.boards.simulated.board import Run, SimulatedBoard
from designs.boards.simulated.simulator import build_simulator
from designs.boards.simulated.stuck import stuck_core

__all__ = ["Run", "SimulatedBoard", "build_simulator", "stuck_core"]
