"""Stands in for vivado and v++: runs the project's Tcl in a Tcl interpreter whose vendor commands are checked here.

Called by the executables that `vendor_stand_ins.install` writes, with a JSON file of what to do. A command that the
vendor does not have, an option that it does not know, a file or a port that is not there: an ERROR line and status 1,
as the tools do. Every command is written to a log of calls. Options: UG835 (Vivado Tcl), UG1118 (IP packager).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import vendor_reports as reports

#: Vendor commands: options without a value, options with one. `-of_objects` may be shortened to `-of` in neither.
COMMANDS: dict[str, tuple[str, str]] = {
    "create_project": ("-in_memory -force", "-part"),
    "close_project": ("", ""),
    "add_files": ("-norecurse", "-fileset"),
    "set_property": ("", "-dict"),
    "get_property": ("", ""),
    "get_files": ("", ""),
    "current_project": ("", ""),
    "current_design": ("", ""),
    "current_fileset": ("", ""),
    "update_compile_order": ("", "-fileset"),
    "read_xdc": ("", ""),
    "create_clock": ("-add", "-period -name -waveform"),
    "create_generated_clock": ("", "-name"),
    "set_false_path": ("", "-from -to"),
    "get_ports": ("", ""),
    "get_pins": ("", "-of_objects -filter"),
    "get_cells": ("-hierarchical", "-filter"),
    "get_clocks": ("", "-of_objects"),
    "synth_design": ("", "-top -part"),
    "opt_design": ("", ""),
    "place_design": ("", ""),
    "phys_opt_design": ("", ""),
    "route_design": ("", ""),
    "report_timing_summary": ("", "-delay_type -max_paths -file"),
    "report_utilization": ("", "-cells -file"),
    "report_power": ("", "-file"),
    "report_drc": ("", "-file"),
    "write_bitstream": ("-force", ""),
    "get_board_parts": ("-quiet", ""),
    "create_bd_design": ("", ""),
    "create_bd_cell": ("", "-type -vlnv -reference"),
    "apply_bd_automation": ("", "-rule -config"),
    "create_bd_port": ("", "-dir -from -to"),
    "connect_bd_net": ("", ""),
    "get_bd_ports": ("", ""),
    "get_bd_pins": ("", ""),
    "get_bd_intf_pins": ("", ""),
    "get_bd_addr_spaces": ("", ""),
    "get_bd_addr_segs": ("", ""),
    "assign_bd_address": ("-force", "-offset -range -target_address_space"),
    "validate_bd_design": ("", ""),
    "save_bd_design": ("", ""),
    "make_wrapper": ("-top", "-files"),
    "launch_runs": ("", "-to_step -jobs"),
    "wait_on_runs": ("", ""),
    "get_runs": ("", ""),
    "open_run": ("", ""),
    "ipx::package_project": ("-import_files", "-root_dir -vendor -library -taxonomy -set_current"),
    "ipx::current_core": ("", ""),
    "ipx::get_user_parameters": ("", "-of_objects"),
    "ipx::remove_user_parameter": ("", ""),
    "ipx::associate_bus_interfaces": ("", "-busif -clock -reset"),
    "ipx::add_memory_map": ("-quiet", ""),
    "ipx::add_address_block": ("-quiet", ""),
    "ipx::add_register": ("-quiet", ""),
    "ipx::get_bus_interfaces": ("", "-of_objects"),
    "ipx::create_xgui_files": ("", ""),
    "ipx::update_checksums": ("", ""),
    "ipx::check_integrity": ("-kernel", ""),
    "ipx::save_core": ("", ""),
    "package_xo": ("-force", "-xo_path -kernel_name -ip_directory -ctrl_protocol"),
    "open_hw_manager": ("", ""),
    "close_hw_manager": ("", ""),
    "connect_hw_server": ("", ""),
    "open_hw_target": ("", ""),
    "get_hw_devices": ("", ""),
    "program_hw_devices": ("", ""),
}


class Refused(Exception):
    """What the tool says after ERROR:."""


class Tool:
    """The state of one run: added files, the top's ports, pins given, properties set."""

    def __init__(self, plan: dict[str, Any], calls: list[list[str]]) -> None:
        self.plan, self.calls = plan, calls
        self.files: list[str] = []
        self.top = ""
        self.constraints: list[str] = []
        self.pinned: dict[str, str] = {}
        self.properties: dict[str, str] = {}
        self.tcl: Any = None

    def call(self, name: str, *words: str) -> str:
        self.calls.append([name, *words])
        flags, valued = (text.split() for text in COMMANDS[name])
        options: dict[str, str] = {}
        rest: list[str] = []
        queue = list(words)
        while queue:
            word = queue.pop(0)
            if word in flags:
                options[word] = "1"
            elif word in valued:
                if not queue:
                    raise Refused(f"[Common 17-163] Missing value for option '{word[1:]}' of {name}")
                options[word] = queue.pop(0)
            elif re.fullmatch(r"-[a-z_]+", word):
                raise Refused(f"[Common 17-170] Unknown option '{word}' of {name}")
            else:
                rest.append(word)
        if self.plan.get("fail") == name:
            raise Refused(self.plan["error"])
        method: Callable[..., str] | None = getattr(self, name.replace("::", "_"), None)
        return method(options, rest) if method else " ".join(rest) or name

    def there(self, name: str) -> str:
        if not Path(name).is_file():
            raise Refused(f"[Common 17-55] no file {name}")
        return name

    def add_files(self, options: dict[str, str], rest: list[str]) -> str:
        for name in self.tcl.splitlist(rest[0]):
            self.there(name)
            (self.constraints if options.get("-fileset") == "constrs_1" else self.files).append(name)
        return ""

    def get_files(self, options: dict[str, str], rest: list[str]) -> str:
        return rest[0]

    def read_xdc(self, options: dict[str, str], rest: list[str]) -> str:
        self.constraints.append(self.there(rest[0]))
        return ""

    def module(self, name: str) -> str:
        """The text with a module; all that the project has must have been added by then."""
        unread = sorted({f"rtl/{path.name}" for path in Path("rtl").iterdir()} - set(self.files))
        if unread:
            raise Refused(f"[Synth 8-439] not read: {', '.join(unread)}")
        for path in self.files:
            text = Path(path).read_text()
            if re.search(rf"^module {name}\b", text, re.M):
                return text
        raise Refused(f"[Synth 8-439] module '{name}' not found in {self.files}")

    def synth_design(self, options: dict[str, str], rest: list[str]) -> str:
        self.implement(options["-top"], without=())
        return ""

    def implement(self, top: str, without: tuple[str, ...]) -> None:
        """Read the constraints for the ports of `top`; every port but those `without` needs a pin and a standard."""
        text = self.module(top)
        self.top = top
        head = re.sub(r"\(\*.*?\*\)", "", text[text.index(f"module {top}") :].split(");")[0], flags=re.S)
        self.ports: set[str] = set()
        for width, name in re.findall(r"(?:input|output) wire (?:\[(\d+):0\] )?(\w+)", head):
            self.ports |= {f"{name}[{bit}]" for bit in range(int(width) + 1)} if width else {name}
        for path in self.constraints:
            self.tcl.eval(f"source {path}")
        missing = sorted(port for port in self.ports - set(self.pinned) if not port.startswith(without or ("\0",)))
        if missing:
            raise Refused(f"[DRC NSTD-1] ports without a pin or a standard: {', '.join(missing)}")
        pins = list(self.pinned.values())
        if len(pins) != len(set(pins)):
            raise Refused(f"[Place 30-58] one pin for two ports: {self.pinned}")

    def get_ports(self, options: dict[str, str], rest: list[str]) -> str:
        found = []
        for pattern in self.tcl.splitlist(rest[0]):
            regular = re.escape(pattern).replace(r"\*", ".*")
            matching = [port for port in self.ports if re.fullmatch(regular, port)]
            if not matching:
                raise Refused(f"[Vivado 12-584] No ports matched '{pattern}' of {self.top}")
            found += matching
        return self.tcl.call("list", *sorted(found))

    def set_property(self, options: dict[str, str], rest: list[str]) -> str:
        if "-dict" in options:
            words = self.tcl.splitlist(options["-dict"])
            if len(words) % 2:
                raise Refused(f"[Common 17-161] odd list for -dict: {words}")
            pairs = dict(zip(words[::2], words[1::2], strict=True))
        elif len(rest) == 3:
            pairs = {rest[0]: rest[1]}
        else:
            raise Refused(f"[Common 17-163] set_property takes a name, a value and objects, not {rest}")
        self.properties.update(pairs)
        if "PACKAGE_PIN" in pairs:
            if "IOSTANDARD" not in pairs:
                raise Refused("[DRC NSTD-1] no IOSTANDARD")
            for port in self.tcl.splitlist(rest[-1]):
                self.pinned[port] = pairs["PACKAGE_PIN"]
        return ""

    def get_property(self, options: dict[str, str], rest: list[str]) -> str:
        known = {
            "NAME": self.plan["clock"], "PROGRESS": self.plan.get("progress", "100%"), "STATUS": "route_design ERROR",
            "DIRECTORY": "vivado/gatewarp.runs/impl_1",
            "CONFIG.PCW_ACT_FPGA0_PERIPHERAL_FREQMHZ": self.plan.get(
                "fclk", self.properties.get("CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ", "")
            ),
        }  # fmt: skip
        return str(known[rest[0]])

    def get_board_parts(self, options: dict[str, str], rest: list[str]) -> str:
        return rest[0] if self.plan.get("board_store") else ""

    def create_bd_cell(self, options: dict[str, str], rest: list[str]) -> str:
        if options["-type"] == "module":
            text = self.module(options["-reference"])
            path = next(path for path in self.files if Path(path).read_text() == text)
            if not path.endswith(".v"):
                raise Refused(f"[filemgmt 56-195] the module reference {path} is not Verilog")
        return f"/{rest[0]}"

    def apply_bd_automation(self, options: dict[str, str], rest: list[str]) -> str:
        words = self.tcl.splitlist(options["-config"])
        if len(words) % 2:
            raise Refused(f"[BD 5-105] odd list for -config: {words}")
        return ""

    def make_wrapper(self, options: dict[str, str], rest: list[str]) -> str:
        path = Path("vivado/gatewarp.gen/sources_1/bd/system/hdl/system_wrapper.v")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            "module system_wrapper (output wire [3:0] led, inout wire DDR_ck_p, FIXED_IO_mio);\nendmodule\n"
        )
        (path.parents[1] / "hw_handoff").mkdir(exist_ok=True)
        (path.parents[1] / "hw_handoff" / "system.hwh").write_text("<EDKSYSTEM/>\n")
        return str(path)

    def launch_runs(self, options: dict[str, str], rest: list[str]) -> str:
        self.implement("system_wrapper", without=("DDR_", "FIXED_IO_"))
        folder = Path("vivado/gatewarp.runs/impl_1")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "system_wrapper.bit").write_bytes(b"PYNQ bitstream")
        return ""

    def report_timing_summary(self, options: dict[str, str], rest: list[str]) -> str:
        text = reports.timing(self.plan["clock"], self.plan["period"], **self.plan.get("slack", {}))
        Path(options["-file"]).write_text(text)
        return ""

    def report_utilization(self, options: dict[str, str], rest: list[str]) -> str:
        Path(options["-file"]).write_text(reports.utilisation(ultrascale=self.plan["ultrascale"]))
        return ""

    def report_power(self, options: dict[str, str], rest: list[str]) -> str:
        Path(options["-file"]).write_text("| Total On-Chip Power (W) | 1.234 |\n")
        return ""

    report_drc = report_power

    def write_bitstream(self, options: dict[str, str], rest: list[str]) -> str:
        Path(rest[0]).write_bytes(b"bitstream of " + self.top.encode())
        return ""

    def ipx_package_project(self, options: dict[str, str], rest: list[str]) -> str:
        self.module("gatewarp_kernel")
        Path(options["-root_dir"]).mkdir()
        return ""

    def ipx_current_core(self, options: dict[str, str], rest: list[str]) -> str:
        return "core"

    def ipx_get_user_parameters(self, options: dict[str, str], rest: list[str]) -> str:
        return ""

    def package_xo(self, options: dict[str, str], rest: list[str]) -> str:
        if not Path(options["-ip_directory"]).is_dir():
            raise Refused(f"[XO 1] no IP in {options['-ip_directory']}")
        Path(options["-xo_path"]).write_bytes(b"kernel object")
        return ""

    def get_hw_devices(self, options: dict[str, str], rest: list[str]) -> str:
        return self.plan.get("devices", "xc7vx690t_0")


