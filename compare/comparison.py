"""The comparison of one workload: rows from all records, the ratios worth asking for, and what was refused."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from compare.application import Application, applications, with_application
from compare.batches import Overtaking, overtakings
from compare.caution import careful, like_rates, with_drift
from compare.claim import load_claims
from compare.deployed import is_deployed, is_simulated, runs_of
from compare.derive import assumption, derive, with_energy
from compare.judge import Judged, judge
from compare.motion import is_system, systems_of, with_motion
from compare.operations import counts_of, is_count, with_operations, with_saving
from compare.record import Boundary
from compare.referee import Ratio, Refusal, Verdict, over_floor, ratio, same_results
from compare.rows import LAYER, ORACLE, SIMULATION, Row, newest, rows_of, same_run, text, with_quality
from compare.samples import Sheet, is_sheet, sheets_of
from compare.sizes import Point, SizeCrossing, points_of, size_crossings
from compare.stale import StaleCheck
from compare.steady import borne_out
from compare.store import REFERENCE, RESULTS, Problem, scan
from compare.traces import Trace, is_trace, traces_of
from compare.variation import Variation, is_variation, variations, with_variation

#: Batches that the short table shows, besides each series' best: one item, one event, and many.
SHOWN_BATCHES = (1, 4096, 2**20)
#: Up to this batch a latency is set against a bare launch: beyond it the work outweighs the launch.
FLOOR_BATCHES = (1, 4096)
#: Beyond this ratio the work has outweighed the launch, and of more than one item it is not said.
FLOOR_TIMES = 100


@dataclass(frozen=True)
class Comparison:
    """All that is known of one workload.

    `rows` are all rows, `shown` the selection for a short table. `quality` are the oracle's quality rows, `counts`
    those of operations an item, `sheets` what networks generated, `published` what stands on publications. `layers`
    are simulated layers of FPGA designs, `deployed` one row for each run on a board, the simulated one included, whose
    runs are in no other list. `variations` say how much shown rows vary, `overtakings` from which batch a
    GPU is ahead of an FPGA, `claims` what became of what papers claim. Of molecular dynamics: `systems` count what a
    step holds, `traces` are energies against steps, `points` rates by size, `sizes` from which size a GPU is ahead, and
    `applications` what an engine is worth to a whole program. `superseded` counts rows that a newer or the
    user's own replaced. `problems` name record files, lines or pictures that were skipped.
    """

    workload: str
    cases: tuple[str, ...]
    rows: tuple[Row, ...]
    shown: tuple[Row, ...]
    quality: tuple[Row, ...]
    counts: tuple[Row, ...]
    sheets: tuple[Sheet, ...]
    systems: tuple[Row, ...]
    traces: tuple[Trace, ...]
    points: tuple[Point, ...]
    sizes: tuple[SizeCrossing, ...]
    applications: tuple[Application, ...]
    published: tuple[Row, ...]
    layers: tuple[Row, ...]
    deployed: tuple[Row, ...]
    variations: tuple[Variation, ...]
    overtakings: tuple[Overtaking, ...]
    claims: tuple[Judged, ...]
    ratios: tuple[Ratio, ...]
    refusals: tuple[Refusal, ...]
    problems: tuple[Problem, ...]
    superseded: int

    @property
    def stale(self) -> tuple[Row, ...]:
        """The rows whose sources have changed."""
        return tuple(row for row in self.rows if row.stale)

    @property
    def everything(self) -> tuple[Row, ...]:
        """All that stands on records, for where it comes from and what is stale."""
        carried = [sheet.row for sheet in self.sheets] + [trace.row for trace in self.traces]
        simulated = (row for row in self.deployed if is_simulated(row))
        return (
            *self.quality, *self.counts, *self.systems, *carried, *self.rows, *self.layers, *simulated, *self.published,
        )  # fmt: skip


def default_folders(root: Path | str) -> tuple[Path, Path]:
    """Return the two folders of records under the repository: the shipped ones and the user's own."""
    return Path(root) / REFERENCE, Path(root) / RESULTS


