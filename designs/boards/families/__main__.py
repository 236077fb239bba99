"""Build a loopback in the shell for boards, without any board: `python -m designs.boards.families icebreaker --mhz 12`.

One line a board says what clock place and route reached and what the shell takes of the part. It needs minutes where
the part is large or the machine busy; results are cached.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from compare.provenance import hash_sources, repo_root
from designs import boards
from designs.boards import BoardError, clocking
from designs.boards.bitstream import SMALL
from designs.boards.families import FLOWS, implement
from designs.boards.pll import PllError
from designs.boards.shell.top import Items, shell_sources, shell_top
from designs.flow.evidence import Core
from designs.flow.tools import FlowError
from designs.lib import source


def loopback() -> Core:
    """The core of the loopback: bytes in, the same bytes out."""
    own = Path(__file__).with_name("loopback_core.sv")
    digest = hash_sources(repo_root(), [own.relative_to(repo_root()).as_posix()])
    files = (own, *source("stream_fifo"))
    return Core("loopback", "bytes", "loopback", "fixed", "loopback_core", files, 8, 8, digest, {})


def main(arguments: list[str] | None = None) -> int:
    """Build for each board named, or for one of each family; return how many failed or missed their clock."""
    parser = argparse.ArgumentParser(prog="python -m designs.boards.families", description=__doc__)
    parser.add_argument("boards", nargs="*", default=["ulx3s", "icebreaker", "tangnano9k", "gatemate-a1-evb"])
    parser.add_argument("--mhz", type=float, help="clock of the design (default: the board's oscillator)")
    parser.add_argument("--seed", type=int, default=1, help="seed of place and route (default: 1)")
    options = parser.parse_args(arguments)
    failures = 0
    for name in options.boards:
        started = time.monotonic()
        try:
            board = boards.load(name)
            if board.family not in FLOWS:
                raise BoardError(f"{board.name}: no open flow for {board.family}")
            mhz = options.mhz or board.clock_hz / 1e6
            text = shell_top(
                loopback(), board, clocking.of(board, mhz), board.default_baud, items=Items(1, 1), buffers=SMALL
            )
            built = implement(text, [*shell_sources(), *loopback().sources], board, mhz, options.seed)
        except (BoardError, PllError, FlowError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            failures += 1
            continue
        print(f"{board.name}: {built}; {built.bitstream} ({time.monotonic() - started:.0f} s)", flush=True)
        failures += not built.met
    return failures


if __name__ == "__main__":
    sys.exit(main())
