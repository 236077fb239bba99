"""Four algorithms, one operator: equal to each other, to the definition, to SciPy, Keras and PyTorch."""

from __future__ import annotations

import re
from collections import Counter

import keras
import numpy as np
import pytest
from deconv_oracles import by_loops, by_scipy, grid, random_arrays

from workloads.deconv.algorithms import ALGORITHMS, reverse_loop, scatter
from workloads.deconv.cases import LAYERS
from workloads.deconv.layer import Layer

SEED = 11


def test_the_grid_has_what_it_promises() -> None:
    for dimensions in (1, 2, 3):
        layers = list(grid(dimensions))
        assert {layer.kernel for layer in layers} == {1, 2, 3, 4, 5}
        assert {layer.stride for layer in layers} == {1, 2, 3}
        assert {layer.extra for layer in layers} == {0, 1, 2}
        assert any(layer.padding >= layer.kernel for layer in layers), "inputs that reach no output"
        uneven = [la for la in layers if any(side % la.stride for side in la.shape_out)]
        assert len(uneven) > len(layers) / 4, "outputs that are no multiple of the stride"
        assert any(la.kernel < la.stride for la in layers), "outputs that no input reaches"


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_all_algorithms_are_scipy_on_the_grid(dimensions: int) -> None:
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    for layer in grid(dimensions):
        x, weight = random_arrays(layer, rng)
        expected = by_scipy(layer, x, weight)
        for name, algorithm in ALGORITHMS.items():
            found = algorithm(layer, x, weight)
            assert found.dtype == np.int64, name
            assert np.array_equal(found, expected), (name, layer)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_scatter_is_the_definition(dimensions: int) -> None:
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    for layer in list(grid(dimensions))[::7]:
        x, weight = random_arrays(layer, rng, 1)
        found = scatter(layer, x, weight)[0]
        for place, channels in by_loops(layer, x[0].tolist(), weight).items():
            assert found[place].tolist() == channels, (layer, place)


