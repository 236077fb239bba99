"""What every command prints with: the consoles, tables, JSON, progress bars, and where records go."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from compare.store import Problem, write_records
from gatewarp import registry

#: Columns of a table that goes into a file or a pipe, where there is no terminal to ask.
PIPE_WIDTH = 200

out = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
err = Console(stderr=True, soft_wrap=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Case = Annotated[str | None, typer.Option(help="One case of the workload; default: every one.")]
WorkloadName = Annotated[str, typer.Argument(help="A workload; see `gatewarp list workloads`.")]


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr; each new description gets a bar of its own."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bars:
        task = bars.add_task("", total=None)

        def update(what: str, done: int, total: int) -> None:
            bars.update(task, description=what, completed=done, total=total)

        yield update


def print_json(data: Any) -> None:
    """Print JSON for scripts."""
    out.print_json(json.dumps(data, default=str))


def warn(problems: Sequence[Problem]) -> None:
    """Name what was skipped."""
    for problem in problems:
        err.print(f"[yellow]warning:[/] {escape(str(problem))}", highlight=False)


def new_table(*columns: str) -> Table:
    """A table without lines."""
    return Table(*columns, box=None, header_style="bold", pad_edge=False)


def write(stem: str, records: Sequence[Any]) -> None:
    """Write records, if there are any, to a new file in the user's folder."""
    if records:
        path = write_records(registry.results_folder(), stem, records)
        err.print(f"{len(records)} records: {path}", highlight=False)


def command_line(verb: str) -> str:
    """The command line of this run, for provenance."""
    return " ".join(["gatewarp", *(sys.argv[1:] if len(sys.argv) > 1 and sys.argv[1] == verb else [verb])])
