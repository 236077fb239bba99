"""The simulated design: a board's whole top level, compiled by Verilator with a main of our own (`main.cpp`).

    program = build_simulator(text, sources, board, clocks_per_bit=40)

The program drives the clock and the serial pins bit by bit and owns the other end of a pseudo-terminal; how it is
called, how it idles and how it ends is told in `main.cpp`. It is built for speed: no tracing, no VPI, two-state start
values. One simulated cycle is one cycle of `clk`, since the PLL's stand-in passes the clock.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from designs.boards import Board
from designs.flow import cache
from designs.flow.tools import compiler, compiler_version, package_folder, run_parallel, run_tool, version
from designs.flow.verilator import run_verilator

_MAIN = Path(__file__).with_name("main.cpp")
_PROCESS = Path(__file__).with_name("process.h")

#: Verilator's arguments: undefined values become constants, so that nothing is spent on them.
_ARGUMENTS: tuple[str, ...] = (
    "--cc",
    "--no-timing",
    "--prefix",
    "Vtop",
    "-O3",
    "--x-assign",
    "fast",
    "--x-initial",
    "fast",
)
_ARGUMENTS += ("--timescale", "1ns/1ps", "--no-assert", "--output-split", "20000", "-Wno-fatal")
_ARGUMENTS += ("-Werror-USERERROR", "-Werror-USERFATAL")

#: Compiler flags of what runs every cycle, and of what runs once.
_FAST, _SLOW = "-O3", "-O1"

#: Switches of Verilator's headers: everything off.
_SWITCHES = ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_VCD", "TRACE_SAIF")


def build_simulator(
    text: str,
    sources: Sequence[Path],
    board: Board,
    *,
    clocks_per_bit: int,
    name: str = "board_top",
    memories: Sequence[Path] = (),
) -> Path:
    """Compile the top level `text` (module `name`) and return the program, from the cache when it is unchanged.

    `sources` are the other SystemVerilog files (with the PLL's stand-in), `memories` the files they read by name,
    `clocks_per_bit` the cycles of one bit on the serial line. Errors: ValueError for a line that no receiver can
    sample, FlowError with Verilator's or the compiler's message, MissingTool.
    """
    if clocks_per_bit < 2:
        raise ValueError(f"a bit needs at least 2 clock cycles, got {clocks_per_bit}; choose a lower baud rate")
    pins = _pins(board, clocks_per_bit)
    return build_program(text, sources, main=_MAIN, pins=pins, name=name, memories=memories)


def build_program(
    text: str, sources: Sequence[Path], *, main: Path, pins: str, name: str = "board_top", memories: Sequence[Path] = ()
) -> Path:
    """As `build_simulator`, with another C++ `main` and the `pins.h` that it includes."""

    def produce(folder: Path) -> None:
        model = folder / "model"
        top = folder / f"{name}.sv"
        top.write_text(text)
        files = [str(path.resolve()) for path in (*sources, top)]
        arguments = [*_ARGUMENTS, "--top-module", name, "--Mdir", str(model), *files]
        run_verilator(arguments, folder, folder / "verilator.log")
        (model / "pins.h").write_text(pins)
        for path in memories:
            shutil.copyfile(path, folder / path.name)
        _compile(model, main, folder)
        shutil.rmtree(model)

    key_parts = {
        "step": "simulated board",
        "top": text,
        "name": name,
        "pins": pins,
        "verilator": version("verilator"),
        "compiler": compiler_version(),
    }
    return cache.build(key_parts, [Path(__file__), main, _PROCESS, *sources, *memories], produce) / "simulator"


def _pins(board: Board, clocks_per_bit: int) -> str:
    return f"""\
#define CLOCKS_PER_BIT {clocks_per_bit}
#define PIN_CLOCK top.{board.clock_port}
#define PIN_TO_FPGA top.{board.uart_receive}
#define PIN_FROM_FPGA top.{board.uart_transmit}
#define QUIET_PINS {quiet_pins(board)}
"""


def quiet_pins(board: Board) -> str:
    """C++ that leaves the reset button alone: not pressed."""
    if not board.reset_button:
        return "(void)0"
    return f"top.{board.reset_button} = {1 - board.reset_pressed}"


def _command() -> list[str]:
    include = package_folder("verilator") / "include"
    switches = [f"-DVM_{name}=0" for name in _SWITCHES]
    return [compiler(), "-std=gnu++20", "-w", "-DVERILATOR=1", *switches, f"-I{include}", f"-I{include / 'vltstd'}"]


def _runtime() -> Path:
    """Verilator's fixed C++ as object files, compiled once for all designs."""
    include = package_folder("verilator") / "include"
    names = ("verilated", "verilated_threads")

    def produce(folder: Path) -> None:
        jobs = [[*_command(), "-O2", "-c", str(include / f"{name}.cpp"), "-o", f"{name}.o"] for name in names]
        _run_all(jobs, folder)

    key_parts = {"step": "runtime of simulated boards", "verilator": version("verilator")}
    return cache.build({**key_parts, "compiler": compiler_version()}, [Path(__file__)], produce)


def _compile(model: Path, main: Path, folder: Path) -> None:
    command = [*_command(), f"-I{model}", f"-I{_PROCESS.parent}"]
    files = [*sorted(model.glob("*.cpp")), main]
    objects = [str(model / f"{file.stem}.o") for file in files]
    jobs = []
    for file, target in zip(files, objects, strict=True):
        level = _SLOW if "__Slow" in file.name or "__Syms" in file.name else _FAST
        jobs.append([*command, level, "-c", str(file), "-o", target])
    _run_all(jobs, folder)
    link = [compiler(), "-o", "simulator", *objects, *map(str, sorted(_runtime().glob("*.o"))), "-lpthread"]
    run_tool(link, cwd=folder, log=folder / "link.log")


def _run_all(jobs: Sequence[Sequence[str]], folder: Path) -> None:
    """Run compiler commands, as many at a time as there are cores, each with a log of its own in `folder`."""
    run_parallel([partial(run_tool, job, cwd=folder, log=folder / f"compile{i}.log") for i, job in enumerate(jobs)])
