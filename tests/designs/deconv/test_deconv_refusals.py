"""What the compiler refuses: each message has the layer's name, the value and the limit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from deconv_networks import ORIENTED, REVERSE, network

from designs.deconv.compiler import compile_network
from designs.deconv.config import Engine, EngineError, preset
from workloads.api import UnknownNameError
from workloads.deconv.layer import Layer

ONE = (Layer("up", (4, 4), 9, 6, 4, 2, 1),)


def refused(layers: tuple[Layer, ...], engine: Engine, bits: int = 8) -> str:
    with pytest.raises(EngineError) as error:
        compile_network(network(layers, bits, 1), engine)
    return str(error.value)


def test_too_large_for_a_memory() -> None:
    assert refused(ONE, replace(REVERSE, a_words=1, b_words=1)) == (
        "up: even a tile of 4 positions needs 27 words of inputs, 8 of outputs a bank; "
        "engine small has memories of 1 and 1 words"
    )
    volume = (replace(ONE[0], shape=(4, 4, 4)),)
    assert refused(volume, replace(ORIENTED, psum_words=3)) == (
        "up: even a tile of 64 positions needs 24 words of inputs, 16 of outputs and 8 partial sums a bank; "
        "engine small has memories of 128 and 128 words and 3 partial sums"
    )
    assert (
        refused(ONE, replace(REVERSE, w_words=100)) == "up: 144 weight words up to this layer; engine small holds 100"
    )
    assert refused(ONE, replace(REVERSE, bias_words=2)) == "up: 3 bias words up to this layer; engine small holds 2"
    streamed = replace(REVERSE, w_words=64, resident=False)
    assert refused(ONE, streamed) == "up: weight words of two groups of output channels of 96; engine small takes 64"


def test_what_numbers_do_not_hold() -> None:
    assert refused(ONE, replace(REVERSE, acc=16)).startswith("up: sums with bits of 2")
    assert refused(ONE, REVERSE, bits=16) == "up: numbers of 16 bits; engine small has 8"
    assert refused((Layer("far", (300, 2), 1, 1, 4, 4),), REVERSE) == ("far: a side of 1,200; engine small takes 1,023")
    assert refused((Layer("deep", (1, 1), 5000, 1, 1),), REVERSE) == "deep: channels of 5,000; engine small takes 4,095"


def test_shapes_that_an_engine_does_not_do() -> None:
    assert refused((Layer("line", (8,), 2, 2, 2, 2),), REVERSE) == "line: 1 dimensions; engine small takes 2 and 3"
    assert refused((Layer("steep", (4, 4), 2, 2, 5, 5),), REVERSE) == "steep: a stride of 5; engine small takes 4"
    big = (Layer("big", (2, 2, 2), 1, 1, 7),)
    assert refused(big, ORIENTED) == "big: a kernel with elements of 343; engine small takes 256"
    two = (Layer("one", (2, 2), 2, 2, 1, activation="tanh"), Layer("two", (2, 2), 2, 2, 1, activation="sigmoid"))
    assert refused(two, REVERSE) == "two: sigmoid, but one has tanh; an engine has one"


def test_engines_that_cannot_be() -> None:
    for changes, message in (
        ({"bits": 12}, "bits of 12; it must be 8 or 16"),
        ({"tm": 3}, "tm of 3; it must be a power of two"),
        ({"tr": 2}, "lanes of 2; it must be 1 in reverse_loop"),
        ({"io": 2}, "io of 2; it must be at most tc, which is 1"),
        ({"drain": 2}, "drain of 2; it must be at most the 1 lanes"),
        ({"a_words": 0}, "a_words of 0; it must be a whole number of at least 1"),
        ({"a_words": 9.5}, "a_words of 9.5; it must be a whole number of at least 1"),
        ({"tm": 2.0}, "tm of 2.0; it must be a power of two"),
        ({"acc": 0}, "acc of 0; it must be from 11 to 62 bits"),
        ({"acc": 80}, "acc of 80; it must be from 11 to 62 bits"),
        ({"dataflow": "other"}, "dataflow of other; it must be one of reverse_loop, input_oriented"),
    ):
        with pytest.raises(EngineError, match=message):
            replace(REVERSE, **changes)  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="tm of 8; it must be at most tn in input_oriented, which is 4"):
        replace(ORIENTED, tm=8)
    with pytest.raises(
        UnknownNameError, match="unknown engine 'big'; valid: ulx3s_digits, ulx3s_mnist, z7020, streamed"
    ):
        preset("reverse_loop", "big")
