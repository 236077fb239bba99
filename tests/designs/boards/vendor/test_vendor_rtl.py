"""The byte port of the vendor boards in simulation, and what Yosys makes of it for their parts."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

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
