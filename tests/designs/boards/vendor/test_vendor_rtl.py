"""The byte port of the vendor boards in simulation, and what Yosys makes of it for their parts."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
import vendor_loopback

from designs.boards import vendor
from designs.boards.vendor import rtl
from designs.flow.verilator import lint, simulate

HERE = Path(__file__).parent
SEED = int(os.environ.get("GATEWARP_SEED", random.SystemRandom().randrange(1 << 31)))


@pytest.mark.parametrize("depth", [8, 64])
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
    ("board", "top", "pins"),
    [
        ("pynq-z2", "gatewarp_port", ("s_axi", "s_axi_aclk", "s_axi_aresetn")),
        ("alveo-u50", "gatewarp_kernel", ("s_axi_control", "ap_clk", "ap_rst_n")),
    ],
)
def test_link_over_axi(tmp_path: Path, board: str, top: str, pins: tuple[str, str, str]) -> None:
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
             "GATEWARP_WORDS": "400"},
        seed=SEED,
    )  # fmt: skip
    assert result.passed, result.message
    said = result.payload
    assert str(said["name"]) == "track/compact"
    assert str(said["design"]) == core.digest[:32]
    assert (int(said["clock_hz"]), said["words"].tolist()) == (100_000_000, [400, 400])
    assert (int(said["flags"]), int(said["bad"])) == (0, 0)


def in_order(folder: Path) -> list[Path]:
    """A project's sources in the order in which its Tcl reads them."""
    (script,) = (path for name in ("build.tcl", "package_kernel.tcl") if (path := folder / name).is_file())
    listed = script.read_text().split("set sources {")[1].split("}")[0].split()
    return [folder / name for name in listed]
