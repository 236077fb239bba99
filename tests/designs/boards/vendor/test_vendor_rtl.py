"""The byte port of the vendor boards in simulation, and what Yosys makes of it for their parts."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import vendor_loopback

from designs.boards import frames, vendor
from designs.boards.vendor import rtl
from designs.flow.tools import FlowError
from designs.flow.verilator import lint, run_verilator, simulate
from designs.flow.xilinx import synth_xilinx

HERE = Path(__file__).parent
SEED = int(os.environ.get("GATEWARP_SEED", random.SystemRandom().randrange(1 << 31)))


@pytest.mark.parametrize("depth", [8, 32])
def test_byte_port(tmp_path: Path, depth: int) -> None:
    print(f"seed {SEED}")
    sources = rtl.byte_port()
    lint("axil_bytes", sources, parameters={"DEPTH": depth})
    result = simulate(
        "axil_bytes",
        sources,
        HERE / "bench_axil_bytes.py",
        results=tmp_path,
        parameters={"DEPTH": depth},
        env={"GATEWARP_DEPTH": str(depth)},
        seed=SEED,
    )
    assert result.passed, result.message
    assert len(result.tests) == 2


@pytest.mark.parametrize(
    ("board", "top", "pins", "words"),
    [
        ("pynq-z2", "gatewarp_port", ("s_axi", "s_axi_aclk", "s_axi_aresetn"), 300),
        ("alveo-u50", "gatewarp_kernel", ("s_axi_control", "ap_clk", "ap_rst_n"), 30),
    ],
)
def test_link_over_axi(tmp_path: Path, board: str, top: str, pins: tuple[str, str, str], words: int) -> None:
    """The unchanged host, through the bridge program, to the generated project's own files."""
    print(f"seed {SEED}")
    core = vendor_loopback.core()
    project = vendor.generate(core, board, tmp_path / "project", mhz=100, items=vendor_loopback.ITEMS)
    sources = in_order(project.folder)
    lint(top, sources)
    result = simulate(
        top,
        sources,
        HERE / "bench_vendor_link.py",
        results=tmp_path / "results",
        env={**{f"GATEWARP_{name}": pin for name, pin in zip(("PREFIX", "CLOCK", "RESET"), pins, strict=True)},
             "GATEWARP_WORDS": str(words)},
        seed=SEED,
    )  # fmt: skip
    assert result.passed, result.message
    said = result.payload
    assert str(said["name"]) == "track/compact"
    assert str(said["design"]) == core.digest[:32]
    assert (int(said["clock_hz"]), said["words"].tolist()) == (100_000_000, [words, words])
    slow = frames.Flag.OUT_OF_ORDER | frames.Flag.OUTPUT_FULL  # on a slow machine frames may be sent twice
    assert (int(said["flags"]) & ~slow, int(said["bad"])) == (0, 0)


def lint_verilator(top: str, sources: list[Path], parameters: dict[str, int], folder: Path) -> None:
    """As `lint`, without Yosys, which has no parameters that are real numbers."""
    arguments = [
        "--lint-only",
        "-Wall",
        "--no-timing",
        "--top-module",
        top,
        *(f"-G{k}={v}" for k, v in parameters.items()),
    ]
    run_verilator([*arguments, *map(str, sources)], folder, folder / "verilator.log")


def in_order(folder: Path) -> list[Path]:
    """A project's sources in the order in which its Tcl reads them."""
    (script,) = (path for name in ("build.tcl", "package_kernel.tcl") if (path := folder / name).is_file())
    listed = script.read_text().split("set sources {")[1].split("}")[0].split()
    return [folder / name for name in listed]


def test_vc709_at_its_pins(tmp_path: Path) -> None:
    """The whole VC709 with stand-ins for the clock's primitives, which pass the clock."""
    print(f"seed {SEED}")
    core = vendor_loopback.core()
    mhz, baud = 20, 921_600
    project = vendor.generate(core, "vc709", tmp_path / "project", mhz=mhz, items=vendor_loopback.ITEMS)
    sources = [*in_order(project.folder), *rtl.stand_ins()]
    result = simulate(
        "vc709_top",
        sources,
        HERE / "bench_vc709.py",
        results=tmp_path / "results",
        env={"GATEWARP_CLOCKS": str(round(mhz * 1e6 / baud))},
        seed=SEED,
    )
    assert result.passed, result.message
    words = [int(word) for word in result.payload["words"]]
    assert words == frames.identification(
        design=core.digest[:32],
        name="track/compact",
        clock_hz=20_000_000,
        words_in=(3, 1),
        words_out=(3, 1),
        fifos=(words[17] & 0xFFFF, words[17] >> 16),
    )


def test_a_vco_out_of_its_limits_does_not_elaborate(tmp_path: Path) -> None:
    sources = [*rtl.clock(), *rtl.stand_ins()]
    lint_verilator("vc709_clock", sources, {"DIVIDE": 1, "MULTIPLY": 7, "OUTPUT": 14}, tmp_path)
    for parameters, said in (({"MULTIPLY": 8}, "VCO must run from 600 to 1440"), ({"DIVIDE": 107}, "DIVIDE must be")):
        with pytest.raises(FlowError, match=said):
            lint_verilator("vc709_clock", sources, parameters, tmp_path)


def test_yosys_for_the_part(tmp_path: Path) -> None:
    """Another synthesiser takes the PYNQ-Z2's files, and finds the memories in them."""
    project = vendor.generate(vendor_loopback.core(), "pynq-z2", tmp_path, mhz=100, items=vendor_loopback.ITEMS)
    made = synth_xilinx("gatewarp_port", in_order(project.folder), family="xc7")
    print(made.cells)
    assert 1000 < made.cells["luts"] < 4000
    assert 1000 < made.cells["ffs"] < 4000
    assert 4 <= made.cells["brams"] <= 40


def test_yosys_takes_the_byte_port_for_ultrascale() -> None:
    made = synth_xilinx("axil_bytes", rtl.byte_port(), family="xcup")
    print(made.cells)
    assert made.cells["luts"] < 500
    assert made.cells["brams"] == 2
