"""The tensor-core kernels of `deconv` without a GPU: the CUDA text itself, thread for thread on the CPU."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial

import mma_simt
import numpy as np
import pytest

from gpu.deconv import layout, mma_gather, mma_halo, mma_pair, mma_rows, mma_scatter
from gpu.deconv.mma_gather import Gather
from gpu.deconv.mma_halo import Halo
from gpu.deconv.mma_pair import Pair
from gpu.deconv.mma_rows import Rows
from gpu.deconv.mma_scatter import Scatter
from gpu.runtime.device import Info
from workloads.deconv.layer import Layer
from workloads.deconv.network import Network
from workloads.deconv.parameters import Parameters

SEED = 44
#: Few multiprocessors, so that a block takes several tiles.
INFO = Info("x", "x", "cuda", 2, 60 << 20, 32, True, 232_448, {})


class Made(layout.Network):
    """A network of one layer, or of a pair of them, with random parameters."""

    @cached_property
    def _parameters(self):
        layers = PAIRS.get(self.case) or (LAYERS[self.case],)
        rng = np.random.default_rng(SEED)
        weights = [
            rng.standard_normal(x.weight_shape, np.float32) / np.float32(np.sqrt(x.channels_in * 4)) for x in layers
        ]
        biases = [rng.standard_normal(x.channels_out, np.float32) * np.float32(0.2) for x in layers]
        return Parameters(self.case, Network(layers, tuple(weights), tuple(biases)), {})

    def _fixed(self, index, arithmetic):
        return self._parameters.network.fixed(8).layers[index]


LAYERS = {
    "2d k4": Layer("2d k4", (4, 5), 32, 16, 4, 2, 1),
    "2d k5": Layer("2d k5", (4, 3), 80, 32, 5, 2, 2, 1, "linear"),
    "2d first": Layer("2d first", (1, 1), 100, 48, 4, activation="clip"),
    "2d stride 1": Layer("2d stride 1", (5, 4), 16, 6, 3, 1, 1, activation="sigmoid"),
    "2d odd channels": Layer("2d odd channels", (3, 3), 8, 3, 3, 2, 1, activation="tanh"),
    "2d wide stride": Layer("2d wide stride", (2, 2), 16, 8, 2, 3, 0, 1),
    "3d k4": Layer("3d k4", (2, 2, 3), 144, 16, 4, 2, 1),
    "3d k2": Layer("3d k2", (2, 3, 2), 64, 16, 2, 2),
    "halo 2d k4": Layer("halo 2d k4", (8, 16), 80, 32, 4, 2, 1),
    "halo 2d k5": Layer("halo 2d k5", (9, 8), 144, 16, 5, 2, 2, 1, "linear"),
    "halo 2d s1": Layer("halo 2d s1", (8, 8), 16, 8, 3, 1, 1, activation="tanh"),
    "halo 3d k4": Layer("halo 3d k4", (3, 8, 8), 64, 16, 4, 2, 1),
    "last 2d k4": Layer("last 2d k4", (6, 10), 32, 3, 4, 2, 1, activation="tanh"),
    "last 2d k5": Layer("last 2d k5", (5, 4), 64, 3, 5, 2, 2, 1, "tanh"),
    "last 2d k3": Layer("last 2d k3", (8, 8), 32, 1, 3, 1, 1, activation="tanh"),
    "last 3d k4": Layer("last 3d k4", (3, 4, 5), 48, 1, 4, 2, 1, activation="sigmoid"),
    "rows k4": Layer("rows k4", (6, 20), 32, 3, 4, 2, 1, activation="tanh"),
    "rows k5": Layer("rows k5", (5, 16), 48, 3, 5, 2, 2, 1, "tanh"),
    "rows k3": Layer("rows k3", (8, 8), 32, 1, 3, 1, 1, activation="tanh"),
    "last k2 s3": Layer("last k2 s3", (3, 4), 16, 1, 2, 3, 0, 2, "linear"),
}
PAIRS = {
    "pair k4": (
        Layer("pair k4", (8, 8), 32, 16, 4, 2, 1),
        Layer("last", (16, 16), 16, 3, 4, 2, 1, activation="tanh"),
    ),
    "pair k5": (
        Layer("pair k5", (16, 8), 64, 32, 5, 2, 2, 1),
        Layer("last", (32, 16), 32, 1, 3, 1, 1, activation="sigmoid"),
    ),
    "pair celeba": (
        Layer("pair celeba", (16, 16), 64, 32, 4, 2, 1),
        Layer("last", (32, 32), 32, 3, 4, 2, 1, activation="tanh"),
    ),
}
GATHER = {
    "2d k4": (
        Gather(16),
        Gather(16, split=8, position_major=True),
        Gather(16, wgs=2, position_major=True),
        Gather(16, blocks=2, position_major=True, persistent=True),
        Gather(16, position_major=True, balanced=True),
    ),
    "2d k5": (
        Gather(32, stages=3),
        Gather(32, mt=2, position_major=True, persistent=True, group_major=True),
        Gather(16, split=4, group_major=True),
        Gather(32, stages=3, balanced=True, group_major=True),
    ),
    "2d first": (Gather(64), Gather(128, stages=3)),
    "2d stride 1": (Gather(16, position_major=True),),
    "2d odd channels": (Gather(16),),
    "2d wide stride": (Gather(16),),
    "3d k4": (
        Gather(16, stages=5),
        Gather(16, split=2, position_major=True),
        Gather(16, wgs=2, stages=3, balanced=True),
    ),
    "3d k2": (Gather(128), Gather(64, wgs=2)),
}
HALO = {
    "halo 2d k4": (
        Halo(32, (1, 1, 8, 8), sets=4),
        Halo(16, (1, 1, 8, 16), mt=2),
        Halo(32, (2, 1, 8, 8), wgs=2, stages=4),
    ),
    "halo 2d k5": (Halo(16, (1, 1, 8, 8), stages=8, sets=2), Halo(16, (2, 1, 8, 8), mt=2, stages=3)),
    "halo 2d s1": (Halo(16, (1, 1, 8, 8)),),
    "halo 3d k4": (Halo(16, (1, 2, 8, 8), wgs=2), Halo(16, (1, 1, 8, 8), stages=16)),
}
SCATTER = {
    "last 2d k4": (Scatter((1, 4, 8), 2), Scatter((1, 8, 16), 4, 2)),
    "last 2d k5": (Scatter((1, 4, 4), 2),),
    "last 2d k3": (Scatter((1, 8, 8), 1),),
    "last 3d k4": (Scatter((2, 4, 4), 4), Scatter((4, 2, 8), 2, 2)),
    "last k2 s3": (Scatter((1, 2, 4), 1),),
}
ROWS = {
    "rows k4": (Rows(4, 2), Rows(6, 1), Rows(4, 2, 2)),
    "rows k5": (Rows(2, 4), Rows(2, 4, 3)),
    "rows k3": (Rows(8, 4),),
}
#: Each choice in integers, where nothing but equality will do; the first one of each layer in binary16 as well.
CASES = [
    (name, choice, arithmetic)
    for found in (GATHER, HALO, SCATTER, ROWS, dict.fromkeys(PAIRS, (Pair(2), Pair(1))))
    for name, choices in found.items()
    for number, choice in enumerate(choices)
    for arithmetic in (("fixed8", "fp16") if number == 0 else ("fixed8",))
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mma")


def worst(name, choice, arithmetic, n, folder, change=None, info=INFO):
    """(largest error, tolerance) of a layer, or a pair, by one kernel."""
    network = Made(name)
    layer, last = network.layers[0], network.layers[-1]
    rng = np.random.default_rng(SEED)
    x = network.numbers(arithmetic, rng.integers(-128, 128, (n, *layer.shape, layer.channels_in)) / 128)
    module = {Gather: mma_gather, Halo: mma_halo, Scatter: mma_scatter, Rows: mma_rows, Pair: mma_pair}[type(choice)]
    stage = module.stage(network, 0, choice, arithmetic, n, *([info] if isinstance(choice, Gather | Pair) else []))
    out = np.empty((n, *last.shape_out, last.channels_out), x.dtype)
    got = mma_simt.run(stage, x, out, folder, change).astype(np.float64)
    if arithmetic == "fixed8":
        wanted = x.astype(np.int64)
        for index in range(len(network.layers)):
            wanted = network._fixed(index, arithmetic)(wanted)
        assert len(np.unique(wanted)) > 50, "too few different numbers to prove anything"
        return np.abs(got - wanted).max(), 0
    wanted = network._parameters.network.evaluate(x.astype(np.float64), np.float16, np.float32).astype(np.float64)
    return np.abs(got - wanted).max(), 2e-3


@pytest.mark.parametrize(("name", "choice", "arithmetic"), CASES, ids=lambda v: str(v))
def test_kernels_equal_the_oracle(name, choice, arithmetic, folder):
    print("seed", SEED)
    error, tolerance = worst(name, choice, arithmetic, 5, folder)
    assert error <= tolerance


@pytest.mark.parametrize(
    ("choice", "units", "roles"),
    [
        (Gather(32, stages=3, balanced=True), 2, {-1, 0, 1}),
        (Gather(32, stages=3, balanced=True, position_major=True), 7, {-1, 0, 1, 2}),
        (Gather(32, wgs=2, stages=3, balanced=True, aligned=True), 12, {-1, 1, 2, 3}),
    ],
)
def test_blocks_that_take_parts_from_each_other(choice, units, roles, folder, monkeypatch):
    """All blocks have about as many steps, and every step of every tile is done once, by as many as it is told."""
    monkeypatch.setattr(mma_gather, "FEWEST_STEPS", 4)  # so that a small layer is cut more often
    info = replace(INFO, units=units)
    for arithmetic, n in (("fp16", 5),):
        made = Made("2d k5")
        stage = mma_gather.stage(made, 0, choice, arithmetic, n, info)
        blocks, plan = stage.launches[0].groups, stage.constants[f"plan{n}"]
        pieces = plan[blocks + 1 :].reshape(-1, 4)
        assert blocks <= units
        steps = [pieces[plan[b] : plan[b + 1], 2].sum() for b in range(blocks)]
        if not choice.aligned:
            assert max(steps) - min(steps) <= mma_gather.FEWEST_STEPS
        for tile in np.unique(pieces[:, 0]):
            own = pieces[pieces[:, 0] == tile]
            parts = own[np.argsort(own[:, 1])]
            assert (parts[1:, 1] == np.cumsum(parts[:-1, 2])).all()
            assert parts[0].tolist()[1::2] == [0, len(parts) - 1]
            assert (parts[1:, 3] == -1).all()
        error, tolerance = worst("2d k5", choice, arithmetic, n, folder, info=info)
        assert error <= tolerance
        roles = roles - set(pieces[:, 3].tolist())
    assert not roles


def test_a_wrong_text_is_seen(folder):
    """A barrier that threads leave out, units in a wrong place, a short stride, a wrong neighbour: each is found."""
    choice = GATHER["2d k4"][0]
    with pytest.raises(AssertionError, match="a barrier that not all threads reach"):
        worst(
            "2d k4",
            choice,
            "fixed8",
            3,
            folder,
            lambda text: text.replace("some_sync(1, WORKERS);", "if (threadIdx.x) some_sync(1, WORKERS);"),
        )
    error, _ = worst(
        "2d k4", choice, "fixed8", 3, folder, lambda text: text.replace("(unit ^ (thread / 8 & 7))", "unit")
    )
    assert error > 0
    choice = HALO["halo 2d k4"][0]
    error, _ = worst(
        "halo 2d k4", choice, "fixed8", 2, folder, lambda text: text.replace("(u64)HX << 32", "(u64)(HX - 1) << 32")
    )
    assert error > 0
    error, _ = worst(
        "rows k4",
        ROWS["rows k4"][0],
        "fixed8",
        2,
        folder,
        lambda text: text.replace("g == 7 ? before", "g == 6 ? before"),
    )
    assert error > 0
    for name, choice, before, after in (
        ("pair k4", Pair(2), "given = by[j][e] == 1 && g == 7 ? before : given;", ""),
        ("pair celeba", Pair(2), "copy<16>(region + number % REGIONS * KEEP", "copy<16>(region"),
        ("pair k4", Pair(2), "lane / 8 % 2", "lane / 8 % 3"),
        ("2d k5", GATHER["2d k5"][-1], "take(acc,", "if (false) take(acc,"),
        ("rows k4", Rows(4, 2, 2), "fetch(r + AHEAD);", "fetch(r + AHEAD + 1);"),
    ):
        arithmetic = "fp16" if isinstance(choice, Gather) else "fixed8"
        changed = partial(_replaced, before=before, after=after)
        error, tolerance = worst(name, choice, arithmetic, 5, folder, changed)
        assert error > tolerance, before


def _replaced(text, before, after):
    assert before in text
    return text.replace(before, after)


def test_all_families_and_what_they_can_do_are_among_the_cases():
    gathers = [choice for choices in GATHER.values() for choice in choices]
    assert {c.persistent for c in gathers} == {c.group_major for c in gathers} == {True, False}
    assert {c.balanced for c in gathers} == {c.ahead > 0 for some in ROWS.values() for c in some} == {True, False}
    assert {c.split for c in gathers} >= {1, 2, 4, 8}
    assert {layer.dimensions for layer in LAYERS.values()} == {2, 3}
    assert {layer.kernel for layer in LAYERS.values()} == {2, 3, 4, 5}
    assert {layer.activation for layer in LAYERS.values()} == {"linear", "clip", "tanh", "sigmoid"}
