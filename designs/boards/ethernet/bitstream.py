"""The bitstream of a core in the shell behind Ethernet: built once for its content.

planned = plan(core, load("ecpix5"), mhz=48, items=Items(1, 1))
built = build(planned)

As `designs.boards.bitstream`, with two clocks to meet: that of the design and the 125 MHz of the PHY.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from compare.provenance import repo_root
from designs.boards import Board, BoardError, bitstream, clocking
from designs.boards.bitstream import SEEDS, TOP, Built, ClockMissed, Plan, Routed
from designs.boards.ethernet import pins
from designs.boards.ethernet.address import Address
from designs.boards.ethernet.pins import ETHERNET_HZ, Pins
from designs.boards.ethernet.top import ethernet_sources, ethernet_top
from designs.boards.shell.top import Items
from designs.boards.simulated.simulator import build_program, quiet_pins
from designs.boards.top import CLOCK
from designs.flow import cache, ecppack
from designs.flow.evidence import Core
from designs.flow.nextpnr import Routing, place_and_route
from designs.flow.yosys import synth_ecp5
from workloads.api import Progress

FOLDER = Path(__file__).resolve().parent

#: Clock domain of the Ethernet side in the reports of place and route.
ETHERNET_CLOCK = "rgmii_rx_clk"

_MAIN = FOLDER / "main.cpp"

#: Modules that determine a bitstream besides those of the serial line.
_CODE = ("address", "bitstream", "pins", "top")


@dataclass(frozen=True)
class EthernetPlan(Plan):
    """What is to be built. `baud` is 0: there is no serial line. The board's constraints have the PHY's pins too."""

    address: Address
    phy: Pins

    @property
    def sources(self) -> tuple[Path, ...]:
        """Files of a synthesis, without the top."""
        return (*super().sources, *ethernet_sources())

    @property
    def simulated_sources(self) -> tuple[Path, ...]:
        """Files of a simulation, without the top."""
        return (*super().simulated_sources, *ethernet_sources(simulated=True))


def plan(core: Core, board: Board, *, mhz: float, items: Items, address: Address | None = None) -> EthernetPlan:
    """The top level of a core on a board with a gigabit PHY. Errors: BoardError for another board, PllError."""
    phy = pins.load(board)
    if not (math.isfinite(mhz) and mhz > 0):
        raise BoardError(f"{board.name}: a clock of {mhz:g} MHz cannot be; give one above 0 with --clock")
    clock, where = clocking.of(board, mhz), address or Address.of(None)
    text = ethernet_top(core, board, clock, phy, where, name=TOP, items=items)
    wired = replace(board, constraints=_constraints(board, phy))
    return EthernetPlan(core, wired, items, clock, 0, text, where, phy)


def _constraints(board: Board, phy: Pins) -> Path:
    """The board's LPF file with the PHY's lines behind it, in the cache."""
    text = board.constraints.read_text() + phy.constraints()

    def produce(folder: Path) -> None:
        (folder / board.constraints.name).write_text(text)

    return cache.build({"step": "constraints", "text": text}, [], produce) / board.constraints.name


def build(planned: EthernetPlan, *, seeds: int = SEEDS, progress: Progress | None = None) -> Built:
    """Synthesise, place, route and pack, or take it from the cache; the first seed that meets both clocks counts.

    Errors: ClockMissed; FlowError, for a design that does not fit the part as well; MissingTool.
    """
    reached: dict[str, float] = {}
    for seed in range(1, seeds + 1):
        routing = route(planned, seed, progress)
        if met(routing):
            if progress:
                progress("place and route", seed, seed)
            packed = ecppack.pack(routing.textcfg, idcode=planned.board.idcode)
            return bitstream.of(planned, Routed(seed, routing.fmax_hz, True, packed))
        for name, (fmax, _) in routing.clocks.items():
            reached[name] = max(reached.get(name, 0.0), fmax)
    said = ", ".join(f"{name} {fmax / 1e6:.1f} MHz" for name, fmax in reached.items())
    raise ClockMissed(
        f"{planned.core.case} on {planned.board.name}: {seeds} seeds of the router reached {said} at most, the clocks "
        f"are {planned.clocking.frequency_hz / 1e6:g} MHz and, of Ethernet, {ETHERNET_HZ / 1e6:g} MHz in one routing; "
        "give a lower --clock, or leave --transport out"
    )


def route(planned: EthernetPlan, seed: int, progress: Progress | None = None) -> Routing:
    """One routing of a plan, from the cache after the first time; its `clocks` are both. Errors: as `build`."""
    board = planned.board
    if progress:
        progress("synthesise", 0, 1)
    with tempfile.TemporaryDirectory(prefix="gatewarp-") as folder:
        top = Path(folder) / f"{TOP}.sv"
        top.write_text(planned.text)
        synthesis = synth_ecp5(TOP, [*planned.sources, top], data=planned.core.memories)
    if progress:
        progress("place and route", seed - 1, seed)
    return place_and_route(
        synthesis.json, device=board.nextpnr, package=board.package, speed=board.speed, lpf=board.constraints,
        target_mhz=planned.clocking.frequency_hz / 1e6, clock=CLOCK, seed=seed,
    )  # fmt: skip


def met(routing: Routing) -> bool:
    """Whether both clocks are."""
    clocks: Mapping[str, tuple[float, float]] = routing.clocks
    return routing.met and clocks[ETHERNET_CLOCK][0] >= ETHERNET_HZ


def sources_of(board: Board) -> list[str]:
    """Repository-relative files that determine a bitstream besides those of its core."""
    files = [*ethernet_sources(), *(FOLDER / f"{name}.py" for name in _CODE), pins.load(board).file]
    own = [path.relative_to(repo_root()).as_posix() for path in files]
    return [*bitstream.sources_of(board), *own]


def simulator(planned: EthernetPlan) -> Path:
    """The program of the simulated board for this design, from the cache or compiled. Errors: FlowError."""
    return build_program(
        planned.text, planned.simulated_sources, main=_MAIN, pins=_pins(planned), name=TOP,
        memories=planned.core.memories,
    )  # fmt: skip


def _pins(planned: EthernetPlan) -> str:
    board, address = planned.board, planned.address
    return f"""\
#define CLOCK_HZ {round(planned.clocking.frequency_hz)}LL
#define ETHERNET_HZ {ETHERNET_HZ}LL
#define PIN_CLOCK top.{board.clock_port}
#define BOARD_IP 0x{address.ip.packed.hex()}u
#define HOST_IP 0x{address.neighbour.packed.hex()}u
#define BOARD_PORT {address.port}
#define QUIET_PINS {quiet_pins(board)}; top.{board.uart_receive} = 1
"""
