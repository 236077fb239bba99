"""Generated projects of the vendor boards, built with stand-ins for vivado and v++ that run their Tcl and check it."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import vendor_loopback
import vendor_stand_ins
from vendor_stand_ins import StandIns

from compare.record import Record, Stage
from designs import boards
from designs.boards import BoardError, vendor
from designs.boards.pll import PllError
from designs.boards.vendor import clocks, facts
from designs.boards.vendor.project import Project
from designs.flow.tools import FlowError, MissingTool

BOARDS = ("alveo-u250", "alveo-u50", "pynq-z2", "vc709")

#: Clock asked for on each board and the one it gives, in MHz, and that clock's name in reports.
CLOCKS = {
    "vc709": (170.0, 170.0, "clk"),
    "pynq-z2": (150.0, 1000 / 7, "clk_fpga_0"),
    "alveo-u50": (250.0, 250.0, "clk_kernel_00"),
    "alveo-u250": (250.0, 250.0, "clk_kernel_00"),
}


def generate(board: str, folder: Path) -> Project:
    return vendor.generate(vendor_loopback.core(), board, folder, mhz=CLOCKS[board][0], items=vendor_loopback.ITEMS)


def tools(board: str, folder: Path, patch: pytest.MonkeyPatch) -> StandIns:
    names = ("vivado", "v++") if board.startswith("alveo") else ("vivado",)
    _, mhz, clock = CLOCKS[board]
    return vendor_stand_ins.install(
        folder, patch, *names, period=1e3 / mhz, clock=clock, ultrascale=board.startswith("alveo")
    )


def test_boards_load() -> None:
    assert tuple(vendor.names()) == BOARDS
    for name in BOARDS:
        assert boards.load(name).family == "xilinx"
        assert vendor.load(name).part.startswith(boards.load(name).part)
    assert (boards.load("PYNQ-Z2").name, boards.load("u50").name) == ("pynq-z2", "alveo-u50")
    with pytest.raises(BoardError, match="ulx3s-85f is not built by the vendor's tools; those are: alveo-u250"):
        vendor.load("ulx3s")


@pytest.mark.parametrize("wanted", [5.0, 33.3, 100.0, 125.0, 166.6, 200.0, 250.0, 371.0, 600.0])
def test_mmcm_keeps_its_limits(wanted: float) -> None:
    found = clocks.mmcm(200e6, wanted * 1e6)
    assert found.frequency_hz == pytest.approx(wanted * 1e6, rel=0.01)
    assert found.frequency_hz == pytest.approx(200e6 / found.divide * found.multiply / found.output)
    assert 600e6 <= found.vco_hz <= 1440e6
    assert 10e6 <= 200e6 / found.divide <= 500e6


def test_clocks() -> None:
    assert clocks.fclk(1e9, 100e6).frequency_hz == 100e6
    found = clocks.fclk(1e9, 150e6)
    assert found.frequency_hz == pytest.approx(1e9 / 7), "never faster than asked"
    assert found.divisors[0] * found.divisors[1] == 7
    assert facts.clock_hz(vendor.load("u50"), 250) == 250e6
    for board, mhz, message in (("vc709", 601, "5 to 600 MHz"), ("pynq", 251, "1 to 250 MHz")):
        with pytest.raises(PllError, match=message):
            facts.clock_hz(vendor.load(board), mhz)
    with pytest.raises(BoardError, match=r"whole MHz, not 100\.5"):
        facts.clock_hz(vendor.load("u50"), 100.5)


@pytest.mark.parametrize("board", BOARDS)
def test_build_with_stand_ins(board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins = tools(board, tmp_path / "bin", monkeypatch)
    project = generate(board, tmp_path / "project")
    assert project.clock_hz == pytest.approx(CLOCKS[board][1] * 1e6)
    built = vendor.build(project)
    assert built.met, built.says
    assert f"clock of {CLOCKS[board][1]:.6g} MHz met with 0.345 ns to spare" in built.says
    assert [call[0] for call in stand_ins.runs("vivado", "v++")] == list(project.tools)
    assert built.bitstream.is_file()

    record = built.record
    assert Record.from_json(record.to_json()) == record
    assert {measured.stage for measured in record.measurements} == {Stage.POST_ROUTE}
    values = {measured.quantity: measured.value for measured in record.measurements}
    fmax = 1e9 / (round(1e3 / CLOCKS[board][1], 3) - 0.345)
    assert values.pop("fmax") == pytest.approx(fmax)
    assert values.pop("clock") == pytest.approx(project.clock_hz)
    assert values == {"luts": 2345, "ffs": 3456, "brams": 21, "dsps": 7}
    assert record.device == vendor.load(board).board.part
    assert record.conditions["design"] == vendor_loopback.core().digest
    assert record.conditions["bitstream_clock_met"] is True
    assert record.provenance.tools == {"vivado": "2023.2"}

    # Everything is there already: nothing runs again, also after generating it anew.
    before = len(stand_ins.calls)
    assert vendor.build(generate(board, tmp_path / "project")).record.measurements == record.measurements
    assert len(stand_ins.calls) == before


def test_what_the_tools_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins = tools("vc709", tmp_path / "bin", monkeypatch)
    vendor.build(generate("vc709", tmp_path / "vc709"))
    assert stand_ins.runs("synth_design") == [["synth_design", "-top", "vc709_top", "-part", "xc7vx690tffg1761-2"]]
    order = [call[0] for call in stand_ins.calls]
    flow = ["read_xdc", "synth_design", "opt_design", "place_design", "route_design", "report_timing_summary"]
    places = [order.index(name) for name in [*flow, "write_bitstream"]]
    assert places == sorted(places)

    alveo = tools("alveo-u50", tmp_path / "bin2", monkeypatch)
    vendor.build(generate("alveo-u50", tmp_path / "alveo"))
    (linked,) = alveo.runs("v++")
    assert linked[linked.index("--platform") + 1] == "xilinx_u50_gen3x16_xdma_5_202210_1"
    assert linked[linked.index("--kernel_frequency") + 1] == "250"
    (packed,) = alveo.runs("package_xo")
    assert packed[packed.index("-ctrl_protocol") + 1] == "user_managed"
    registers = [call[1] for call in alveo.runs("ipx::add_register")]
    assert registers == ["IDENT", "STATUS", "BYTE", "WORD", "FLAGS"]


def test_pynq_tells_the_clock_and_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins = tools("pynq-z2", tmp_path / "bin", monkeypatch)
    project = generate("pynq-z2", tmp_path / "pynq")
    vendor.build(project)
    (settings,) = (call[2] for call in stand_ins.runs("set_property") if "PCW_FPGA0" in call[2])
    assert "CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ 142.857143" in settings
    (placed,) = stand_ins.runs("assign_bd_address")
    assert placed[placed.index("-offset") + 1] == "0x43C00000"
    assert (project.folder / "gatewarp.hwh").is_file(), "PYNQ wants it beside the bitstream"
    # With the board in Vivado's store its preset is taken; without, the design does without.
    assert not [call for call in stand_ins.runs("set_property") if call[1] == "board_part"]
    stand_ins.plan(board_store=True)
    (project.folder / "built.json").unlink()
    vendor.build(project)
    assert [call for call in stand_ins.runs("set_property") if call[1] == "board_part"]
    # A processing system that cannot make the clock stops the build.
    stand_ins.plan(fclk="140.0")
    (project.folder / "built.json").unlink()
    with pytest.raises(FlowError, match=r"FCLK_CLK0 is 140\.0 MHz, the design is for 142\.857143"):
        vendor.build(project)


@pytest.mark.parametrize("board", ["vc709", "pynq-z2", "alveo-u50"])
def test_memories_come_along(board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that RTL reads by name lie beside it and are told to the tool; spaces in the folder's name do no harm."""
    stand_ins = tools(board, tmp_path / "bin", monkeypatch)
    image = tmp_path / "weights.hex"
    image.write_text("0\n")
    core = replace(vendor_loopback.core(), memories=(image,))
    built = vendor.build(vendor.generate(core, board, tmp_path / "a project", mhz=CLOCKS[board][0]))
    assert built.met
    assert (built.bitstream.parent / "rtl" / "weights.hex").read_text() == "0\n"
    assert ["add_files", "-norecurse", "rtl/weights.hex"] in [
        [word.strip() for word in call] for call in stand_ins.runs("add_files")
    ]
    (kind,) = (call for call in stand_ins.runs("set_property") if call[1] == "file_type")
    assert kind[2] == "Memory Initialization Files"


