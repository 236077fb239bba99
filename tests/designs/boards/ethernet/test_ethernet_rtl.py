"""The Ethernet side's RTL: lint, its parts, and whole frames against a reference that scapy agrees with."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import ethernet_frames as net
import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from designs.boards.ethernet.top import ethernet_sources
from designs.boards.shell.top import FOLDER as SHELL
from designs.flow.verilator import lint, simulate
from designs.flow.yosys import synth_ecp5
from designs.lib import source

HERE = Path(__file__).parent
SOURCES = [SHELL / "shell_crc.sv", *ethernet_sources(simulated=True)]


@pytest.mark.parametrize("top", ["eth_udp", "eth_rgmii"])
def test_lint(top: str) -> None:
    lint(top, SOURCES)


def test_the_reference_is_what_scapy_says() -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    payload = random.Random(seed).randbytes(77)
    packet = Ether(bytes(Ether(net.udp(payload))))
    assert (packet[IP].dst, packet[UDP].dport, packet[UDP].sport) == ("192.168.77.2", net.BOARD_PORT, net.HOST_PORT)
    assert bytes(packet[Raw]) == payload
    given = packet[IP].chksum
    del packet[IP].chksum
    assert IP(bytes(packet[IP])).chksum == given
    asked = Ether(net.question())
    assert (asked.dst, asked[ARP].op, asked[ARP].pdst, asked[ARP].psrc) == (
        "ff:ff:ff:ff:ff:ff", 1, "192.168.77.2", "192.168.77.1",
    )  # fmt: skip
    echo = Ether(net.ping(20))[ICMP]
    given = echo.chksum
    del echo.chksum
    assert ICMP(bytes(echo)).chksum == given
    whole = net.wire(net.question())
    assert int.from_bytes(whole[-4:], "little") == zlib.crc32(whole[:-4])
    assert len(whole) == 64


@pytest.mark.parametrize(
    "name", ["answers", "streams_slow_shell", "streams_fast_shell", "strangers", "order", "no_room", "crossed"]
)
def test_frames(tmp_path: Path, name: str) -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    result = simulate(
        "eth_udp",
        SOURCES,
        HERE / "bench_eth_udp.py",
        results=tmp_path,
        parameters={"MAC": f"48'h{net.BOARD_MAC.hex()}"},
        env={"PYTHONPATH": str(HERE)},
        testcase=f"{name}$",
        seed=seed,
    )
    assert result.passed, f"seed {seed}\n{result.message}"


@pytest.mark.parametrize("case", range(3))
def test_the_fifo_between_two_clocks(tmp_path: Path, case: int) -> None:
    seed = random.randrange(1 << 30)
    print(f"case {case}, seed {seed}")
    result = simulate(
        "async_fifo",
        source("async_fifo"),
        HERE / "bench_async_fifo.py",
        results=tmp_path,
        parameters={"WIDTH": 8, "DEPTH": 32},
        env={"PYTHONPATH": str(HERE)},
        testcase="run$",
        seed=seed,
    )
    assert result.passed, f"seed {seed}\n{result.message}"


def test_synthesis_uses_the_cells_of_an_ecp5() -> None:
    """Four block RAMs, and a DDR cell for each pin."""
    sources = [SHELL / "shell_crc.sv", *ethernet_sources()]
    assert synth_ecp5("eth_udp", sources).cells["brams"] == 4
    pins = synth_ecp5("eth_rgmii", sources, parameters={"TX_DELAY": 80}).verilog.read_text()
    assert {cell: pins.count(f"  {cell} ") for cell in ("IDDRX1F", "ODDRX1F", "DELAYG")} == {
        "IDDRX1F": 5, "ODDRX1F": 6, "DELAYG": 1,
    }  # fmt: skip
