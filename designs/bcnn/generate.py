"""From a case and a folding to files: SystemVerilog, memory images, and what a flow has to know about them.

    design = generate("digits")                          whole network, top `bcnn_core`
    layer = generate_layer("binarynet", "conv2")         one layer out of context, top `bcnn_conv2`

Both take a `Folding`; without one it is the case's preset. Results are cached by content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from designs import lib
from designs.bcnn import core, presets, weights
from designs.bcnn.folding import Folding, FoldingError
from designs.flow import cache
from workloads.api import UnknownNameError
from workloads.bcnn import parameters
from workloads.bcnn.network import Network

#: The Python that the texts and images come from.
_FOLDER = Path(__file__).parent
GENERATORS = (
    *(_FOLDER / f"{name}.py" for name in ("core", "weights", "folding", "generate")),
    *(_FOLDER.parent / "flow" / f"{name}.py" for name in ("chain", "folding")),
)


@dataclass(frozen=True)
class Design:
    """A generated design.

    `sources` are SystemVerilog files, modules before their users; `memories` the files that they read by name, which
    have to be in the working folder of the tool. `top` has streams of `in_bits` and `out_bits`. `layers` are the names
    of the layers in it, `modules` their modules. `digest` is the hash of all contents.
    """

    case: str
    top: str
    sources: tuple[Path, ...]
    memories: tuple[Path, ...]
    in_bits: int
    out_bits: int
    layers: tuple[str, ...]
    folding: Folding
    digest: str

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules of the layers."""
        return tuple(f"bcnn_{name}" for name in self.layers)

    @property
    def pixels(self) -> int:
        """Beats of one image at the input of the whole network."""
        return self.folding.layers[0].side ** 2


def generate(case: str, folding: Folding | None = None) -> Design:
    """The whole network of a case. Errors: UnknownNameError, FoldingError, ValueError for a file that does not fit."""
    return generate_network(parameters.load(case).network, folding or presets.folding(case), case)


def generate_layer(case: str, layer: str, folding: Folding | None = None) -> Design:
    """One layer of a case as a top of its own. Errors: as `generate`, and UnknownNameError for the layer."""
    return layer_of(generate(case, folding), layer)


def generate_network(network: Network, folding: Folding, case: str) -> Design:
    """Any network; `case` only names the design. Errors: FoldingError when the folding is of other layers."""
    if folding.layers != network.layers:
        raise FoldingError(f"the folding is of {_names(folding.layers)}, the network has {_names(network.layers)}")
    texts = core.layer_texts(folding)

    def produce(folder: Path) -> None:
        for text in texts:
            (folder / f"{text.name}.sv").write_text(text.text)
        (folder / f"{core.TOP}.sv").write_text(core.core_text(texts))
        weights.write(network, folding, folder)

    parts = {"step": "designs/bcnn", "network": _hash_network(network), "folding": str(folding)}
    folder = cache.build(parts, GENERATORS, produce)
    library = dict.fromkeys(name for text in texts for name in text.library)
    own = [*(folder / f"{text.name}.sv" for text in texts), folder / f"{core.TOP}.sv"]
    sources = (*lib.closure(*library), *own)
    memories = tuple(path for layer in network.layers for path in _memories(folder, layer.name))
    return Design(
        case, core.TOP, sources, memories, texts[0].in_bits, texts[-1].out_bits,
        tuple(layer.name for layer in network.layers), folding, _digest((*sources, *memories)),
    )  # fmt: skip


def layer_of(design: Design, name: str) -> Design:
    """One layer of a design as a top of its own. Errors: UnknownNameError listing the layers."""
    if name not in design.layers:
        raise UnknownNameError("layer", name, design.layers)
    text = core.layer_texts(design.folding)[[layer.name for layer in design.folding.layers].index(name)]
    folder = design.memories[0].parent
    sources = (*lib.closure(*text.library), folder / f"{text.name}.sv")
    memories = _memories(folder, name)
    return Design(
        design.case, text.name, sources, memories, text.in_bits, text.out_bits, (name,), design.folding,
        _digest((*sources, *memories)),
    )  # fmt: skip


def _memories(folder: Path, layer: str) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob(f"{layer}.*.hex"), reverse=True))


def _names(layers: Sequence[object]) -> str:
    return ", ".join(str(getattr(layer, "name", layer)) for layer in layers)


def _hash_network(network: Network) -> str:
    digest = hashlib.sha256(repr(network.layers).encode())
    for weight, threshold in zip(network.weights, network.thresholds, strict=True):
        digest.update(weight.tobytes())
        digest.update(b"" if threshold is None else threshold.tobytes())
    return digest.hexdigest()


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
