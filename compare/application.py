"""What a faster step of molecular dynamics is worth to a whole application, by Amdahl's law with its terms written out.

    time of a step = engine + host + transfer,   transfer = bytes / bandwidth of the link

The engine's time comes from records; host work and the link are assumptions, stated beside the result, which is
modelled therefore. Two ways to work: everything in the device (a trajectory is written every TRAJECTORY steps), or the
host takes part in every step (it computes what the engine does not), so positions go out and forces come back each
time. After Amdahl, AFIPS 1967; that host work bounds the gain of an FPGA node to about 2 is what arXiv 1808.04201 says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from compare.derive import band
from compare.motion import Systems
from compare.record import Boundary, Stage
from compare.referee import Ratio, ratio
from compare.rows import Row

#: Assumed: bytes a second that a PCI Express 3.0 x16 link moves in one direction, of 15.75 GB/s on the wire.
LINK = 12e9
#: Three coordinates or force components of 32 bits.
BYTES_AN_ATOM = 12
#: Steps from one frame of a trajectory to the next.
TRAJECTORY = 1000
#: Assumed host work a step, seconds.
HOST_SECONDS = (0.0, 10e-6, 100e-6, 1e-3)
#: Figure that `with_application` adds: whole steps/s with so much host work, seconds, and the transfers in every step.
WHOLE, WHOLE_HOST = "throughput.application", 100e-6


@dataclass(frozen=True)
class Application:
    """A design against a kernel of a GPU on one case.

    `engine` is the ratio of their steps/s; `device` and `shared` are those of whole steps for each of HOST_SECONDS,
    with everything in the device and with the host in every step. `halved` is the host work, seconds, at which the lead
    of the faster side falls to 2 in the latter; None where it is below 2 anyway. `transfer` is what the latter moves in
    a step, seconds.
    """

    engine: Ratio
    device: tuple[float, ...]
    shared: tuple[float, ...]
    transfer: float
    halved: float | None


def applications(rows: Iterable[Row], systems: Systems) -> tuple[Application, ...]:
    """Set each FPGA row with a throughput against the fastest GPU row of its case that may be divided.

    And against the fastest row of each outside baseline, the packages that people use.
    """
    return tuple(_applications([row for row in rows if row.boundary == Boundary.KERNEL], systems))


def _applications(rows: list[Row], systems: Systems) -> Iterator[Application]:
    timed = [row for row in rows if "throughput" in row.figures]
    for fpga in (row for row in timed if row.kind == "fpga"):
        system = systems.get((fpga.workload, fpga.case))
        gpus = [row for row in timed if row.kind == "gpu" and row.case == fpga.case]
        verdicts = [ratio(fpga, gpu, "throughput") for gpu in gpus]
        allowed = [verdict for verdict in verdicts if isinstance(verdict, Ratio)]
        if system is None or not allowed:
            continue
        moved = _moved(system)
        for engine in _fastest(allowed):
            ours, theirs = (1 / row.figures["throughput"].value for row in (fpga, engine.under))
            yield Application(
                engine=engine,
                device=tuple(gain(ours, theirs, host, moved / TRAJECTORY) for host in HOST_SECONDS),
                shared=tuple(gain(ours, theirs, host, 2 * moved) for host in HOST_SECONDS),
                transfer=2 * moved,
                halved=limit(min(ours, theirs), max(ours, theirs), 2 * moved, 2.0),
            )


def _moved(system: Row) -> float:
    """Return how long a number for each coordinate of all atoms takes over the link, s."""
    return system.figures["atoms"].value * BYTES_AN_ATOM / LINK


def _fastest(engines: list[Ratio]) -> list[Ratio]:
    """Return the one against the fastest kernel, then that of each outside baseline, the fastest first."""
    ordered = sorted(engines, key=lambda verdict: verdict.value)
    found = {ordered[0].under.implementation: ordered[0]}
    for engine in (engine for engine in ordered if engine.under.tier != "product"):
        found.setdefault(engine.under.implementation, engine)
    return list(found.values())


def with_application(row: Row, systems: Systems) -> Row:
    """Return a row at the kernel boundary with the whole steps a second that its rate leaves: WHOLE.

    Each step has WHOLE_HOST of host work and sends positions out and forces back; both are assumed, so it is modelled.
    The time of the engine is that of many steps a launch; a launch for each step would add its own.
    """
    rate, system = row.figures.get("throughput"), systems.get((row.workload, row.case))
    if rate is None or system is None or row.boundary != Boundary.KERNEL:
        return row
    besides = WHOLE_HOST + 2 * _moved(system)
    low, value, high = (1 / (1 / max(x, 1e-9) + besides) for x in (band(rate)[0], rate.value, band(rate)[1]))
    stages = (*rate.stages, *([] if Stage.MODELLED in rate.stages else [Stage.MODELLED]))
    whole = replace(rate, quantity=WHOLE, value=value, low=low, high=high, stages=stages)
    if rate.low is None:
        whole = replace(whole, low=None, high=None)
    return replace(row, figures={**row.figures, WHOLE: whole})


def gain(fast: float, slow: float, host: float, transfer: float) -> float:
    """Return how many times shorter a whole step is, all arguments seconds; host and transfer are those of both."""
    return (slow + host + transfer) / (fast + host + transfer)


def limit(fast: float, slow: float, transfer: float, times: float) -> float | None:
    """Return the host work, seconds, at which the gain falls to `times`; None where it does not reach that at all."""
    host = (slow - times * fast) / (times - 1) - transfer
    return host if host >= 0 else None
