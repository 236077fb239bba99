"""The command `gatewarp`. Exit codes: 0 good, 1 a check or a tool failed or a record is unreadable, 2 misuse."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.markup import escape

from compare.api import compare as compare_records
from compare.api import default_folders, render_terminal, write_outputs
from compare.api import query as query_records
from compare.provenance import repo_root
from compare.store import Problem, write_records
from gatewarp import board_commands, registry
from gatewarp.terminal import (
    Case,
    Json,
    WorkloadName,
    command_line,
    err,
    new_table,
    out,
    print_json,
    progress_bar,
    warn,
    write,
)
from workloads.api import UnknownNameError

app = typer.Typer(
    name="gatewarp",
    help="Build one workload as an FPGA design and as a GPU kernel, prove both, and compare them honestly.",
    epilog="Start with: gatewarp compare track",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)

PACKAGES = ("gatewarp", "workloads", "designs", "hls", "gpu", "compare")


def main() -> None:
    """Run the command line; our own errors become one message and an exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that running tools are stopped as by Ctrl-C
    try:
        app()
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in PACKAGES:
            raise
        _fail(f"{error.name} is not installed; `gatewarp doctor` names the command that installs it", 1)
    except (OSError, MemoryError) as error:
        _fail(str(error) or type(error).__name__, 1)
    except Exception as error:
        if type(error).__module__.split(".")[0] not in PACKAGES:
            raise
        # Our ValueErrors say that a name or a value was wrong, our RuntimeErrors that a step or a check failed.
        _fail(str(error), 2 if isinstance(error, ValueError) else 1)


def _fail(message: str, code: int) -> NoReturn:
    err.print(f"[bold red]error:[/] {escape(message)}", highlight=False)
    sys.exit(code)


