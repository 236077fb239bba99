"""The plans that were the fastest where they were tried; see `gpu.md.plan`."""

from __future__ import annotations

from gpu.md.layout import Problem
from gpu.md.plan import Plan, plan
from gpu.runtime.device import Info

#: Bricks a side, particles and threads of a group, skin as a part of the cutoff, whether one cluster does it.
Row = tuple[tuple[int, int, int], int, int, float, bool]
#: Device and case: what came first or near to it.
FASTEST: dict[tuple[str, str], tuple[Row, ...]] = {
    ("nvidia-h200", "lj864"): (((5, 5, 5), 1, 32, 0.25, False), ((4, 2, 2), 1, 16, 0.25, True)),
    ("nvidia-h200", "melt1k"): (((5, 5, 5), 1, 32, 0.28, False), ((4, 2, 2), 1, 8, 0.25, True)),
    ("nvidia-h200", "melt4k"): (((5, 5, 5), 1, 32, 0.25, False), ((4, 2, 2), 1, 4, 0.2, True)),
    ("nvidia-h200", "melt20k"): (((5, 5, 5), 2, 4, 0.2, False), ((5, 5, 5), 2, 8, 0.22, False)),
    ("nvidia-h200", "argon20k"): (((8, 4, 4), 2, 16, 0.12, False), ((5, 5, 5), 2, 16, 0.12, False)),
    ("nvidia-h200", "dhfr"): (((5, 5, 5), 1, 8, 0.15, False), ((5, 5, 5), 2, 16, 0.15, False)),
    ("nvidia-h200", "melt108k"): (((8, 8, 8), 2, 1, 0.22, False),),
    ("nvidia-h200", "melt1m"): (((14, 14, 14), 2, 1, 0.2, False), ((14, 14, 14), 1, 1, 0.18, False)),
    ("nvidia-h200", "melt4m"): (((22, 22, 22), 2, 1, 0.2, False),),
}


def tuned(problem: Problem, info: Info) -> list[Plan]:
    """The plans that were the fastest for this case on this kind of device; none where nothing was tried."""
    return [
        plan(problem, info, bricks, members=members, lanes=lanes, skin=problem.skin(part), cluster=cluster)
        for bricks, members, lanes, part, cluster in FASTEST.get((info.slug, problem.case), ())
    ]
