"""Build designs for a board or a part, keeping records whose sources have not changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from compare.provenance import repo_root
from compare.record import Record
from compare.stale import StaleCheck
from compare.store import scan
from gatewarp import registry
from workloads.api import Progress

#: Quantities of a build that are counts of what a part has.
RESOURCES = ("luts", "ffs", "brams", "dsps")


class NoImplementation(ValueError):
    """The workload has the case, but no implementation of the kind that was asked for."""


def target_of(board: str | None, part: str | None) -> str:
    """Return the name of a board, or of a part alone. Errors: ValueErrors that list those there are."""
    from designs import boards
    from designs.flow import ultrascale

    if not board:
        return str(ultrascale.part(part or "").name)
    chosen = boards.load(board)
    if chosen.family != "ecp5":
        raise boards.BoardError(
            f"Fmax over seeds is taken on boards with an ECP5, not on {chosen.name}; `gatewarp deploy` builds for it, "
            "--part counts resources"
        )
    return str(chosen.name)


def build(
    workload: str,
    case: str | None,
    implementation: str | None,
    *,
    target: str,
    on_board: bool,
    seeds: int,
    bitstreams: Path | None,
    kept: Sequence[Path],
    say: Callable[[str], None],
    progress: Callable[[], AbstractContextManager[Progress]],
) -> list[Record]:
    """Build every implementation of a workload, or the one named, that can be built for the board or part `target`.

    `kept` are folders of records: one of today's sources there is not built again. `say` is told what is not built, and
    why. Errors: NoImplementation, UnknownNameError; whatever the tools raise.
    """
    way, fits = ("build", "fits") if on_board else ("build_part", "fits_part")
    names = [implementation] if implementation else list(registry.implementations(workload))
    modules = {name: registry.implementation(name, workload) for name in names}
    builders = {name: module for name, module in modules.items() if hasattr(module, way)}
    able = sorted({each for module in builders.values() for each in module.CASES})
    if not able:
        who = f"{implementation} cannot" if implementation else f"no implementation of {workload} can"
        raise NoImplementation(f"{who} be built for {target}")
    if case is not None and case not in able:
        raise NoImplementation(f"no FPGA implementation of case {case!r}; cases with one: {', '.join(able)}")
    fresh = unchanged(target, seeds, kept)
    more: dict[str, Any] = {"board": target, "out": bitstreams} if on_board else {"part": target}
    made: list[Record] = []
    for name, module in builders.items():
        for each in registry.cases_of(module, case):
            if case is None and not getattr(module, fits, lambda *_: True)(each, target):
                say(f"{name} {each}: too large for {target}")
                continue
            if found := fresh.get((name, each)):
                say(f"{name} {each}: sources unchanged since {found.name}, not built again")
                continue
            with progress() as bar:
                made += getattr(module, way)(each, seeds=seeds, progress=bar, **more)
    return made


def unchanged(target: str, seeds: int, folders: Sequence[Path]) -> dict[tuple[str, str], Path]:
    """The files of builds of today's sources for a board or part, over at least as many seeds, by name and case."""
    stale = StaleCheck(repo_root())
    found = {}
    for item in scan(*folders)[0]:
        r = item.record
        tried = r.conditions.get("seeds")
        enough = isinstance(tried, int) and tried >= seeds and r.get("fmax") is not None
        enough = enough or (tried is None and r.get("utilisation") is not None)
        if enough and target in (r.conditions.get("board"), r.device) and not stale(r):
            found[r.implementation, r.case] = item.path
    return found


def lines(r: Record, target: str) -> Iterator[str]:
    """Lines about a record of resources, and of a clock where there is one, in rich's markup."""
    fmax, used = r.get("fmax"), r.get("utilisation")
    counts = ", ".join(f"{m.value:,.0f} {m.quantity}" for m in r.measurements if m.quantity in RESOURCES)
    clock = "no clock, for there is no place and route"
    if fmax is not None:
        low, high = (fmax.low or fmax.value) / 1e6, (fmax.high or fmax.value) / 1e6
        clock = f"{fmax.value / 1e6:.1f} MHz median of {fmax.samples} seeds ({low:.1f} to {high:.1f})"
    yield f"{r.implementation} {r.case} on {target}: {clock}, {counts}"
    if used is not None:
        verdict = "fits" if r.conditions["fits"] else "[bold yellow]DOES NOT FIT[/]"
        yield f"{verdict}: {used.value:.1%} of the {r.conditions['scarce']} ({r.conditions['resources_of']})"
    if "board_clock_hz" in r.conditions:
        clock_hz = r.conditions["board_clock_hz"]
        assert isinstance(clock_hz, (int, float))
        met = "meets" if r.conditions["bitstream_clock_met"] else "[bold yellow]MISSES[/]"
        yield f"its bitstream {met} the board's clock of {clock_hz / 1e6:g} MHz"