def _version(asked: bool) -> None:
    if asked:
        out.print(f"gatewarp {metadata.version('gatewarp')}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Build one workload as an FPGA design and as a GPU kernel, prove both, and compare them honestly."""


@app.command(epilog="Example: gatewarp doctor")
def doctor(json_output: Json = False) -> None:
    """Say what is installed, what is missing, and the command that mends it."""
    from gatewarp.doctor import findings

    found = list(findings())
    missing = [f for f in found if f.needed and not f.found]
    if json_output:
        print_json([asdict(f) | {"found": f.found} for f in found])
    else:
        table = new_table("part", "tool", "version", "if missing")
        for f in found:
            mark = f.version or ("[red]missing[/]" if f.needed else "[dim]not here (optional)[/]")
            table.add_row(f.part, f.name, mark, "" if f.found else escape(f.mend))
        out.print(table)
        out.print("All that the default path needs is here." if not missing else f"{len(missing)} missing.")
    raise typer.Exit(1 if missing else 0)


@app.command("list", epilog="Example: gatewarp list implementations")
def list_(
    what: Annotated[str, typer.Argument(help="workloads, cases, implementations, devices or boards")] = "workloads",
    json_output: Json = False,
) -> None:
    """List what there is."""
    from gatewarp.listing import LISTINGS

    if what not in LISTINGS:
        raise UnknownNameError("listing", what, tuple(LISTINGS))
    columns, rows = LISTINGS[what]()
    if json_output:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    table = new_table(*columns)
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    out.print(table)


@app.command(epilog="Example: gatewarp verify track --case embed --implementation hls/track/da4ml")
def verify(
    workload: Annotated[str | None, typer.Argument(help="A workload; default: every one.")] = None,
    case: Case = None,
    implementation: Annotated[str | None, typer.Option(help="One implementation; default: every one.")] = None,
    samples: Annotated[
        int,
        typer.Option(
            min=1,
            help="Inputs of each check, extremes included. Cases that take long have a limit of their own, when "
            "simulated 2 to some hundred; the column of inputs says how many it were.",
        ),
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the inputs and of the random stalls.")] = 1,
    renew: Annotated[bool, typer.Option(help="Compute quality again where a record of these sources has it.")] = False,
    json_output: Json = False,
) -> None:
    """Prove implementations against the oracle; record cycle counts, and what the oracle says."""
    from gatewarp import oracle
    from gatewarp import verify as proving

    checks: list[Any] = []
    for name in [workload] if workload else registry.workload_names():
        registry.workload(name)
        with progress_bar() as progress:
            made = list(proving.run(name, case, implementation, samples, seed, progress))
            records = [r for c in made if not isinstance(c, proving.Skipped) and c.passed for r in c.records]
            known = oracle.NOTHING if renew else oracle.known(name, _folders())
            records += oracle.records(name, case, known, progress)
        write(f"verify-{name}", records)
        checks += made
    done = [c for c in checks if not isinstance(c, proving.Skipped)]
    failed = [c for c in done if not c.passed]
    if json_output:
        print_json([{**asdict(c), "records": len(c.records)} if c in done else asdict(c) for c in checks])
    else:
        table = new_table("implementation", "case", "arithmetic", "device", "inputs", "result", "how")
        for c in checks:
            if isinstance(c, proving.Skipped):
                table.add_row(c.implementation, c.case, "", "", "", "[yellow]not run[/]", escape(c.reason))
                continue
            limit = "exactly equal" if c.tolerance is None else f"worst {c.worst:.2g} of {c.tolerance:.2g} allowed"
            result = f"[green]{limit}[/]" if c.passed else f"[bold red]FAILED[/], worst {c.worst:g}"
            table.add_row(c.implementation, c.case, c.arithmetic, c.device, f"{c.samples:,}", result, escape(c.detail))
        out.print(table)
        out.print(
            f"seed {seed}: {len(done) - len(failed)} passed, {len(failed)} failed, {len(checks) - len(done)} not run"
        )
    raise typer.Exit(1 if failed or not done else 0)


@app.command(
    epilog="Examples: gatewarp build track --case embed --board ulx3s-85f --seeds 10; "
    "gatewarp build bcnn --case binarynet --part xc7vx690t"
)
def build(
    workload: WorkloadName,
    board: Annotated[str | None, typer.Option(help="A board; see `gatewarp list boards`.")] = None,
    part: Annotated[str | None, typer.Option(help="Or a part alone: xc7vx690t, xc7z020, xcvu9p, ice40up5k.")] = None,
    case: Case = None,
    implementation: Annotated[str | None, typer.Option(help="One implementation; default: every one.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of place and route; Fmax is their median.")] = 10,
    reuse: Annotated[bool, typer.Option(help="Keep a record whose sources are unchanged instead of building.")] = False,
    bitstreams: Annotated[Path | None, typer.Option("--out", help="Folder for bitstreams; default: build/.")] = None,
    json_output: Json = False,
) -> None:
    """Synthesise, place, route and pack a bitstream for a board, or as far as open tools go for a part; record it."""
    from gatewarp import build as building

    registry.check_case(workload, case)
    if (board is None) == (part is None):
        raise typer.BadParameter("give either --board or --part")
    target = building.target_of(board, part)
    made = building.build(
        workload,
        case,
        implementation,
        target=target,
        on_board=board is not None,
        seeds=seeds,
        bitstreams=bitstreams,
        kept=_folders() if reuse else (),
        say=lambda said: err.print(said, highlight=False),
        progress=progress_bar,
    )
    write(f"build-{workload}-{target}", made)
    if json_output:
        print_json([json.loads(r.to_json()) for r in made])
        return
    for r in made:
        out.print("\n".join(building.lines(r, target)), highlight=False)


@app.command(epilog="Example: gatewarp measure track --device opencl:0 --case embed --batch 1 --batch 4096")
def measure(
    workload: WorkloadName,
    device: Annotated[str, typer.Option(help="opencl:0, cuda:0, null:0; see `gatewarp list devices`.")],
    case: Annotated[str | None, typer.Option(help="A case; default: the workload's first.")] = None,
    batch: Annotated[list[int] | None, typer.Option(help="Batch size, repeatable; default: the workload's.")] = None,
    arithmetic: Annotated[list[str] | None, typer.Option(help="fp16, fixed, binary, ..., repeatable.")] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(
            help="Launch mode, repeatable; default: all. Kernels: queue, graph. Baselines: eager, graph, compile, jit, "
            "...; of several the best counts, and the record says `best`."
        ),
    ] = None,
    baseline: Annotated[
        bool,
        typer.Option(help="Also the outside baselines (PyTorch; JAX-MD, OpenMM) on the same GPU, in the same run."),
    ] = False,
    energy: Annotated[list[int] | None, typer.Option(help="Batch size with energy (NVML), repeatable.")] = None,
    windows: Annotated[int | None, typer.Option(min=1, help="Windows of 5 s for each energy; default: 4.")] = None,
    launches: Annotated[int | None, typer.Option(min=8, help="Launches of each boundary at most.")] = None,
    seconds: Annotated[float | None, typer.Option(min=0.01, help="Seconds for each boundary at most.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the inputs.")] = 1,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Go on after a failure; keep what there is when interrupted.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Time the kernels of a workload on a device, and take their energy where it can be metered."""
    from gpu import measure as measuring
    from gpu.runtime import loop, nvml

    registry.check_case(workload, case)
    case = case or measuring.first_case(workload)
    given = {"launches": launches, "seconds": seconds}
    failures = measuring.Failures()
    made: list[Any] = []
    with progress_bar() as progress:
        records = measuring.measure(
            workload,
            case,
            device,
            batch,
            arithmetic,
            modes=mode,
            baseline=baseline,
            energy_batches=energy or (),
            windows=windows or nvml.WINDOWS,
            budget=loop.Budget(**{k: v for k, v in given.items() if v is not None}),  # type: ignore[arg-type]
            seed=seed,
            command=command_line("measure"),
            progress=progress,
            failed=failures if keep_going else None,
        )
        try:
            seen = (made.append(r) or r for r in records)  # type: ignore[func-returns-value]
            path = write_records(registry.results_folder(), f"measure-{workload}-{case}", seen, keep=keep_going)
        finally:
            for failure in failures:
                err.print(f"[bold red]failed:[/] {escape(failure)}", highlight=False)
    err.print(f"{len(made)} records: {path}", highlight=False)
    if json_output:
        print_json([json.loads(r.to_json()) for r in made])
    else:
        out.print(f"See it: gatewarp compare {workload}")
    raise typer.Exit(1 if failures else 0)


def _folders() -> tuple[Path, Path]:
    return default_folders(repo_root())[0], registry.results_folder()


@app.command(epilog="Example: gatewarp compare track --out report")
def compare(
    workload: Annotated[str | None, typer.Argument(help="A workload; default: every one.")] = None,
    case: Case = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="Write Markdown, CSV, LaTeX, figures, HTML there.")
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Also times with transfers, and as the host sees them.")] = False,
    json_output: Json = False,
) -> None:
    """Set the records side by side: tables, the ratios the referee allows, and those it refuses with the reason."""
    from compare.writers import as_json

    unreadable: list[Problem] = []
    for name in [workload] if workload else registry.workload_names():
        registry.check_case(name, case)
        found = compare_records(name, repo_root(), _folders(), case)
        unreadable = list(found.problems)
        if json_output:
            out.print_json(as_json(found))
        else:
            render_terminal(found, out, whole=whole)
        for path in write_outputs(found, folder) if folder else ():
            err.print(f"wrote {path}", highlight=False)
    warn(unreadable)
    raise typer.Exit(1 if unreadable else 0)


@app.command(epilog='Example: gatewarp query "select implementation, device, value from measurements limit 5"')
def query(
    sql: Annotated[str, typer.Argument(help="SQL over the tables `records` and `measurements` (DuckDB).")],
    json_output: Json = False,
) -> None:
    """Query all records with SQL."""
    columns, rows, problems = query_records(sql, _folders())
    if json_output:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        table = new_table(*columns)
        for row in rows:
            table.add_row(*("" if v is None else escape(str(v)) for v in row))
        out.print(table)
    warn(problems)
    raise typer.Exit(1 if problems else 0)


board_commands.register(app)
