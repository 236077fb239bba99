"""From a network and a folding to files: SystemVerilog, memory images, and what a flow has to know about them.

design = generate(layers_of(network), for_interval(layers, 64), "embed")      whole network, top `track_core`
layer_of(design, "layer2")                                                    one layer, top `track_layer2`
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from designs import lib
from designs.flow import cache
from designs.track import core
from designs.track.folding import Folding
from designs.track.integers import Dense
from workloads.api import UnknownNameError

#: Library modules that the text instantiates.
LIBRARY = ("stream_fifo", "stream_width", "mvtu", "requantise", "activation_table")

_PACKAGE = Path(__file__).parent
#: The Python that texts and images come from.
GENERATORS = (*(_PACKAGE / f"{name}.py" for name in ("core", "folding", "integers", "generate")),
              *(_PACKAGE.parent / "flow" / f"{name}.py" for name in ("chain", "folding")))  # fmt: skip


@dataclass(frozen=True)
class Design:
    """A generated design.

    `sources` are SystemVerilog files, modules before their users; `memories` the files that they read by name, which
    have to be in the working folder of the tool. `top` has streams of `in_bits` and `out_bits`. `digest` is the hash
    of all contents.
    """

    case: str
    top: str
    sources: tuple[Path, ...]
    memories: tuple[Path, ...]
    in_bits: int
    out_bits: int
    layers: tuple[Dense, ...]
    folding: Folding
    digest: str


def generate(layers: Sequence[Dense], folding: Folding, case: str) -> Design:
    """A whole network; `case` only names it. Errors: ValueError when the folding is of other layers."""
    shapes = tuple((layer.n_in, layer.n_out) for layer in layers)
    if shapes != folding.shapes:
        raise ValueError(f"the folding is of layers {folding.shapes}, the network has {shapes}")
    texts = core.layer_texts(layers, folding)

    def produce(folder: Path) -> None:
        for text in texts:
            (folder / f"{text.name}.sv").write_text(text.text)
        (folder / f"{core.TOP}.sv").write_text(core.core_text(texts, folding))
        core.write_memories(layers, folding, folder)

    parts = {"step": "designs/track", "network": _hash(layers), "folding": str(folding)}
    folder = cache.build(parts, GENERATORS, produce)
    library = lib.closure(*LIBRARY)
    own = [*(folder / f"{text.name}.sv" for text in texts), folder / f"{core.TOP}.sv"]
    sources = (*library, *own)
    memories = tuple(sorted(folder.glob("*.hex")))
    return Design(
        case,
        core.TOP,
        sources,
        memories,
        texts[0].in_bits,
        texts[-1].out_bits,
        tuple(layers),
        folding,
        _digest((*sources, *memories)),
    )


def layer_of(design: Design, name: str) -> Design:
    """One layer of a design as a top of its own. Errors: UnknownNameError listing the layers."""
    names = [layer.name for layer in design.layers]
    if name not in names:
        raise UnknownNameError("layer", name, names)
    text = core.layer_texts(design.layers, design.folding)[names.index(name)]
    sources = (*lib.closure(*LIBRARY), design.memories[0].parent / f"{text.name}.sv")
    memories = tuple(path for path in design.memories if path.name.startswith(f"{name}."))
    digest = _digest((*sources, *memories))
    return replace(
        design, top=text.name, sources=sources, memories=memories, in_bits=text.in_bits, out_bits=text.out_bits,
        digest=digest,
    )  # fmt: skip


def _hash(layers: Sequence[Dense]) -> str:
    digest = hashlib.sha256()
    for layer in layers:
        for value in vars(layer).values():
            digest.update(value.tobytes() if hasattr(value, "tobytes") else f"\0{value}".encode())
    return digest.hexdigest()


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
