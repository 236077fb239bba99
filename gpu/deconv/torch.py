"""`deconv` in PyTorch, the outside baseline: fp16 and fp32 through cuDNN, in the best of its users' settings.

What PyTorch does best depends on layer and batch, so several settings (a plan to write the network, and how it is
launched) are tried at each batch on the inputs to be measured. The fastest right one is the opponent; its record says
which it was, what the others took and which failed. Ways to write a layer: `torch_networks.py`. Plans: all layers
`conv_transpose`, with the channels last or not; all layers as sub-pixel convolutions; and the fastest way of each
layer, each timed alone. Ways to launch: op by op (`eager`), captured as a CUDA graph (`graph`), through `torch.compile`
(`compile`, for the batch's own shapes), that captured (`compile-graph`), and with `max-autotune` (`autotune-graph`).
cuDNN searches its algorithms (`torch.backends.cudnn.benchmark`) before anything is timed. fp32 is tried with TF32 too.
A setting whose outputs differ from the oracle's by more than the tolerance is said with its time, but is no opponent.
The best setting of `conv_transpose` alone is timed once more, as long and as warm as what is measured: WARM.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu.deconv import torch_networks as networks
from gpu.deconv.layout import Network
from gpu.deconv.prove import LARGEST as LARGEST
from gpu.deconv.tolerance import tolerance
from gpu.deconv.torch_networks import Way
from gpu.runtime.device import DeviceError
from gpu.runtime.torch import Function, TorchRunner, first_line, torch_module, trial
from gpu.runtime.torch import device_slug as device_slug
from gpu.runtime.torch import tools as tools
from workloads.api import Check, Progress
from workloads.deconv import WORKLOAD
from workloads.deconv.cases import LAYERS

NAME = "gpu/deconv/torch"
API = "torch"
CASES: tuple[str, ...] = tuple(LAYERS)
TIER = "outside baseline"
ARITHMETICS = ("fp16", "fp32")
MODES = ("eager", "graph", "compile", "compile-graph", "autotune-graph")
SOURCES = (
    "gpu/deconv/torch.py",
    "gpu/deconv/torch_networks.py",
    "gpu/deconv/layout.py",
    "gpu/deconv/tolerance.py",
    "gpu/runtime/torch.py",
    "gpu/runtime/loop.py",
    "gpu/runtime/stats.py",
    *(f"workloads/deconv/{name}.py" for name in ("cases", "fixed", "layer", "network", "parameters")),
)
#: A layer's way is tried for this long, s.
LAYER_SECONDS = 0.02
#: The best setting of `conv_transpose` runs for this long, s, before and while it is timed once more.
WARM, WARM_SECONDS = "conv_transpose at its best, warm", 0.2
#: Batches that `verify` proves besides the full sample.
ODD = (1, 3)


@dataclass(frozen=True)
class Plan:
    """How a whole network is written: the first of `ways` that applies to a layer, or the fastest of all; modes."""

    name: str
    ways: tuple[Way, ...]
    modes: tuple[str, ...]
    fastest: bool = False
    tf32: bool = False


_TRANSPOSED, _LAST, _PRODUCT = ("transposed", False), ("transposed", True), ("product", True)
#: In a trial on an H200 no layer was fastest in PyTorch's own memory order, so only the channels-last ways are timed.
FASTEST: tuple[Way, ...] = (_LAST, ("sub-pixel", True), _PRODUCT, ("product", False))
PLANS: Mapping[str, tuple[Plan, ...]] = {
    "fp16": (
        Plan("conv_transpose", (_TRANSPOSED,), ("eager", "graph")),
        Plan("conv_transpose, channels last", (_LAST,), ("eager", "graph", "compile", "compile-graph")),
        Plan("sub-pixel convolutions, channels last", (_PRODUCT, ("sub-pixel", True)), ("graph",)),
        Plan("fastest way of each layer", FASTEST, MODES, fastest=True),
    ),
    "fp32": (
        Plan("conv_transpose", (_TRANSPOSED,), ("eager", "graph")),
        Plan("conv_transpose, channels last", (_LAST,), ("eager", "graph")),
        Plan("conv_transpose, channels last, TF32", (_LAST,), ("graph",), tf32=True),
        Plan("fastest way of each layer", FASTEST, MODES, fastest=True),
    ),
}


class WrongError(RuntimeError):
    """A setting gives other outputs than the oracle."""


def configure(tf32: bool) -> None:
    """cuDNN searches its algorithms; split sums of products are not rounded in between; TF32 where it is asked for."""
    backends = torch_module().backends
    backends.cudnn.benchmark = True
    backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    backends.cuda.matmul.allow_tf32 = backends.cudnn.allow_tf32 = tf32
    # Every network and batch is compiled for its own shapes; beyond the usual limit PyTorch would quietly not compile.
    dynamo = torch_module()._dynamo.config
    dynamo.recompile_limit = dynamo.accumulated_recompile_limit = 1024


class Settings:
    """The settings of one arithmetic and case on the GPU, each layer built and each network compiled once a run."""

    def __init__(self, network: Network, arithmetic: str, device: str = "cuda") -> None:
        self._network, self._arithmetic, self._device = network, arithmetic, device
        self._layers: dict[tuple[int, Way], Function] = {}
        self._compiled: dict[tuple[tuple[Way, ...], bool, str], Function] = {}
        self._fastest: dict[int, tuple[Way, ...]] = {}

    @property
    def _type(self) -> Any:
        torch = torch_module()
        return {"fp16": torch.float16, "fp32": torch.float32}[self._arithmetic]

    def layer(self, index: int, way: Way) -> Function:
        """A layer in a way, built once."""
        if (index, way) not in self._layers:
            weight, bias = self._network.weight(index, "fp32"), self._network.bias(index, "fp32")
            layer = self._network.layers[index]
            self._layers[index, way] = networks.layer_function(layer, weight, bias, way, self._type, self._device)
        return self._layers[index, way]

    def ways(self, plan: Plan, n: int) -> tuple[Way, ...]:
        """The way of each layer at batch `n`."""
        layers = self._network.layers
        if not plan.fastest:
            return tuple(next(way for way in plan.ways if networks.applies(layer, way)) for layer in layers)
        if n not in self._fastest:
            self._fastest[n] = tuple(self._fastest_way(index, n) for index in range(len(layers)))
        return self._fastest[n]

    def _fastest_way(self, index: int, n: int) -> Way:
        torch, layer = torch_module(), self._network.layers[index]
        took: dict[Way, float] = {}
        x = torch.rand(n, layer.channels_in, *layer.shape, device=self._device, dtype=self._type)
        for way in (w for w in FASTEST if networks.applies(layer, w)):
            try:
                runner = TorchRunner(
                    self.layer(index, way), [(networks.prepared(layer, x, way),)], _nothing, graph=True
                )
            except Exception:  # a way that cannot be done here is no choice; the plans say what fails as a whole
                continue
            try:
                trial(runner, LAYER_SECONDS / 4)
                took[way] = trial(runner, LAYER_SECONDS)
            finally:
                runner.close()
        if not took:
            raise DeviceError(f"{layer.name}: PyTorch does it in no way here")
        return min(took, key=lambda way: took[way])

    def function(self, ways: tuple[Way, ...]) -> Function:
        """The network with a way for each layer: of one tensor to one, or of one each to a tuple of them."""
        layers = [self.layer(index, way) for index, way in enumerate(ways)]
        if not self._network.chained:
            return lambda *xs: tuple(layer(x) for layer, x in zip(layers, xs, strict=True))

        def run(x: Any) -> Any:
            for layer in layers:
                x = layer(x)
            return x

        return run

    def encode(self, inputs: NDArray[np.float32], ways: tuple[Way, ...]) -> tuple[Any, ...]:
        """Inputs as the network's tensors, in host memory, in the order that the layers' ways want."""
        torch, layers = torch_module(), self._network.layers
        arrays = self._network.encode(self._arithmetic, inputs)
        return tuple(
            networks.prepared(layer, torch.from_numpy(array).movedim(-1, 1), way)
            for layer, array, way in zip(layers, arrays, ways, strict=False)
        )

    def decode(self, outputs: tuple[Any, ...]) -> NDArray[Any]:
        """Outputs in host memory in the shape of the oracle's."""
        return self._network.decode(self._arithmetic, [y.movedim(1, -1).numpy() for y in outputs])

    def runner(
        self, plan: Plan, mode: str, inputs: NDArray[np.float32], sets: int, decoded: int | None = None
    ) -> TorchRunner:
        """Bind one setting; set i holds the inputs rotated by i, of its outputs the first `decoded` are wanted.

        Errors: whatever PyTorch raises.
        """
        ways = self.ways(plan, len(inputs))
        function = self.function(ways)
        if mode.startswith(("compile", "autotune")):
            options = {"mode": "max-autotune-no-cudagraphs"} if mode.startswith("autotune") else {}
            key = (ways, plan.tf32, str(options))
            self._compiled.setdefault(key, torch_module().compile(function, dynamic=False, **options))
            function = self._compiled[key]
        bound = [self.encode(np.roll(inputs, -i, axis=0) if i else inputs, ways) for i in range(sets)]

        def decode(outputs: tuple[Any, ...]) -> NDArray[Any]:
            return self.decode(tuple(y[:decoded] for y in outputs))

        return TorchRunner(function, bound, decode, graph=mode.endswith("graph"))

    def best(
        self,
        inputs: NDArray[np.float32],
        wanted: NDArray[np.float64],
        allowed: float,
        sets: int,
        modes: Sequence[str] = MODES,
    ) -> tuple[TorchRunner, str, dict[str, str]]:
        """Return the fastest right setting bound to `sets` buffer sets, its name, and what each took, or why it failed.

        `wanted` are the oracle's outputs of the first inputs, `allowed` how far outputs may lie from them. The measure
        is the median time from a launch until its completion is seen. Errors: DeviceError when all failed.
        """
        took: dict[tuple[Plan, str], float] = {}
        said: dict[str, str] = {}
        for plan in PLANS[self._arithmetic]:
            configure(plan.tf32)
            for mode in (m for m in plan.modes if m in modes):
                name = self.name(plan, mode)
                try:
                    took[plan, mode] = self._trial(plan, mode, inputs, wanted, allowed)
                    said[name] = f"{took[plan, mode] * 1e6:.1f} us"
                except Exception as error:  # whatever a setting cannot do here is said in the record
                    said[name] = f"{type(error).__name__}: {first_line(error)}"
        if alone := [key for key in took if key[0].name.startswith("conv_transpose")]:
            said[WARM] = self._warm(*min(alone, key=lambda key: took[key]), inputs)
        for plan, mode in sorted(took, key=lambda key: took[key]):
            configure(plan.tf32)
            name = self.name(plan, mode)
            try:
                chosen = self.runner(plan, mode, inputs, sets)
            except Exception as error:
                said[name] += f", then {type(error).__name__}: {first_line(error)}"
                continue
            return chosen, f"{name}{self._ways_of(plan, len(inputs))}", said
        raise DeviceError(f"{NAME} {self._arithmetic}: no setting works here: {said}")

    @staticmethod
    def name(plan: Plan, mode: str) -> str:
        """A setting in a record."""
        return f"{plan.name}, {mode}"

    def _ways_of(self, plan: Plan, n: int) -> str:
        if not plan.fastest:
            return ""
        names = (f"{way}{', channels last' if last else ''}" for way, last in self.ways(plan, n))
        return f" ({'; '.join(f'{x.name}: {w}' for x, w in zip(self._network.layers, names, strict=True))})"

    def _trial(
        self, plan: Plan, mode: str, inputs: NDArray[np.float32], wanted: NDArray[np.float64], allowed: float
    ) -> float:
        runner = self.runner(plan, mode, inputs, 1, len(wanted))
        try:
            took = trial(runner)
            difference = np.abs(runner.output(0) - wanted[: runner.batch])
            worst = float(difference.max()) if np.isfinite(difference).all() else float("inf")
            if worst > allowed:
                raise WrongError(f"outputs differ from the oracle's by {worst:g}, in {took * 1e6:.1f} us")
            return took
        finally:
            runner.close()

    def _warm(self, plan: Plan, mode: str, inputs: NDArray[np.float32]) -> str:
        configure(plan.tf32)
        runner = self.runner(plan, mode, inputs, 1)
        try:
            trial(runner, WARM_SECONDS)
            return f"{trial(runner, WARM_SECONDS) * 1e6:.1f} us"
        finally:
            runner.close()


