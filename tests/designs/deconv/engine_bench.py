"""A network through the engine's RTL with streams driven from Python: what the tests of the whole engine share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench_engine import COUNTERS
from numpy.typing import NDArray

from designs.deconv.compiler import Program, compile_network
from designs.deconv.compiler_images import hexadecimal, lines_of, packed
from designs.deconv.config import DATAFLOWS, Engine
from designs.flow.verilator import BuildOptions, simulate
from designs.lib import closure, source
from workloads.deconv.fixed import Integers, quantise
from workloads.deconv.layer import Layer
from workloads.deconv.network import FixedNetwork

HERE = Path(__file__).parent
FOLDER = HERE.parents[2] / "designs" / "deconv"
SOURCES = [*closure("rom", "delay", "stream_fifo", "adder_tree"), *sorted(FOLDER.glob("deconv_*.sv"))]
#: Modules that a synthesis or simulation of the engine alone does not need.
SOURCES = [path for path in SOURCES if path.stem != "deconv_core"]


@dataclass(frozen=True)
class Outcome:
    """Answers (n, ...) of the engine, marks and cycles of its beats (n, beats), counters of all items together."""

    answers: Integers
    marks: NDArray[np.int64]
    cycles: NDArray[np.int64]
    counts: dict[str, int]


def network_of(layers: tuple[Layer, ...], bits: int, seed: int, *, chained: bool = True) -> FixedNetwork:
    """Random integers of ordinary size: sums reach past one, so that saturation and tables are met."""
    rng = np.random.default_rng(seed)
    fixed = []
    for layer in layers:
        scale = 2.0 / np.sqrt(layer.channels_in * layer.kernel**layer.dimensions)
        weight = rng.normal(0, scale, layer.weight_shape)
        fixed.append(quantise(layer, weight, rng.normal(0, 0.3, layer.channels_out), bits))
    return FixedNetwork(tuple(fixed), chained)


def inputs_of(network: FixedNetwork, count: int, seed: int) -> Integers:
    rng = np.random.default_rng(seed)
    first = network.layers[0].layer
    shape = (*first.shape, first.channels_in)
    if not network.chained:
        shape = (sum(layer.layer.inputs for layer in network.layers),)
    high = 1 << (network.bits - 1)
    return rng.integers(-high, high, (count, *shape))


def parameters_of(program: Program, folder: Path) -> tuple[dict[str, int | str], list[Path]]:
    """The engine's parameters, and the memory images written to `folder`."""
    engine = program.engine
    parameters: dict[str, int | str] = {
        "DATAFLOW": DATAFLOWS.index(engine.dataflow), "BITS": engine.bits, "ACC": engine.acc, "TM": engine.tm,
        "TN": engine.tn, "TZ": engine.tz, "TR": engine.tr, "TC": engine.tc, "A_WORDS": engine.a_words,
        "B_WORDS": engine.b_words, "W_WORDS": engine.w_words, "BIAS_WORDS": engine.bias_words, "DRAIN": engine.drain,
        "PSUM_WORDS": engine.psum_words, "IO": engine.io,
    }  # fmt: skip
    images: dict[str, str] = {}
    if engine.resident:
        words, biases = resident(program)
        lines = lines_of(words)
        images["WEIGHTS"] = hexadecimal(lines, 8 * lines.shape[1])
        images["BIASES"] = hexadecimal(biases, engine.tm * engine.acc)
    if program.table.size:
        table = program.table
        entry = 8 if engine.bits == 8 else 26
        value = table[:, 0] & ((1 << engine.bits) - 1)
        number = value if engine.bits == 8 else value | (table[:, 1] & 1023) << 16
        images["TABLE"] = "".join(f"{int(n):0{-(-entry // 4)}x}\n" for n in number)
    files = []
    for name, text in images.items():
        files.append(folder / f"{name.lower()}.hex")
        files[-1].write_text(text)
        parameters[name] = f'"{files[-1].name}"'
    return parameters, files


