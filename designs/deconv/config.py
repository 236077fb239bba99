"""The engine's parameters: how many products it makes in a cycle, how large its memories are, and the presets.

    engine = preset("input_oriented", "vc709")
    engine.multipliers        2,048

`tm` output channels, `tn` input channels of a lane, and `tz` x `tr` x `tc` lanes, each with a bank of the activation
memories. In three dimensions a lane is a position; in two the `tz` lanes of a position take `tn` input channels each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from workloads.api import UnknownNameError

Dataflow = Literal["reverse_loop", "input_oriented"]
DATAFLOWS: tuple[Dataflow, ...] = ("reverse_loop", "input_oriented")


#: Most bits of a sum.
LARGEST_ACC = 62


class EngineError(ValueError):
    """Parameters that an engine cannot have, or a layer that an engine cannot do; the message has value and limit."""


@dataclass(frozen=True)
class Engine:
    """One engine.

    `bits` of activations and weights, `acc` of sums. `a_words` and `b_words` are words of a bank of the two activation
    memories, each of `wide` activations. `w_words` and `bias_words` are weight words and groups of biases that are
    held: those of a whole network when `resident`, else those of two groups of output channels, which take turns.
    `psum_words` are partial sums of a bank and half, `drain` positions finished in a cycle (input_oriented), `io`
    columns that a beat of the activation streams carries. `ecp5`: multipliers as an ECP5 has them.
    Errors: EngineError naming the parameter.
    """

    name: str
    dataflow: Dataflow
    bits: int
    tm: int
    tn: int
    tz: int = 1
    tr: int = 1
    tc: int = 1
    acc: int = 32
    a_words: int = 1024
    b_words: int = 1024
    w_words: int = 1024
    bias_words: int = 64
    resident: bool = True
    psum_words: int = 16
    drain: int = 1
    io: int = 1
    ecp5: bool = False

    def __post_init__(self) -> None:
        if self.dataflow not in DATAFLOWS:
            self._refuse("dataflow", self.dataflow, f"one of {', '.join(DATAFLOWS)}")
        if self.bits not in (8, 16):
            self._refuse("bits", self.bits, "8 or 16")
        for what in ("tm", "tn", "tz", "tr", "tc", "drain", "io"):
            value = getattr(self, what)
            if type(value) is not int or value < 1 or value & (value - 1):
                self._refuse(what, value, "a power of two")
        for what in ("a_words", "b_words", "w_words", "bias_words", "psum_words"):
            value = getattr(self, what)
            if type(value) is not int or value < 1:
                self._refuse(what, value, "a whole number of at least 1")
        if type(self.acc) is not int or not self.bits + 3 <= self.acc <= LARGEST_ACC:
            self._refuse("acc", self.acc, f"from {self.bits + 3} to {LARGEST_ACC} bits")
        if self.dataflow == "reverse_loop" and self.lanes > 1:
            self._refuse("lanes", self.lanes, "1 in reverse_loop")
        if self.dataflow == "input_oriented" and self.tm > self.tn:
            self._refuse("tm", self.tm, f"at most tn in input_oriented, which is {self.tn}")
        if self.drain > self.lanes:
            self._refuse("drain", self.drain, f"at most the {self.lanes} lanes")
        if self.io > self.tc:
            self._refuse("io", self.io, f"at most tc, which is {self.tc}")

    @property
    def lanes(self) -> int:
        """Lanes, and banks of each activation memory."""
        return self.tz * self.tr * self.tc

    @property
    def multipliers(self) -> int:
        """Products that the array can make in a cycle."""
        return self.tm * self.tn * self.lanes

    @property
    def wide(self) -> int:
        """Channels of a word of activation memory."""
        return max(self.tm, self.tn)

    @property
    def arithmetic(self) -> str:
        """Name of the arithmetic in the records."""
        return f"fixed{self.bits}"

    @property
    def beat(self) -> int:
        """Activations of a beat of the input and output streams."""
        return self.io * self.wide

    def __str__(self) -> str:
        lanes = f" x {self.tz} x {self.tr} x {self.tc}" if self.lanes > 1 else ""
        return f"{self.name}: {self.dataflow}, fixed{self.bits}, {self.tm} x {self.tn}{lanes}"

    def _refuse(self, what: str, value: object, limit: str) -> None:
        raise EngineError(f"engine {self.name}: {what} of {value}; it must be {limit}")


#: Engines by dataflow and name. Those of ulx3s hold all of one network; `vc709` is the array of arXiv 1903.02550 (2 x
#: 64 x 1 x 4 x 4 for images, 2 x 16 x 4 x 4 x 4 for volumes), `vc709_tm4` has as many
#: multipliers in another form, which suits networks whose last layer has three channels; `z7020` has the 16 units of
#: arXiv 2102.00294. `streamed` is for simulation: its memories are larger than those of the parts here.
PRESETS: Mapping[tuple[Dataflow, str], Engine] = {
    (engine.dataflow, engine.name): engine
    for engine in (
        Engine(
            "ulx3s_digits", "reverse_loop", 8, tm=2, tn=32, acc=24, a_words=128, b_words=128, w_words=1056,
            bias_words=64, ecp5=True,
        ),
        Engine(
            "ulx3s_mnist", "reverse_loop", 8, tm=2, tn=16, acc=24, a_words=512, b_words=1280, w_words=7232,
            bias_words=128, ecp5=True,
        ),
        Engine(
            "ulx3s_digits", "input_oriented", 8, tm=2, tn=16, tr=2, tc=2, acc=24, a_words=64, b_words=64, w_words=2080,
            bias_words=64, psum_words=16, ecp5=True,
        ),
        Engine(
            "ulx3s_mnist", "input_oriented", 8, tm=2, tn=16, tr=2, tc=2, acc=24, a_words=256, b_words=256, w_words=7232,
            bias_words=128, psum_words=256, ecp5=True,
        ),
        Engine(
            "vc709", "input_oriented", 16, tm=2, tn=16, tz=4, tr=4, tc=4, acc=44, a_words=1024, b_words=512,
            w_words=4096, bias_words=4, resident=False, psum_words=512, drain=32, io=4,
        ),
        Engine(
            "vc709_tm4", "input_oriented", 16, tm=4, tn=8, tz=4, tr=4, tc=4, acc=44, a_words=1024, b_words=512,
            w_words=4096, bias_words=4, resident=False, psum_words=256, drain=16, io=4,
        ),
        Engine(
            "z7020", "reverse_loop", 16, tm=4, tn=4, acc=44, a_words=4096, b_words=8192, w_words=2048, bias_words=4,
            resident=False,
        ),
        Engine(
            "streamed", "reverse_loop", 16, tm=4, tn=64, acc=44, a_words=32768, b_words=65536, w_words=2048,
            bias_words=4, resident=False,
        ),
    )
}  # fmt: skip

#: The engines that each case is proved on, by dataflow; the first is the one that goes on a board where there is one.
ENGINES_OF: Mapping[Dataflow, Mapping[str, tuple[str, ...]]] = {
    "reverse_loop": {
        "digits": ("ulx3s_digits",),
        "mnist": ("ulx3s_mnist", "z7020"),
        "celeba": ("z7020",),
        "dcgan": ("streamed",),
        "gan3d": ("streamed",),
        "vnet": ("streamed",),
    },
    "input_oriented": {
        "digits": ("ulx3s_digits",),
        "mnist": ("ulx3s_mnist",),
        "celeba": ("vc709", "vc709_tm4"),
        "dcgan": ("vc709",),
        "gan3d": ("vc709",),
        "vnet": ("vc709",),
    },
}


def engines(dataflow: Dataflow, case: str) -> tuple[Engine, ...]:
    """The engines that a case is proved on."""
    return tuple(preset(dataflow, name) for name in ENGINES_OF[dataflow][case])


def preset(dataflow: Dataflow, name: str) -> Engine:
    """An engine by dataflow and name. Errors: UnknownNameError listing the engines of that dataflow."""
    if (dataflow, name) not in PRESETS:
        raise UnknownNameError("engine", name, tuple(n for d, n in PRESETS if d == dataflow))
    return PRESETS[dataflow, name]
