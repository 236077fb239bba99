"""What `gatewarp list` shows: a function for each listing, giving column names and rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gatewarp import registry

Listing = tuple[tuple[str, ...], list[tuple[str, ...]]]


def workloads() -> Listing:
    """Name, item, cases and the first line of the module's text."""
    rows: list[tuple[str, ...]] = []
    for name in registry.workload_names():
        found = registry.workload(name)
        rows.append((name, found.item, ", ".join(found.cases)))
    return ("workload", "item", "cases"), rows


def cases() -> Listing:
    """Every case of every workload. What a workload does not state of its operations stays empty."""
    rows: list[tuple[str, ...]] = []
    for name in registry.workload_names():
        found = registry.workload(name)
        for case in found.cases.values():
            state = "trained" if case.trained else "untrained"
            work = found.operations(case.name)
            counts = (work.macs, work.kept_macs, work.equivalent_macs, work.bit_operations, work.weight_bytes)
            rows.append((name, case.name, state, *(f"{n:,}" if n else "" for n in counts), case.summary))
    columns = (
        "workload", "case", "parameters", "MACs per item", "of them kept", "with inserted zeros", "bit operations",
        "weight bytes", "what it is",
    )  # fmt: skip
    return columns, rows


def implementations() -> Listing:
    """Every implementation, its tier, cases and arithmetics."""
    rows: list[tuple[str, ...]] = []
    for name in registry.implementations():
        module = registry.implementation(name)
        rows.append((name, module.TIER, ", ".join(module.CASES), ", ".join(module.ARITHMETICS)))
    return ("implementation", "tier", "cases", "arithmetics"), rows


def devices() -> Listing:
    """Devices that can be measured here, and those with facts."""
    from compare.devices import devices as known
    from gpu.runtime.device import list_devices

    here = [(name, "here", text) for name, text in list_devices().items()]
    return ("device", "where", "what it is"), [*here, *((d.slug, "facts", d.name) for d in known().values())]


def boards() -> Listing:
    """Boards that a design can be built for, whose tools do it, and which can be simulated."""
    from designs import boards as known
    from gatewarp.plugged import simulated

    found, able = [known.load(name) for name in known.names()], simulated()
    rows: list[tuple[str, ...]] = [
        (b.name, ", ".join(b.aliases), b.part, b.flow, "yes" if b.name in able else "", b.title) for b in found
    ]
    return ("board", "also", "part", "tools", "--simulated", "what it is"), rows


LISTINGS: Mapping[str, Callable[[], Listing]] = {
    "workloads": workloads,
    "cases": cases,
    "implementations": implementations,
    "devices": devices,
    "boards": boards,
}