def resident(program: Program) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Words of the weight memory and of the biases, filled up with zeros."""
    engine = program.engine
    full = engine.tm * engine.tn * engine.tz
    flat = [w.reshape(-1, w.shape[-1]) for w in program.weights]
    words = np.concatenate([np.pad(w, ((0, 0), (0, full - w.shape[1]))) for w in flat])
    words = np.pad(words, ((0, engine.w_words - len(words)), (0, 0)))
    biases = np.concatenate(program.biases)
    biases = np.pad(biases, ((0, engine.bias_words - len(biases)), (0, 0)))
    return packed(words, engine.bits), packed(biases, engine.acc)


def weight_stream(program: Program) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Beats (n, bytes) of the weight stream of an item, and tlast of each."""
    engine = program.engine
    size = -(-max(engine.tm * engine.tn * engine.tz * engine.bits, engine.tm * engine.acc) // 8)
    rows, lasts = [], []
    for run in program.runs:
        weights, biases = program.weights[run.layer], program.biases[run.layer]
        for group, bias in zip(weights, biases, strict=True):
            words = packed(group.reshape(-1, group.shape[-1]), engine.bits)
            both = [packed(bias[None], engine.acc), words]
            rows += [np.pad(part, ((0, 0), (0, size - part.shape[1]))) for part in both]
            lasts += [0] * len(words) + [1]
    return np.concatenate(rows), np.array(lasts)


def run(
    network: FixedNetwork,
    engine: Engine,
    folder: Path,
    *,
    items: int = 2,
    seed: int = 1,
    pace: tuple[float, float] = (0.0, 0.0),
    timeout: int = 20_000,
    synthesis_forms: bool = False,
) -> Outcome:
    """Simulate `items` items and compare every answer with the oracle's.

    With `synthesis_forms` adders and multipliers are those that synthesis gets, for an ECP5, not those for simulators.
    """
    print(f"seed {seed}")
    program = compile_network(network, engine)
    folder.mkdir(parents=True, exist_ok=True)
    parameters, files = parameters_of(program, folder)
    x = inputs_of(network, items, seed)
    beats = np.concatenate([packed(program.pack(item), engine.bits) for item in x])
    weights, lasts = np.zeros((0, 1), np.uint8), np.zeros(0, np.int64)
    if not engine.resident:
        weights, lasts = weight_stream(program)
        weights, lasts = np.tile(weights, (items, 1)), np.tile(lasts, items)
    each = sum(op.beats for op in program.stores)
    commands = np.tile(program.commands.astype("<u4").view(np.uint8).reshape(-1, 4), (items, 1))
    options, sources = BuildOptions(), SOURCES
    if synthesis_forms:
        options, sources = BuildOptions(defines=(("SYNTHESIS_FORMS", "1"),)), [*source("sim/ecp5_multiplier"), *SOURCES]
        parameters["ECP5"] = 1
    result = simulate(
        "deconv_engine",
        sources,
        HERE / "bench_engine.py",
        results=folder / "results",
        parameters=parameters,
        data=files,
        vectors={
            "cmd": commands,
            "axis": beats,
            "weight": weights,
            "weight_last": lasts,
            "pace": np.array(pace),
            "limits": np.array([each * items, timeout]),
        },
        seed=seed,
        options=options,
    )
    assert result.passed, result.message
    got = result.payload["beats"].view(f"<i{engine.bits // 8}").astype(np.int64).reshape(items, each, -1)
    answers = np.stack([program.unpack(item) for item in got])
    wanted = network(x)
    wrong = np.argwhere(answers != wanted)
    assert not len(wrong), f"{len(wrong)} of {wanted.size} wrong, the first at {wrong[0]}, seed {seed}"
    counts = dict(zip(COUNTERS, result.payload["counts"].tolist(), strict=True))
    marks, cycles = result.payload["marks"].reshape(items, each), result.payload["cycles"].reshape(items, each)
    return Outcome(answers, marks, cycles, counts)
