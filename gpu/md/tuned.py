"""The plans that were the fastest where they were tried; see `gpu.md.plan`."""

from __future__ import annotations

from gpu.md.layout import Problem
from gpu.md.plan import Plan, plan
from gpu.runtime.device import Info

#: Device and case: bricks a side, members, lanes, skin as a part of the cutoff.
FASTEST: dict[tuple[str, str], tuple[tuple[int, int, int], int, int, float]] = {}


def tuned(problem: Problem, info: Info) -> Plan | None:
    """The plan that was the fastest for this case on this kind of device, if any was tried."""
    known = FASTEST.get((info.slug, problem.case))
    if known is None:
        return None
    bricks, members, lanes, part = known
    return plan(problem, info, bricks, members=members, lanes=lanes, skin=problem.skin(part))
