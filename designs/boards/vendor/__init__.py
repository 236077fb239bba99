"""Boards that the vendor's tools build, as generated projects: PYNQ-Z2, VC709, Alveo U50 and U250.

    project = generate(core, "vc709", folder, mhz=150, items=Items(1, 1))
    built = build(project)                      where Vivado or Vitis is installed; else MissingTool says how to go on
    stream = open_bridge("127.0.0.1:2000")      PYNQ-Z2 and Alveo; the VC709 is a serial port like any other
    deploy_steps(project)                       the same in words

All of them carry the frames of the shell, so the host's side is `designs.boards.link` unchanged. On the PYNQ-Z2 and the
Alveo cards the shell's bytes go through FIFOs behind AXI4-Lite (`rtl/axil_bytes.sv`); a bridge program beside the
design, in Python with `pynq` or in C++ with XRT, carries them over TCP.
"""

from __future__ import annotations

from designs.boards.vendor.build import Built, build, collect
from designs.boards.vendor.facts import VendorBoard, load, names
from designs.boards.vendor.project import Project, generate
from designs.boards.vendor.readme import steps
from designs.boards.vendor.stream import BridgeStream, open_bridge

__all__ = [
    "BridgeStream", "Built", "Project", "VendorBoard", "build", "collect", "deploy_steps", "generate", "load", "names",
    "open_bridge",
]  # fmt: skip


def deploy_steps(project: Project) -> list[str]:
    """What a user does from the generated project to results of the running board, a line a step."""
    return steps(project.core, project.vendor, project.clock_hz, str(project.folder))
