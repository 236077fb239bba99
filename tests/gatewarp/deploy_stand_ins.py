"""Stand-ins for what a real board needs: a small subject, a programmer that prints as scripted, a board in Python."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from compare.provenance import hash_sources, repo_root
from designs import boards
from designs.boards import bitstream, kept
from designs.boards.ecp5 import PREAMBLE
from designs.boards.shell.top import Items
from designs.boards.subject import Counted, first_difference
from designs.flow.evidence import Core

# The model of the shell is the one that the tests of the link have.
sys.path.append(str(Path(__file__).parents[1] / "designs" / "boards"))
import serial_shell_model as model

ULX3S = boards.load("ulx3s")
MHZ, BAUD = 50.0, 1_000_000
SIZE = 4

#: What openFPGALoader 1.1.1 prints, by step; see tests/designs/boards/test_program.py for more of it.
_STAND_IN = """#!{python}
import json, sys
from pathlib import Path
here = Path({folder!r})
with (here / "calls.jsonl").open("a") as log:
    log.write(json.dumps(sys.argv[1:]) + chr(10))
script = json.loads((here / "script.json").read_text())
step = "scan" if "--scan-usb" in sys.argv else "detect" if "--detect" in sys.argv else "load"
status, out = script[step]
sys.stdout.write(out)
sys.exit(status)
"""
_LOADED = "Loading: [====] 100.00%\nDone\ndisplayReadReg\n\tDone Flag\n\tBSE Error Code\n\t\tNo err\n"
CLOSED = "Error: can't open device with vid:vid = 0x0403:0x6015. Error code -3 Access denied\n"


def scan(*serials: str) -> str:
    """What --scan-usb prints for so many ULX3S."""
    rows = [("Bus", "device", "vid:pid", "probe_type", "manufacturer", "serial", "product")]
    rows += [("001", f"{4 + n:03}", "0x0403:0x6015", "ft231X", "FER", s, "ULX3S") for n, s in enumerate(serials)]
    widths = (4, 7, 14, 12, 14, 12, 0)
    lines = ("".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows)
    return "empty\n" + "\n".join(lines) + "\n"


def detected(idcode: int) -> str:
    """What --detect prints for a part."""
    return f"empty\nindex 0:\n\tidcode 0x{idcode:x}\n\tmanufacturer lattice\n\tfamily ECP5\n\tirlength 8\n"


@dataclass
class Programmer:
    """An openFPGALoader that prints what `script` says: status and text for scan, detect, load."""

    folder: Path
    script: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.folder / "openFPGALoader"

    def install(self, **steps: tuple[int, str]) -> None:
        good = {"scan": (0, scan("D00084")), "detect": (0, detected(ULX3S.idcode)), "load": (0, _LOADED)}
        self.folder.mkdir(exist_ok=True)
        self.path.write_text(_STAND_IN.format(python=sys.executable, folder=str(self.folder)))
        self.path.chmod(0o755)
        (self.folder / "script.json").write_text(json.dumps({**good, **steps}))

    @property
    def calls(self) -> list[list[str]]:
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []


def subject(wrong: bool = False) -> Any:
    """A subject whose design adds one to each byte; items of four. With `wrong` its oracle says otherwise."""
    core = Core(
        workload="track", case="four", implementation="hls/track/da4ml", arithmetic="fixed", top="add_core",
        sources=(), in_bits=8, out_bits=8, digest="0123456789abcdef", facts={},
    )  # fmt: skip

    def check(case: str, inputs: Any, outputs: Any) -> str:
        return first_difference(outputs, (inputs + (2 if wrong else 1)) % 256, "hit")

    def counted(case: str, outputs: Any) -> Counted | None:
        return None

    return SimpleNamespace(
        NAME=core.implementation,
        CASES=("four",),
        SAMPLES={"four": 100},
        ITEM="hit",
        core=lambda case: core,
        items=lambda case: Items(SIZE, SIZE),
        clock_mhz=lambda case, board: MHZ,
        sources=lambda case: ["designs/lib/stream_fifo.sv"],
        inputs=lambda case, n, seed: np.random.default_rng(seed).integers(0, 256, (n, SIZE)),
        count=lambda case, inputs: len(inputs),
        encode=lambda case, inputs: inputs.astype(np.uint8).tobytes(),
        expected_bytes=lambda case, n: SIZE * n,
        decode=lambda case, data, n: np.frombuffer(data, np.uint8).reshape(n, SIZE).astype(np.int64),
        check=check,
        counted=counted,
    )


def kept_bitstream(folder: Path, **changes: Any) -> Path:
    """A file that passes for a bitstream of that subject, and what is said of it; `changes` to the latter."""
    path = folder / "four.bit"
    idcode = changes.pop("idcode", ULX3S.idcode)
    path.write_bytes(PREAMBLE + b"\xff\x3b\0\0\0\xe2\0\0\0" + idcode.to_bytes(4, "big") + bytes(64))
    sources: Sequence[str] = ["designs/lib/stream_fifo.sv"]
    of = subject()
    planned = bitstream.plan(of.core("four"), ULX3S, mhz=MHZ, items=of.items("four"), baud=BAUD)
    facts: Mapping[str, Any] = {
        "workload": "track", "case": "four", "board": ULX3S.name, "part": ULX3S.part, "clock_mhz": MHZ, "baud": BAUD,
        "design": "0123456789abcdef".ljust(32, "0"), "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "seed": 1,
        "fmax_hz": 60e6, "options": ["--no-tmdriv"], "sources": sources,
        "sources_hash": hash_sources(repo_root(), sources), "top_hash": kept.top_hash(planned),
        "contents_hash": kept.contents_hash(planned),
    }  # fmt: skip
    path.with_suffix(".json").write_text(json.dumps({**facts, **changes}))
    return path


class Port:
    """The serial port of a board in Python, as `open_serial` would give it."""

    def __init__(self, core: model.Core | None = None, **registers: Any) -> None:
        def make() -> Callable[[bytes], bytes]:
            return lambda item: bytes((byte + 1) % 256 for byte in item)

        told = {"design": "0123456789abcdef".ljust(32, "0"), "name": "track/four", "clock_hz": 50_000_000, **registers}
        shell = model.Shell(core or model.Core(SIZE, SIZE, make), model.Registers(**told))
        self.line = model.Line(shell, BAUD)
        self.opened: list[tuple[str, int]] = []

    def __call__(self, port: str, baud: int) -> Port:
        self.opened.append((port, baud))
        return self

    def read(self, size: int, /) -> bytes:
        return bytes(self.line.read(size))

    def write(self, data: bytes, /) -> int:
        return int(self.line.write(data))

    def __enter__(self) -> Port:
        return self

    def __exit__(self, *_: object) -> None:
        return None
