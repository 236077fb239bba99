"""Generated networks, whole, in Verilator: equal to the oracle in every bit and as quick as their slowest layer."""

from __future__ import annotations

from pathlib import Path

import folded_networks
import numpy as np
import pytest

from designs.bcnn import core, folding, generate, presets, simulation
from designs.bcnn.folding import Fold, Folding, FoldingError
from designs.bcnn.simulation import Run
from designs.flow.verilator import run_verilator
from designs.flow.yosys import run_yosys, synth_ecp5
from workloads.api import UnknownNameError
from workloads.bcnn.cases import LAYERS, layers_of
from workloads.bcnn.network import Layer, Network
from workloads.bcnn.parameters import seeded


def images_for(network: Network, count: int, seed: int) -> np.ndarray:
    high = 2 ** (network.layers[0].input_bits - 1)
    return np.random.default_rng(seed).integers(-high, high, (count, *network.input_shape), np.int8)


def prove(network: Network, chosen: Folding, seed: int) -> None:
    """At full rate and with random pauses on both sides: the oracle's sums; at full rate the ideal interval."""
    images = images_for(network, 12, seed)
    interval = chosen.interval
    runs = [
        Run(12, patience=100 * interval + 10_000),
        Run(6, first=3, idle=200, hold=1 << interval.bit_length(), seed=seed + 1, patience=100 * interval + 10_000),
    ]
    free, paused = simulation.run(generate.generate_network(network, chosen, "random"), images, runs, seed)
    expected = network(images)
    assert np.array_equal(free.sums, expected)
    assert np.array_equal(paused.sums, expected[3:9])
    # In the steady state; the first images find an empty core.
    assert (free.left[-1] - free.left[4]) / 7 <= 1.02 * interval, chosen


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5, 6])
def test_random_networks(seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    layers = folded_networks.random_layers(rng)
    chosen = folded_networks.random_folding(layers, rng)
    print(layers, chosen)
    prove(seeded(layers, seed), chosen, seed)


def test_a_slice_of_binarynet() -> None:
    """Its first two layers with the paper's folding, on a small image, and a dense layer of the last one's shape."""
    layers = layers_of(8, 3, 6, 1, ((128, False), (128, True)), (16, 10))
    folds = {"conv1": (27, 32), "conv2": (384, 32), "fc1": (64, 1), "fc2": (1, 1)}
    chosen = folding.of(layers, folds)
    assert chosen.interval == 768
    prove(seeded(layers, 3), chosen, 3)


def test_masked_groups_smaller_than_a_pixel() -> None:
    layers = layers_of(6, 2, 3, 1, ((6, False), (4, True)), (3,))
    # 9 of 18 synapses a beat: groups of 3, two a pixel.
    prove(seeded(layers, 4), folding.of(layers, {"conv1": (6, 2), "conv2": (9, 2), "fc1": (4, 1)}), 4)


def test_after_synthesis() -> None:
    """What Yosys makes for ECP5 of a network with everything in it: several bits, masks, pooling, all converters."""
    layers = layers_of(4, 2, 3, 1, ((4, False), (6, True)), (6, 3))
    chosen = folding.of(layers, {"conv1": (6, 2), "conv2": (6, 3), "fc1": (4, 2), "fc2": (3, 1)})
    network = seeded(layers, 6)
    design = generate.generate_network(network, chosen, "small")
    netlist = synth_ecp5(design.top, design.sources, data=design.memories)
    images = images_for(network, 12, 6)
    (trace,) = simulation.run(design, images, [Run(12, idle=64, hold=64)], 6, netlist)
    assert np.array_equal(trace.sums, network(images))


def test_words_that_do_not_divide_each_other() -> None:
    layers = layers_of(2, 1, 4, 0, (), (12, 3))
    layers = (Layer("conv1", "conv", 1, 6, 2, 1, 0, False, 4), Layer("fc1", "dense", 24, 3, last=True))
    chosen = folding.of(layers, {"conv1": (1, 3), "fc1": (4, 3)})
    assert "u_pack_up" in generate_text(chosen)
    prove(seeded(layers, 5), chosen, 5)


def generate_text(chosen: Folding) -> str:
    return "".join(text.text for text in core.layer_texts(chosen))


def lint(design: generate.Design, folder: Path) -> None:
    """Verilator with all warnings, and Yosys; memories are where the tools run."""
    for path in design.memories:
        (folder / path.name).symlink_to(path)
    sources = [str(path) for path in design.sources]
    run_verilator(
        ["--lint-only", "-Wall", "--no-timing", "--top-module", design.top, *sources], folder, folder / "verilator.log"
    )
    read = [f'read_verilog -sv -defer "{path}"' for path in sources]
    log = run_yosys([*read, f"hierarchy -top {design.top} -check", "proc", "check -nolatches -assert"], folder)
    assert "Warning" not in log.read_text()


def test_lint_of_a_core_and_of_a_layer_alone(tmp_path: Path) -> None:
    for name, design in (("all", generate.generate("digits")), ("one", generate.generate_layer("digits", "conv2"))):
        (tmp_path / name).mkdir()
        lint(design, tmp_path / name)


def test_a_layer_alone_has_its_own_files_only() -> None:
    layer = generate.generate_layer("digits", "conv2")
    assert layer.top == "bcnn_conv2"
    assert [path.name for path in layer.memories] == ["conv2.weights.hex", "conv2.thresholds.hex"]
    assert (layer.in_bits, layer.out_bits) == (16, 32)
    assert [path.name for path in layer.sources if path.name.startswith("bcnn")] == ["bcnn_conv2.sv"]
    with pytest.raises(UnknownNameError, match=r"unknown layer 'conv9'; valid: conv1, conv2"):
        generate.generate_layer("digits", "conv9")


def test_the_digest_is_of_the_content() -> None:
    first = generate.generate("digits")
    assert generate.generate("digits").digest == first.digest
    folds = {**presets.FOLDS["digits"], "fc2": (2, 1)}
    other = folding.of(LAYERS["digits"], folds)
    assert generate.generate("digits", other).digest != first.digest
    # Other weights, the same text.
    again = generate.generate_network(seeded(LAYERS["digits"], 9), presets.folding("digits"), "digits")
    assert again.digest != first.digest


def test_what_cannot_be_a_stream_is_refused() -> None:
    with pytest.raises(FoldingError, match="the folding is of conv1, conv2, conv3, fc1, the network has conv1"):
        generate.generate("digits", presets.folding("digits_small"))
    conv = (Layer("conv1", "conv", 1, 4, 4, 3, last=True),)
    with pytest.raises(ValueError, match="conv1: the last layer of a stream is dense"):
        core.layer_texts(Folding(conv, (Fold(3, 1),)))
    wide = (Layer("fc1", "dense", 40_000, 2, last=True),)
    with pytest.raises(ValueError, match="fc1: sums of up to 40000 do not fit the 16 bits"):
        core.layer_texts(Folding(wide, (Fold(1, 1),)))


def test_runs_stay_within_the_images() -> None:
    design = generate.generate("digits_small")
    with pytest.raises(ValueError, match="a run of 3 images from 1 on, but there are 3"):
        simulation.run(design, np.zeros((3, 8, 8, 1), np.int8), [Run(3, first=1)])