def run_tcl(script: str, plan: dict[str, Any], calls: list[list[str]]) -> None:
    """Run a script with the vendor's commands defined; Refused or TclError."""
    import tkinter

    tool = Tool(plan, calls)
    tool.tcl = tkinter.Tcl()
    tool.tcl.eval("namespace eval ipx {}")
    for name in COMMANDS:

        def command(*words: str, name: str = name) -> str:
            try:
                return tool.call(name, *words)
            except Exception as error:
                plan.setdefault("said", str(error) if isinstance(error, Refused) else repr(error))
                raise tkinter.TclError(str(error)) from None

        tool.tcl.createcommand(name, command)
    try:
        tool.tcl.eval(f"source {{{script}}}")
    except tkinter.TclError as error:
        raise Refused(plan.pop("said", None) or str(error)) from None


def vivado(arguments: list[str], plan: dict[str, Any], calls: list[list[str]]) -> None:
    """`vivado -mode batch -nojournal -nolog -notrace -source FILE`, and nothing else."""
    if arguments[:-1] != ["-mode", "batch", "-nojournal", "-nolog", "-notrace", "-source"]:
        raise Refused(f"[Common 17-170] unknown arguments: {arguments}")
    run_tcl(arguments[-1], plan, calls)


def link(arguments: list[str], plan: dict[str, Any], calls: list[list[str]]) -> None:
    """`v++ --link ...`: the options of UG1702 that a project uses; the hook runs after routing."""
    values = "--target --platform --config --kernel_frequency --vivado.prop --temp_dir --log_dir --report_dir --output"
    known: dict[str, str] = {}
    rest: list[str] = []
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        if word in values.split():
            known[word] = queue.pop(0)
        elif word == "--link":
            known[word] = ""
        elif word.startswith("-"):
            raise Refused(f"[v++ 60-585] unrecognised option '{word}'")
        else:
            rest.append(word)
    if "--link" not in known or known["--target"] != "hw" or known["--platform"] not in plan["platforms"]:
        raise Refused(f"[v++ 60-585] Unable to find platform {known.get('--platform')}")
    for name in (*rest, known["--config"]):
        if not Path(name).is_file():
            raise Refused(f"[v++ 60-602] no file {name}")
    if "nk=gatewarp_kernel:1:" not in Path(known["--config"]).read_text():
        raise Refused("[v++ 60-602] no kernel in the configuration")
    if plan.get("fail") == "v++":
        raise Refused(plan["error"])
    stage, _, hook = known["--vivado.prop"].partition("=")
    if stage != "run.impl_1.STEPS.ROUTE_DESIGN.TCL.POST" or not Path(hook).is_absolute():
        raise Refused(f"[v++ 60-602] no hook {known['--vivado.prop']}")
    run_tcl(hook, plan, calls)
    output = Path(known["--output"])
    output.write_bytes(b"xclbin")
    rate = plan.get("scaled", int(known["--kernel_frequency"]))
    output.with_name(output.name + ".info").write_text(reports.kernel_info(rate))


def main(name: str, plan_file: str, arguments: list[str]) -> int:
    """Run as the tool `name`; returns its exit status."""
    plan = json.loads(Path(plan_file).read_text())
    calls: list[list[str]] = [[name, *arguments]]
    print(f"****** {name} v2023.2 (64-bit)")
    try:
        (vivado if name == "vivado" else link)(arguments, plan, calls)
    except Refused as error:
        print(f"ERROR: {error}")
        return 1
    finally:
        with open(plan["calls"], "a") as stream:
            stream.writelines(json.dumps(call) + "\n" for call in calls)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
