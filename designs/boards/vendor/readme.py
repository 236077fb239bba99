"""What a user does with a generated project, from the folder to a running board; also the project's README.md."""

from __future__ import annotations

from designs.boards.vendor.facts import VendorBoard
from designs.boards.vendor.stream import PORT
from designs.flow.evidence import Core


def steps(core: Core, vendor: VendorBoard, clock: float, folder: str = ".") -> list[str]:
    """The steps in order, each a line; commands in backquotes. `clock` in Hz."""
    deploy = f"gatewarp deploy {core.workload} --case {core.case} --board {vendor.name}"
    deploy += f" --clock {clock / 1e6:.9g} --keep {folder}"
    where = f"in {folder}" if folder != "." else "here"
    if vendor.platform:
        return [
            f"On a machine with Vitis, XRT and the platform {vendor.platform}: source settings64.sh of Vitis and "
            "/opt/xilinx/xrt/setup.sh.",
            f"Build {where}: `./build.sh` (hours). It ends with gatewarp.xclbin.",
            "On the machine with the card: `g++ -std=c++17 -O2 xrt_bridge.cpp -o xrt_bridge -I$XILINX_XRT/include "
            "-L$XILINX_XRT/lib -lxrt_coreutil -luuid -pthread`.",
            f"`./xrt_bridge gatewarp.xclbin` loads the card and waits on 127.0.0.1:{PORT} (cards: `xbutil examine`).",
            f"Run and check: `{deploy} --port 127.0.0.1:{PORT}`.",
            "Power of the card meanwhile: `xbutil examine --device BDF --report electrical`.",
        ]
    if vendor.transport == "bridge":
        return [
            "On a machine with Vivado: source its settings64.sh.",
            f"Build {where}: `./build.sh`. It ends with gatewarp.bit and gatewarp.hwh.",
            "`scp gatewarp.bit gatewarp.hwh pynq_bridge.py xilinx@BOARD:` (BOARD: a board that runs PYNQ).",
            "On the board as root, in PYNQ's environment: "
            f"`python3 pynq_bridge.py gatewarp.bit --mhz {clock / 1e6:.6f}`; it loads the design and waits "
            f"on the board's own 127.0.0.1:{PORT}, without a password.",
            f"In another terminal of the host, and left open: `ssh -L {PORT}:127.0.0.1:{PORT} xilinx@BOARD`. "
            "(The bridge's `--listen 0.0.0.0` instead lets everyone in the network drive the design.)",
            f"Run and check: `{deploy} --port 127.0.0.1:{PORT}`.",
        ]
    return [
        "On a machine with Vivado: source its settings64.sh.",
        f"Build {where}: `./build.sh`. It ends with gatewarp.bit.",
        "With the board's JTAG on USB: `vivado -mode batch -source program.tcl`, or `openFPGALoader -c digilent "
        "gatewarp.bit`. Nothing is flashed.",
        "Connect the other USB socket, the serial port (CP2103).",
        f"Run and check: `{deploy} --port /dev/ttyUSB0`.",
    ]


def readme(core: Core, vendor: VendorBoard, clock: float) -> str:
    """README.md of the project."""
    listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps(core, vendor, clock), start=1))
    return f"""\
# {core.workload}/{core.case} on the {vendor.board.title}

Written by Gatewarp. Design `{core.digest[:16]}` at {clock / 1e6:.6g} MHz, part `{vendor.part}`.

{listed}

The files were checked without the vendor's tools: RTL in simulation, Tcl as Tcl with stand-ins for the tools' commands.
"""
