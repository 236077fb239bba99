"""What `gatewarp deploy --transport udp` has in place of the serial port: the board on its Ethernet socket."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from designs import boards
from designs.boards import Board, BoardError
from designs.boards.bitstream import Built
from designs.boards.ethernet import bitstream, pins
from designs.boards.ethernet.address import Address
from designs.boards.ethernet.noise import NoisyDatagrams
from designs.boards.ethernet.udp import UdpStream, open_udp
from designs.boards.shell.top import Items
from designs.flow.evidence import Core
from designs.flow.tools import run_parallel
from gatewarp.board_record import Over
from gatewarp.faults import Faults
from workloads.api import Progress

#: Launch mode of a record.
LAUNCH = "udp"

_HOST = tuple(f"designs/boards/ethernet/{name}.py" for name in ("address", "udp"))
_SIMULATED = ("designs/boards/ethernet/main.cpp", "designs/lib/sim/ddr_in.sv", "designs/lib/sim/ddr_out.sv")


def check(board: Board, address: Address | None) -> None:
    """Errors: BoardError for a board without Ethernet, or an address that its host's network cannot have."""
    pins.load(board)
    if address is not None and address.ip in (address.network.network_address, address.network.broadcast_address):
        raise BoardError(f"{address.ip} is no address of one board in {address.network}; give another with --address")


def bitstreams(
    core: Core, board: Board, mhz: float, items: Items, address: Address, simulated: bool, progress: Progress
) -> tuple[Built, Path | None]:
    """The bitstream, and beside it the simulator of the same top. Errors: those of both."""
    planned = bitstream.plan(core, board, mhz=mhz, items=items, address=address)
    jobs: list[Callable[[], Any]] = [partial(bitstream.build, planned, progress=progress)]
    if simulated:
        jobs.append(partial(bitstream.simulator, planned))
    built, *simulators = run_parallel(jobs)
    return built, simulators[0] if simulators else None


def reached(
    stack: ExitStack, address: Address, faults: Faults, say: Callable[[str], None]
) -> tuple[str, UdpStream, Callable[[Built], Over]]:
    """The board once it answers: its name, its stream, and how that is told of after the runs. Errors: as `udp`."""
    stream = stack.enter_context(open_udp(address))
    stream.wait_for_board()
    say(f"{address} answers, this machine is {stream.here} there")
    if faults.any:
        rates = {"flip": faults.flip, "drop": faults.drop, "repeat": faults.repeat, "reorder": faults.delay}
        stream.behind(lambda socket: NoisyDatagrams(socket, faults.seed, **rates))
    return f"UDP {address}", stream, partial(_over, stream)


def _over(stream: UdpStream, built: Built) -> Over:
    counts = asdict(stream.counts())
    board = boards.load(built.board.name)
    return Over(
        launch=LAUNCH,
        told="over UDP on gigabit Ethernet",
        conditions={
            "transport": "UDP on gigabit Ethernet (RGMII)",
            # Since the board's reset.
            **{f"ethernet_{name}": count for name, count in counts.items()},
            "ethernet_late_here": stream.late,
        },
        built=tuple(bitstream.sources_of(board)),
        host=_HOST,
        simulated=_SIMULATED,
    )
