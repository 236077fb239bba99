"""The whole engine in Verilator against the integers of the workload, both dataflows."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_bench import network_of, run

from designs.deconv.config import Engine
from workloads.deconv.layer import Layer

#: Sides that are no multiple of the stride, more stride than kernel, one input, padding of everything.
ODD = (
    Layer("one", (1, 1), 5, 6, 4, activation="clip"),
    Layer("odd", (4, 4), 6, 9, 3, 2, 1, activation="clip"),
    Layer("holes", (7, 7), 9, 7, 1, 2, activation="linear"),
    Layer("last", (13, 13), 7, 3, 3, 1, 1, activation="tanh"),
)
VOLUME = (
    Layer("one", (1, 1, 1), 5, 6, 3, activation="clip"),
    Layer("up", (3, 3, 3), 6, 3, 4, 2, 1, activation="sigmoid"),
)


def reverse(name: str, bits: int = 8, tm: int = 4, tn: int = 8, **parameters: int | bool) -> Engine:
    size = {"a_words": 512, "b_words": 512, "w_words": 512, "bias_words": 32, "acc": 26 if bits == 8 else 42}
    return Engine(name, "reverse_loop", bits, tm, tn, **{**size, **parameters})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "engine", "layers", "pace"),
    [
        ("resident", reverse("r8"), ODD, (0.0, 0.0)),
        ("stalls", reverse("r8"), ODD, (0.4, 0.4)),
        ("streamed", reverse("s16", 16, 2, 4, resident=False), ODD, (0.0, 0.0)),
        ("streamed with stalls", reverse("s16", 16, 2, 4, resident=False), VOLUME, (0.4, 0.4)),
        ("wide", reverse("w8", 8, 8, 2), VOLUME, (0.0, 0.0)),
    ],
)
def test_reverse_loop(
    tmp_path: Path, name: str, engine: Engine, layers: tuple[Layer, ...], pace: tuple[float, float]
) -> None:
    outcome = run(network_of(layers, engine.bits, 3), engine, tmp_path, pace=pace, seed=5)
    kept = sum(layer.kept_macs for layer in layers)
    assert outcome.counts["kept"] == 2 * kept


def test_reverse_loop_as_synthesised(tmp_path: Path) -> None:
    run(network_of(ODD, 8, 4), reverse("r8", tn=4), tmp_path, items=1, seed=6, synthesis_forms=True)


def oriented(name: str, bits: int, tm: int, tn: int, t: tuple[int, int, int], **parameters: int | bool) -> Engine:
    size = {"a_words": 512, "b_words": 512, "w_words": 2048, "bias_words": 32, "psum_words": 256, "drain": 2}
    acc = 26 if bits == 8 else 42
    return Engine(name, "input_oriented", bits, tm, tn, *t, **{**size, "acc": acc, **parameters})  # type: ignore[arg-type]


#: Strides 1 and 2, which is what banks of several positions take.
EVEN = (
    Layer("one", (1, 1), 5, 6, 4, activation="clip"),
    Layer("odd", (4, 4), 6, 9, 3, 2, 1, activation="clip"),
    Layer("last", (7, 7), 9, 3, 3, 1, 1, activation="tanh"),
)


@pytest.mark.parametrize(
    ("name", "engine", "layers", "pace"),
    [
        ("resident", oriented("o8", 8, 2, 4, (1, 2, 2)), EVEN, (0.0, 0.0)),
        ("stalls", oriented("o8", 8, 2, 4, (1, 2, 2)), EVEN, (0.4, 0.4)),
        ("merged", oriented("m16", 16, 2, 4, (2, 2, 4), io=2, resident=False), EVEN, (0.0, 0.0)),
        ("volume", oriented("m16", 16, 2, 4, (2, 2, 4), io=2, resident=False), VOLUME, (0.4, 0.4)),
        ("single", oriented("s8", 8, 4, 8, (1, 1, 1), drain=1), ODD, (0.0, 0.0)),
    ],
)
def test_input_oriented(
    tmp_path: Path, name: str, engine: Engine, layers: tuple[Layer, ...], pace: tuple[float, float]
) -> None:
    outcome = run(network_of(layers, engine.bits, 3), engine, tmp_path, pace=pace, seed=5)
    assert outcome.counts["kept"] == 2 * sum(layer.kept_macs for layer in layers)
