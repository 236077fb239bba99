"""The commands `gatewarp deploy` and `gatewarp boards`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from gatewarp import registry
from gatewarp.faults import Faults
from gatewarp.terminal import Json, WorkloadName, command_line, err, new_table, out, print_json, progress_bar, write

if TYPE_CHECKING:
    from gatewarp.deploy import Request

EXAMPLES = {
    "deploy": (
        "Examples: gatewarp deploy track --board ulx3s --simulated; "
        "gatewarp deploy bcnn --board ulx3s --port /dev/ttyUSB0 --runs 5; "
        "gatewarp deploy md --board ulx3s --simulated --flip 1e-3"
    ),
    "boards": "Example: gatewarp boards",
}


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (deploy, boards):
        app.command(epilog=EXAMPLES[command.__name__])(command)


def deploy(
    workload: WorkloadName,
    board: Annotated[str, typer.Option(help="A board; see `gatewarp list boards` and `gatewarp boards`.")],
    case: Annotated[str | None, typer.Option(help="A case; default: the workload's smallest.")] = None,
    simulated: Annotated[
        bool,
        typer.Option(
            "--simulated",
            help="The simulated board: same bitstream, programmer and host; its RTL runs in Verilator, so netlist, "
            "routing, packer and PLL are not exercised (tests/designs/boards/shell_netlist.py: the shell's netlist).",
        ),
    ] = False,
    samples: Annotated[
        int | None, typer.Option(min=1, max=10_000_000, help="Hits, images or steps; default: the case's.")
    ] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of all items; default: 5, simulated 1.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the inputs, and of faults.")] = 1,
    clock: Annotated[
        float | None, typer.Option(min=0.001, help="Clock in MHz; default: one that is easily met.")
    ] = None,
    baud: Annotated[int | None, typer.Option(min=300, help="Rate of the line; default: the board's highest.")] = None,
    transport: Annotated[str, typer.Option(help="serial, or udp for boards with gigabit Ethernet.")] = "serial",
    address: Annotated[
        str | None, typer.Option(help="With udp: IP[:PORT] that the board gets; default: 192.168.77.2:18241.")
    ] = None,
    port: Annotated[str | None, typer.Option(help="Serial port; default: that of the board's USB bridge.")] = None,
    serial: Annotated[str | None, typer.Option(help="USB serial number, where several boards are plugged in.")] = None,
    flash: Annotated[bool, typer.Option("--flash", help="Write the flash, after a question; default: SRAM.")] = False,
    bitstream: Annotated[Path | None, typer.Option(help="A bitstream that --keep wrote, in place of a build.")] = None,
    keep: Annotated[Path | None, typer.Option(help="Folder to keep the bitstream in.")] = None,
    flip: Annotated[
        float, typer.Option(min=0, max=1, help="Put faults in: chance a byte (with udp a datagram) that a bit flips.")
    ] = 0.0,
    drop: Annotated[float, typer.Option(min=0, max=1, help="... that it is lost.")] = 0.0,
    repeat: Annotated[float, typer.Option(min=0, max=1, help="... that it comes twice.")] = 0.0,
    delay: Annotated[float, typer.Option(min=0, max=1, help="... that it comes late (udp: is overtaken).")] = 0.0,
    power_watts: Annotated[float | None, typer.Option(help="What a meter showed during the runs.")] = None,
    power_csv: Annotated[Path | None, typer.Option(help="Samples of a meter, column `watts`.")] = None,
    power_source: Annotated[str, typer.Option(help="Which meter, and where it sits.")] = "",
    power_boundary: Annotated[str, typer.Option(help="chip, board or system.")] = "",
    json_output: Json = False,
) -> None:
    """Program a board, run the workload on it over its serial line or UDP, check every bit, record what it counted."""
    from gatewarp import deploy as deploying
    from gatewarp import vendor_deploy
    from gatewarp.power import given
    from gatewarp.results import as_data, lines

    registry.workload(workload)
    request = deploying.Request(
        workload=workload,
        board=board,
        case=case,
        simulated=simulated,
        samples=samples,
        runs=runs or (1 if simulated else deploying.RUNS),
        seed=seed,
        clock_mhz=clock,
        baud=baud,
        bitstream=bitstream,
        keep=keep,
        port=port,
        transport=transport,
        address=address,
        serial=serial,
        flash=flash,
        faults=Faults(flip, drop, repeat, delay, seed=seed),
        power=given(power_watts, power_csv, power_source, power_boundary),
        command=command_line("deploy"),
    )
    if vendor_deploy.builds(board):
        _deploy_vendor(request, json_output)
        return
    with progress_bar() as progress:
        done = deploying.deploy(
            request,
            say=_say,
            progress=progress,
            confirm=_confirm,
        )
    write(f"deploy-{workload}-{done.built.board.name}", [done.record] if done.record else [])
    if json_output:
        print_json(as_data(done))
        return
    for line in lines(done):
        out.print(line, highlight=False, markup=False)
    if done.record:
        out.print(f"See it beside the others: gatewarp compare {workload} --case {done.record.case}")


def _deploy_vendor(request: Request, json_output: bool) -> None:
    """The boards that AMD's tools build."""
    from gatewarp import vendor_deploy

    with progress_bar() as progress:
        done = vendor_deploy.deploy(request, say=_say, progress=progress)
    write(f"deploy-{request.workload}-{done.project.vendor.name}", done.records)
    if json_output:
        print_json([json.loads(each.to_json()) for each in done.records])
        return
    for line in vendor_deploy.lines(done):
        out.print(line, highlight=False, markup=False)
    out.print(f"See it beside the others: gatewarp compare {request.workload} --case {done.records[0].case}")


def _say(said: str) -> None:
    err.print(said, highlight=False, markup=False)


def _confirm(question: str) -> bool:
    """Ask on the terminal; without one nothing is ever confirmed."""
    return sys.stdin.isatty() and typer.confirm(question, err=True)


def boards(json_output: Json = False) -> None:
    """List the boards that are plugged in, and those that can be simulated; `gatewarp list boards` lists all known."""
    from gatewarp.plugged import plugged, simulated

    found = list(plugged())
    if json_output:
        print_json({"plugged_in": [asdict(each) for each in found], "simulated": simulated()})
        return
    table = new_table("USB bridge", "serial number", "may be", "serial port", "")
    for each in found:
        table.add_row(each.usb, escape(each.serial), ", ".join(each.boards), ", ".join(each.ports), escape(each.note))
    if found:
        out.print(table)
    else:
        out.print("No board is plugged in (or its cable carries no data).")
    out.print(f"Always here, with --simulated: {', '.join(simulated())}", highlight=False)