def _nothing(outputs: tuple[Any, ...]) -> NDArray[Any]:
    """A runner that is only timed decodes nothing."""
    return np.empty(0)


def verify(
    case: str, *, samples: int, seed: int, progress: Progress | None = None, device: str | None = None
) -> Iterator[Check]:
    """Prove every way to write a layer against the oracle, as whole networks: on the GPU where there is one, or CPU.

    A plan that PyTorch cannot do here is left out, as measuring leaves it out; one that works must be right.
    """
    torch = torch_module()
    on_gpu = torch.cuda.is_available()
    where, slug = ("cuda", device_slug()) if on_gpu else ("cpu", "cpu")
    network, samples = Network(case), min(samples, LARGEST[case])
    inputs = WORKLOAD.inputs(case, samples, seed)
    configure(tf32=False)
    # On a CPU fp16 is slow and summed in whatever way the processor has: fp32 proves that the networks are right.
    todo = [(arithmetic, way) for arithmetic in (ARITHMETICS if on_gpu else ("fp32",)) for way in networks.WAYS]
    for number, (arithmetic, way) in enumerate(todo):
        if progress is not None:
            progress(f"{NAME} {case} {arithmetic} {way[0]}", number, len(todo))
        begin = time.perf_counter()
        settings = Settings(network, arithmetic, where)
        plan = Plan(way[0], (way, ("transposed", way[1])), ())
        wanted, allowed = WORKLOAD.reference(case, inputs, arithmetic), tolerance(case, arithmetic)
        ways = settings.ways(plan, samples)
        act: Callable[..., Any] = settings.function(ways)
        worst = 0.0
        with torch.inference_mode():
            for n in (*(odd for odd in ODD if odd < samples), samples):
                outputs = act(*(x.to(where) for x in settings.encode(inputs[:n], ways)))
                some = outputs if isinstance(outputs, tuple) else (outputs,)
                got = settings.decode(tuple(y.cpu() for y in some))
                worst = max(worst, float(np.abs(got - wanted[:n]).max()))
        yield Check(
            implementation=NAME,
            case=case,
            arithmetic=arithmetic,
            device=slug,
            samples=samples,
            seed=seed,
            passed=worst <= allowed,
            worst=worst,
            tolerance=allowed,
            detail=f"{way[0]}{', channels last' if way[1] else ''}, outside baseline",
            seconds=time.perf_counter() - begin,
        )