def test_the_readme_leads_back_to_the_same_project(tmp_path: Path) -> None:
    """The clock that its command names is the clock that it has."""
    for board in BOARDS:
        project = generate(board, tmp_path / board)
        (command,) = (step for step in vendor.deploy_steps(project) if "gatewarp deploy" in step)
        asked = float(command.split("--clock ")[1].split()[0])
        again = vendor.generate(project.core, board, project.folder, mhz=asked, items=vendor_loopback.ITEMS)
        assert again == project
        assert f"--keep {project.folder}" in command


@pytest.mark.parametrize(
    ("board", "command"), [("vc709", "route_design"), ("pynq-z2", "validate_bd_design"), ("alveo-u50", "v++")]
)
def test_a_failing_tool(board: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins = tools(board, tmp_path / "bin", monkeypatch)
    stand_ins.plan(fail=command, error="[Route 35-7] Design has 12 unroutable pins")
    project = generate(board, tmp_path / "project")
    with pytest.raises(FlowError, match=r"failed \(exit status 1\)\nERROR: \[Route 35-7\] .*12 unroutable(.|\n)*logs/"):
        vendor.build(project)
    with pytest.raises(FlowError, match=r"no results of its present files; run \./build\.sh"):
        vendor.collect(project)


def test_a_run_that_stops_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins = tools("pynq-z2", tmp_path / "bin", monkeypatch)
    stand_ins.plan(progress="78%")
    with pytest.raises(FlowError, match="implementation ended with route_design ERROR"):
        vendor.build(generate("pynq-z2", tmp_path / "project"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"slack": {"setup": -0.412}}, r"worst setup slack -0\.412 ns, the design could do 158\.9 MHz"),
        ({"slack": {"overall": -0.05}}, r"worst setup slack -0\.05 ns, the design could do 180\.6 MHz"),
        ({"slack": {"hold": -0.01}}, r"worst hold slack is -0\.01 ns: no lower clock mends that"),
    ],
)
def test_timing_not_met(changes: dict[str, object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins = tools("vc709", tmp_path / "bin", monkeypatch)
    stand_ins.plan(**changes)
    built = vendor.build(generate("vc709", tmp_path / "project"))
    assert not built.met
    assert built.record.conditions["bitstream_clock_met"] is False
    assert re.search(said, built.says), built.says


def test_vitis_lowers_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins = tools("alveo-u250", tmp_path / "bin", monkeypatch)
    stand_ins.plan(scaled=231)
    built = vendor.build(generate("alveo-u250", tmp_path / "project"))
    assert not built.met
    assert "v++ set the kernel's clock to 231 MHz" in built.says
    assert built.record.conditions["board_clock_hz"] == 231e6


@pytest.mark.parametrize(("board", "missing"), [("vc709", "vivado is not"), ("alveo-u50", r"vivado and v\+\+ are not")])
def test_without_tools(board: str, missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    project = generate(board, tmp_path / "project")
    with pytest.raises(MissingTool, match=rf"{board} is built by AMD's tools, and {missing} on PATH(.|\n)*build\.sh"):
        vendor.build(project)
    steps = vendor.deploy_steps(project)
    assert any("./build.sh" in step for step in steps)
    assert any(f"gatewarp deploy track --case compact --board {board}" in step for step in steps)


@pytest.mark.parametrize("board", ["vc709", "alveo-u50"])
def test_built_elsewhere(board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """build.sh does what build() does; its results belong to the files that were there."""
    project = generate(board, tmp_path / "a project")
    script = [str(project.folder / "build.sh")]
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/usr/bin:/bin")
        ran = subprocess.run(script, capture_output=True, text=True, cwd=tmp_path)
        assert ran.returncode == 1
        assert "ERROR: vivado is not on PATH" in ran.stderr
    with monkeypatch.context() as patch:
        stand_ins = tools(board, tmp_path / "bin", patch)
        stand_ins.plan(fail=project.tools[-1] if board != "vc709" else "place_design", error="[Place 30-99] no room")
        ran = subprocess.run(script, capture_output=True, text=True, cwd=tmp_path)
        assert ran.returncode == 1
        assert ran.stderr == "ERROR: [Place 30-99] no room\n"
        stand_ins.plan(fail="")
        subprocess.run(script, check=True, cwd=tmp_path)
    built = vendor.build(project)  # no tools needed
    assert built.met
    other = replace(vendor_loopback.core(), case="other")
    changed = vendor.generate(other, board, project.folder, mhz=CLOCKS[board][0], items=vendor_loopback.ITEMS)
    with pytest.raises(FlowError, match="no results of its present files"):
        vendor.collect(changed)


def test_the_folder_is_kept_clean(tmp_path: Path) -> None:
    project = generate("vc709", tmp_path / "project")
    stamps = {path: path.stat().st_mtime_ns for path in project.folder.rglob("*") if path.is_file()}
    (project.folder / "rtl" / "old.sv").write_text("module old; endmodule\n")
    assert generate("vc709", tmp_path / "project") == project
    assert {path: path.stat().st_mtime_ns for path in project.folder.rglob("*") if path.is_file()} == stamps
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(BoardError, match="holds something else; name an empty folder"):
        generate("vc709", tmp_path / "mine")
    with pytest.raises(BoardError, match="is a file; name a folder"):
        generate("vc709", tmp_path / "mine" / "notes.txt")
    about = json.loads((project.folder / "project.json").read_text())
    assert (about["board"], about["design"]) == ("vc709", vendor_loopback.core().digest)


def test_refusals(tmp_path: Path) -> None:
    core = vendor_loopback.core()
    clash = tmp_path / "shell.sv"
    clash.write_text("module shell; endmodule\n")
    with pytest.raises(BoardError, match=r"two files are called shell\.sv"):
        vendor.generate(replace(core, sources=(*core.sources, clash)), "vc709", tmp_path / "a")
    with pytest.raises(BoardError, match="has no serial port, so no baud rate"):
        vendor.generate(core, "pynq-z2", tmp_path / "b", baud=115_200)
    with pytest.raises(BoardError, match="3000000 baud is above the 921600"):
        vendor.generate(core, "vc709", tmp_path / "c", baud=3_000_000)


@pytest.mark.parametrize(
    ("board", "file", "old", "new", "said"),
    [
        ("vc709", "build.tcl", "rtl/shell.sv\n", "\n", r"not read: rtl/shell\.sv"),
        ("vc709", "build.tcl", "rtl/vc709_top.sv", "rtl/vc709_tip.sv", r"no file rtl/vc709_tip\.sv in"),
        ("vc709", "build.tcl", "opt_design\n", "optimise_design\n", "invalid command name"),
        ("vc709", "build.tcl", "-top vc709_top", "-topp vc709_top", "Unknown option '-topp'"),
        ("vc709", "build.tcl", "set sources {", "set sources {{", "missing close-brace"),
        ("vc709", "vc709.xdc", "[get_ports uart_rxd]", "[get_ports uart_rx]", "No ports matched 'uart_rx'"),
        ("vc709", "vc709.xdc", "PACKAGE_PIN AU36 ", "", "without a pin or a standard: uart_txd"),
        ("vc709", "vc709.xdc", "AU36", "AU33", "one pin for two ports"),
        ("pynq-z2", "pynq-z2.xdc", "PACKAGE_PIN M14 ", "", r"without a pin or a standard: led\[3\]"),
        ("pynq-z2", "build.tcl", "-reference gatewarp_port", "-reference gatewarp_axil", "is not Verilog"),
        ("alveo-u50", "reports.tcl", "-file [file join $reports timing.rpt]", "", "KeyError|-file"),
    ],
)
def test_the_stand_ins_see_a_broken_project(
    board: str, file: str, old: str, new: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line of Tcl and XDC that is checked here is checked indeed."""
    tools(board, tmp_path / "bin", monkeypatch)
    project = generate(board, tmp_path / "project")
    path = project.folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(FlowError, match=said):
        vendor.build(project)


def test_programming_needs_one_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins = tools("vc709", tmp_path / "bin", monkeypatch)
    project = generate("vc709", tmp_path / "project")
    vendor.build(project)
    command = ["vivado", "-mode", "batch", "-nojournal", "-nolog", "-notrace", "-source", "program.tcl"]
    subprocess.run(command, check=True, cwd=project.folder)
    assert ["set_property", "PROGRAM.FILE", "gatewarp.bit", "xc7vx690t_0"] in stand_ins.calls
    assert stand_ins.runs("program_hw_devices")
    stand_ins.plan(devices="")
    ran = subprocess.run(command, capture_output=True, text=True, cwd=project.folder)
    assert "ERROR: 0 XC7VX690T on the cable" in ran.stdout