def compare(workload: str, root: Path | str, folders: Iterable[Path | str], case: str | None = None) -> Comparison:
    """Compare what the records in `folders` say of a workload, all its cases or one.

    `root` is the repository, against whose sources records are checked for staleness. Unreadable records become
    `problems`; nothing is raised for a workload without records, which gives an empty comparison. Errors: ClaimError
    for a broken file of claims.
    """
    stored, problems = scan(*folders)
    stale = StaleCheck(root)
    wanted = [s for s in stored if s.record.workload == workload and case in (None, s.record.case)]
    everything = [row for item in wanted for row in rows_of(item, stale)]

    told: dict[str, list[Row]] = defaultdict(list)
    for row in everything:
        told[_role(row)].append(row)

    quality, fell = newest(told["quality"])
    known = {(q.workload, q.case, q.arithmetic): q.quality for q in quality if q.quality}
    published, replaced = newest(map(with_energy, told["published"]))
    assumed, revised = newest(told["assumption"])
    counts, recounted = newest(map(with_saving, told["counts"]))
    pictured, redrawn = newest(told["samples"])
    held, retold = newest(told["system"])
    traced, retraced = newest(told["trace"])
    layers, resimulated = newest(told["layer"])
    apart, repeated = newest(told["variation"])
    pretended, rerun = newest(told["simulated board"])
    others, older = newest(told["row"])
    joined, failed = derive([*others, *assumed, *borne_out(told["simulation"], told["layer"])])
    rows, dropped = newest(joined)
    rows = [with_energy(with_quality(row, known)) for row in with_variation(careful(rows), apart)]
    systems = systems_of(held)
    moving = (with_motion(with_operations(row, counts_of(counts)), systems) for row in rows)
    rows = sorted((with_application(row, systems) for row in moving), key=_order)
    shown = tuple(_one_launch(_shown(rows)))
    sheets, unreadable = sheets_of(sorted(pictured, key=_order))
    traces, untraceable = traces_of(with_quality(row, known) for row in sorted(traced, key=_order))

    drifting = list(with_drift(rows))
    spares = list(with_drift(with_energy(with_quality(row, known)) for row in careful(older)))
    points = points_of(drifting, systems)
    cases = tuple(sorted({row.case for row in (*rows, *published, *pictured)}))
    claims = [claim for claim in load_claims(workload) if case is None or claim.cases == {case}]
    verdicts = list(_verdicts(rows, drifting, spares))
    refusals = [v for v in verdicts if isinstance(v, Refusal)]
    refusals += [Refusal("throughput", f.row, f.row, f.reason, f.row.command) for f in failed]
    fallen = (
        fell,
        replaced,
        revised,
        recounted,
        redrawn,
        retold,
        retraced,
        resimulated,
        repeated,
        rerun,
        older,
        dropped,
    )
    return Comparison(
        workload=workload,
        cases=cases,
        rows=tuple(rows),
        shown=shown,
        quality=tuple(sorted(quality, key=_order)),
        counts=tuple(sorted(counts, key=_order)),
        sheets=sheets,
        systems=tuple(sorted(held, key=_order)),
        traces=traces,
        points=tuple(points),
        sizes=size_crossings(points),
        applications=applications(drifting, systems),
        published=tuple(sorted(published, key=_order)),
        layers=tuple(sorted(layers, key=_order)),
        deployed=tuple(sorted(runs_of([*rows, *pretended]), key=_order)),
        variations=variations(shown),
        overtakings=tuple(o for each in cases for o in overtakings(r for r in drifting if r.case == each)),
        claims=tuple(judge(claims, (*drifting, *published, *counts))),
        ratios=tuple(v for v in verdicts if isinstance(v, Ratio)),
        refusals=tuple(refusals),
        problems=(*problems, *unreadable, *untraceable),
        superseded=sum(map(len, fallen)),
    )


def _role(row: Row) -> str:
    """What a row tells: figures of its own, or something that stands apart or completes others."""
    if row.device == ORACLE:
        kinds = {"samples": is_sheet, "counts": is_count, "system": is_system, "trace": is_trace}
        return next((name for name, told in kinds.items() if told(row)), "quality")
    if row.on_paper:
        return "published"
    if LAYER in row.conditions:
        return "layer"
    if is_simulated(row):
        return "simulated board"
    if row.device == SIMULATION:
        return "simulation"
    if is_variation(row):
        return "variation"
    return "assumption" if assumption(row) else "row"


