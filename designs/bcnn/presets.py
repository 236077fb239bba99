"""Foldings with a name: those of the papers, and ours for small boards."""

from __future__ import annotations

from collections.abc import Mapping

from designs.bcnn import folding as foldings
from designs.bcnn.folding import Folding
from workloads.api import UnknownNameError
from workloads.bcnn.cases import LAYERS

#: Case -> layer -> (simd, pe).
FOLDS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    # Li et al., arXiv 1702.06392, recalled: its convolutions balance to 12,288 cycles. The dense layers are ours.
    "binarynet": {
        "conv1": (27, 32),
        "conv2": (384, 32),
        "conv3": (384, 16),
        "conv4": (768, 16),
        "conv5": (768, 8),
        "conv6": (1536, 8),
        "fc1": (512, 2),
        "fc2": (128, 1),
        "fc3": (1, 1),
    },
    # BNN-PYNQ, bnn/src/network/cnvW1A1/hw/config.h; its last layer is padded to 64 neurons and ours is not.
    "cnv": {
        "conv1": (3, 16),
        "conv2": (32, 32),
        "conv3": (32, 16),
        "conv4": (32, 16),
        "conv5": (32, 4),
        "conv6": (32, 1),
        "fc1": (4, 1),
        "fc2": (8, 1),
        "fc3": (1, 1),
    },
    # Every layer near the 192 cycles that the window units need.
    "digits": {"conv1": (9, 8), "conv2": (48, 32), "conv3": (96, 8), "fc1": (128, 1), "fc2": (4, 1)},
    # Four times slower, for 5,280 logic cells: the next quicker one does not go in.
    "digits_small": {"conv1": (3, 2), "conv2": (24, 4), "conv3": (48, 1), "fc1": (1, 1)},
}

#: Where each comes from, for records.
SOURCES: Mapping[str, str] = {
    "binarynet": "Li et al., arXiv 1702.06392 (recalled)",
    "cnv": "BNN-PYNQ cnvW1A1",
    "digits": "ours, for LFE5U-85F",
    "digits_small": "ours, for iCE40UP5K",
}


def folding(case: str) -> Folding:
    """The preset of a case. Errors: UnknownNameError."""
    if case not in FOLDS:
        raise UnknownNameError("case", case, tuple(FOLDS))
    return foldings.of(LAYERS[case], FOLDS[case])