def with_keras(layer: Layer, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Keras without padding, cut afterwards; its kernels are (kernel..., out, in)."""
    kind = {1: keras.layers.Conv1DTranspose, 2: keras.layers.Conv2DTranspose, 3: keras.layers.Conv3DTranspose}
    transposed = kind[layer.dimensions](layer.channels_out, layer.kernel, layer.stride, "valid", use_bias=False)
    transposed.build((None, *x.shape[1:]))
    transposed.set_weights([np.moveaxis(weight, 0, -1).astype(np.float32)])
    full = np.asarray(transposed(x.astype(np.float32)))
    # Where the stride exceeds the kernel, Keras adds the positions that no input reaches.
    need = [layer.padding + side for side in layer.shape_out]
    grow = [(0, max(0, n - have)) for n, have in zip(need, full.shape[1:-1], strict=True)]
    full = np.pad(full, [(0, 0), *grow, (0, 0)])
    return full[(slice(None), *(slice(layer.padding, n) for n in need))]


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_the_operator_is_that_of_keras(dimensions: int) -> None:
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    for layer in list(grid(dimensions))[::9]:
        x, weight = random_arrays(layer, rng)
        assert np.array_equal(reverse_loop(layer, x, weight), with_keras(layer, x, weight)), layer


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_the_operator_is_that_of_pytorch(dimensions: int) -> None:
    """Padding, extra positions and all are PyTorch's own. An outside baseline: not needed where it is not installed."""
    torch = pytest.importorskip("torch")
    transposed = getattr(torch.nn.functional, f"conv_transpose{dimensions}d")
    rng = np.random.default_rng(SEED)
    for layer in list(grid(dimensions))[::3]:
        x, weight = random_arrays(layer, rng)
        inputs = torch.from_numpy(np.moveaxis(x, -1, 1).astype(np.float64))
        kernel = torch.from_numpy(np.moveaxis(weight, -1, 1).astype(np.float64))
        found = transposed(inputs, kernel, None, layer.stride, layer.padding, layer.extra).numpy()
        assert np.array_equal(np.moveaxis(found, 1, -1), scatter(layer, x, weight)), layer


@pytest.mark.parametrize(
    ("k", "s", "p", "side"), [(4, 2, 1, 4), (4, 1, 0, 1), (5, 2, 2, 7), (3, 2, 1, 5), (4, 2, 1, 16), (5, 3, 1, 4)]
)
def test_published_loop_bounds_of_reverse_looping(k: int, s: int, p: int, side: int) -> None:
    """The offset f(k) and the input row of Zhang et al. (arXiv 1705.02583), written out, on a list of shapes."""
    rng = np.random.default_rng(SEED)
    layer = Layer("l", (side,), 1, 1, k, s, p)
    x, weight = random_arrays(layer, rng, 1)
    sums = [0] * layer.shape_out[0]
    for tap in range(k):
        f = (s - ((p - tap) % s)) % s
        for start in range(0, layer.shape_out[0], s):
            o = start + f
            assert (o + p - tap) % s == 0
            i = (o + p - tap) // s
            if o < layer.shape_out[0] and 0 <= i < side:
                sums[o] += int(x[0, i, 0]) * int(weight[0, tap, 0])
    for algorithm in ALGORITHMS.values():
        assert algorithm(layer, x, weight)[0, :, 0].tolist() == sums


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_taps_say_what_reaches_what(dimensions: int) -> None:
    for layer in grid(dimensions):
        for k, (d, f) in enumerate(layer.taps):
            assert 0 <= f < layer.stride
            assert layer.stride * d + f == k - layer.padding
        phases = Counter(f for _, f in layer.taps)
        assert sum(phases.values()) == layer.kernel
        assert max(phases.values()) == -(-layer.kernel // layer.stride)


@pytest.mark.parametrize("case", ["digits", "mnist", "celeba", "dcgan", "gan3d", "vnet"])
def test_the_algorithms_are_equal_on_the_layers_of_the_cases(case: str) -> None:
    """With few channels and sides of at most 8: kernel, stride and padding are what tells one layer from another."""
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    for layer in LAYERS[case]:
        shape = tuple(min(side, 8) for side in layer.shape)
        small = Layer(layer.name, shape, 3, 2, layer.kernel, layer.stride, layer.padding, layer.extra)
        x, weight = random_arrays(small, rng, 1)
        expected = scatter(small, x, weight)
        for name, algorithm in ALGORITHMS.items():
            assert np.array_equal(algorithm(small, x, weight), expected), (name, layer)


def test_types_are_those_of_the_matrix_product() -> None:
    layer = Layer("l", (2, 2), 2, 3, 3, 2)
    for kind in (np.float32, np.float64, np.int32):
        x, weight = np.ones((1, 2, 2, 2), kind), np.ones(layer.weight_shape, kind)
        assert {algorithm(layer, x, weight).dtype for algorithm in ALGORITHMS.values()} == {np.dtype(kind)}
        assert {len(algorithm(layer, x[:0], weight)) for algorithm in ALGORITHMS.values()} == {0}


DECONV3 = Layer("deconv3", (3, 2), 3, 2, 4, 2, 1)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_operands_that_do_not_fit_are_refused(name: str) -> None:
    algorithm, weight, x = ALGORITHMS[name], np.ones(DECONV3.weight_shape), np.ones((2, 3, 2, 3))
    algorithm(DECONV3, x, weight)
    for shape in ((3, 5, 5, 2), (3, 4, 4, 1), (2, 4, 4, 2), (3, 4, 2), (3, 4, 4, 2, 1)):
        said = re.escape(f"deconv3: weights of shape {shape}, but the layer needs (3, 4, 4, 2)")
        with pytest.raises(ValueError, match=said):
            algorithm(DECONV3, x, np.ones(shape))
    for shape in ((2, 2, 3, 3), (2, 4, 2, 3), (2, 3, 2, 2), (3, 2, 3), (1, 1, 3, 2, 3)):
        said = re.escape(f"deconv3: inputs of shape {shape}, but the layer needs (n, 3, 2, 3)")
        with pytest.raises(ValueError, match=said):
            algorithm(DECONV3, np.ones(shape), weight)
    for strange in (np.nan, np.inf, -np.inf):
        spoilt = weight.copy()
        spoilt[2, 1, 3, 0] = strange
        with pytest.raises(
            ValueError, match=r"deconv3: weights must be finite, but 1 are not, the first at \(2, 1, 3, 0\)"
        ):
            algorithm(DECONV3, x, spoilt)
    with pytest.raises(
        ValueError, match=r"deconv3: weights of list, but the layer needs an array of shape \(3, 4, 4, 2"
    ):
        algorithm(DECONV3, x, weight.tolist())
    with pytest.raises(ValueError, match="deconv3: inputs of bool, but the layer needs whole or real numbers"):
        algorithm(DECONV3, x > 0, weight)