_KINDS = ("fpga", SIMULATION, "gpu", "cpu", "")
_BOUNDARIES = list(Boundary)


def _order(row: Row) -> tuple[object, ...]:
    kind = _KINDS.index(row.kind) if row.kind in _KINDS else len(_KINDS)
    batch = row.batch if isinstance(row.batch, int) else 0
    layer = row.conditions.get("layer_index")
    return (
        row.case, kind, row.device, _BOUNDARIES.index(row.boundary), row.tier != "product", row.implementation,
        row.arithmetic, row.launch, batch, row.array, layer if isinstance(layer, int) else 0,
        text(row.conditions.get(LAYER)),
    )  # fmt: skip


def _shown(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of a short table: of each batch sweep a few batches and the one with the best throughput."""
    series: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        series.setdefault((*row.identity[:5], *row.identity[6:]), []).append(row)
    for sweep in series.values():
        best = max(sweep, key=lambda r: _value(r, "throughput"))
        for row in sweep:
            if row is best or row.batch in SHOWN_BATCHES or not isinstance(row.batch, int):
                yield row


def _one_launch(rows: Iterable[Row]) -> Iterator[Row]:
    """Of our own kernels that were launched in several ways, yield the fastest way; baselines stand with every way."""
    ways: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        own = (*row.identity[:6], row.boundary, row.array, is_deployed(row))
        ways.setdefault((*own, row.launch if row.tier == "outside baseline" else ""), []).append(row)
    for found in ways.values():
        yield max(found, key=lambda r: (_value(r, "throughput"), -_value(r, "latency_p50", float("inf"))))


def _value(row: Row, figure: str, missing: float = float("-inf")) -> float:
    found = row.figures.get(figure)
    return missing if found is None else found.value


def _verdicts(rows: list[Row], drifting: list[Row], spares: Sequence[Row] = ()) -> Iterator[Verdict]:
    for case in dict.fromkeys(row.case for row in rows):
        ours = [row for row in drifting if row.case == case]
        fpgas = [r for r in ours if r.kind == "fpga" and (r.boundary == Boundary.KERNEL or _end_to_end(r))]
        gpus = [r for r in ours if r.kind == "gpu"] or [r for r in ours if r.kind == "cpu"]
        for fpga in fpgas:
            for device in dict.fromkeys(r.device for r in gpus):
                yield from _across(fpga, [r for r in gpus if r.device == device])
        yield from _baselines(ours, [row for row in spares if row.case == case])
        # A latency and the empty launch beside it are of one moment: no drift between them.
        yield from _floors([row for row in rows if row.case == case])


def _end_to_end(row: Row) -> bool:
    """Whether it is what the host of a board saw; it is asked of GPUs as the host sees them, and refused else."""
    return is_deployed(row) and row.boundary == Boundary.HOST


Choice = Callable[[list[Row], str], Row | None]


def _best(rows: list[Row], figure: str) -> Row | None:
    """Return the row with the highest throughput or the lowest of anything else."""
    having = [row for row in rows if figure in row.figures]
    if figure == "throughput":
        return max(having, key=lambda r: _value(r, figure), default=None)
    return min(having, key=lambda r: _value(r, figure), default=None)


def _single(rows: list[Row], figure: str) -> Row | None:
    """Return the best row among those that take one item at a time."""
    return _best([row for row in rows if row.batch == 1], figure)


#: What is asked of an FPGA and a GPU: throughput and energy at the GPU's best batch, latency of one item.
_QUESTIONS: tuple[tuple[str, Choice], ...] = (
    ("throughput", _best),
    ("latency_p50", _single),
    ("latency_p99", _single),
    ("energy", _best),
)


def _across(fpga: Row, gpus: list[Row]) -> Iterator[Verdict]:
    """Ask each question of the GPU's best row in each arithmetic.

    In the FPGA's own arithmetic every answer counts. Of the others the best row that may be divided counts, and each
    that would have been better but is refused.
    """
    alike = [row for row in gpus if row.boundary == fpga.boundary] or gpus
    for figure, choose in _QUESTIONS:
        if figure not in fpga.figures:
            partner = choose(alike, figure) or _best(alike, "throughput") or alike[0]
            yield ratio(fpga, partner, figure)
            continue
        verdicts: dict[str, Verdict] = {}
        for arithmetic in dict.fromkeys(row.arithmetic for row in alike):
            if row := choose([r for r in alike if r.arithmetic == arithmetic], figure):
                verdicts[arithmetic] = ratio(fpga, row, figure)
        if same := verdicts.pop(fpga.arithmetic, None):
            yield same
        others = sorted(verdicts.values(), key=lambda v: _value(v.under, figure), reverse=figure == "throughput")
        for verdict in others:
            yield verdict
            if isinstance(verdict, Ratio):
                break
    if all(row.boundary != Boundary.HOST for row in alike):
        seen = _single([row for row in gpus if row.boundary == Boundary.HOST], "latency_p50")
        if seen is not None and "latency_p50" in fpga.figures:
            yield ratio(fpga, seen, "latency_p50")


def _baselines(rows: list[Row], spares: Sequence[Row]) -> Iterator[Verdict]:
    """Set each product implementation, in its best launch mode, against each mode of the outside baselines.

    Same device, boundary and batch, and the same arithmetic or results: throughput and energy at the largest batch that
    both have, latency at the smallest, and as the host sees it where that is known: device APIs do not bracket a kernel
    alike. A row that another run replaced (`spares`) still stands for it where the other side is of its run.
    """
    gpus = [row for row in rows if row.kind in ("gpu", "cpu") and isinstance(row.batch, int)]
    products = _series([row for row in gpus if row.tier == "product"], lambda r: (r.implementation,))
    outsiders = _series([row for row in gpus if row.tier != "product"], lambda r: (r.implementation, r.launch))
    for ours in products:
        for base in outsiders:
            pairs = {row.boundary for row in ours} & {row.boundary for row in base}
            alike = ours[0].arithmetic == base[0].arithmetic or same_results(ours[0], base[0])
            if not pairs or ours[0].device != base[0].device or not alike:
                continue
            nearest = min(pairs, key=_BOUNDARIES.index)
            for figure, pick in (("throughput", max), ("latency_p50", min), ("energy", max)):
                cut = Boundary.HOST if figure == "latency_p50" and Boundary.HOST in pairs else nearest
                having = [[r for r in side if r.boundary == cut and figure in r.figures] for side in (ours, base)]
                batches = {row.batch for row in having[0]} & {row.batch for row in having[1]}
                if batches:
                    batch = pick(batch for batch in batches if isinstance(batch, int))
                    over, under = (_best([r for r in side if r.batch == batch], figure) for side in having)
                    if over is not None and under is not None:
                        yield ratio(*like_rates(*_of_one_run(over, under, spares, figure)), figure, one_run=True)


def _of_one_run(over: Row, under: Row, spares: Sequence[Row], figure: str) -> tuple[Row, Row]:
    """Return both as one run has them, or as they are where no run has both."""
    sides = [
        [row, *(each for each in spares if each.identity == row.identity and figure in each.figures)]
        for row in (over, under)
    ]
    return next(((a, b) for a, b in product(*sides) if same_run(a, b)), (over, under))


def _series(rows: list[Row], key: Callable[[Row], tuple[str, ...]]) -> list[list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((row.device, row.arithmetic, *key(row)), []).append(row)
    return list(found.values())


def _floors(rows: list[Row]) -> Iterator[Verdict]:
    """Set the fastest launch of each product kernel, boundary and small batch against a bare launch."""
    small = [
        row
        for row in rows
        if row.kind == "gpu" and row.tier == "product" and row.batch in FLOOR_BATCHES and "launch_floor" in row.figures
    ]
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in small:
        groups.setdefault((row.device, row.implementation, row.arithmetic, row.boundary, row.batch), []).append(row)
    for group in groups.values():
        if best := _best(group, "latency_p50"):
            verdict = over_floor(best)
            if best.batch == 1 or not isinstance(verdict, Ratio) or verdict.value <= FLOOR_TIMES:
                yield verdict
