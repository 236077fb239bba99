"""Report files as the vendor's tools write them, with chosen figures: what stand-ins leave and readers are tried on."""

from __future__ import annotations

import json

RULE = "-" * 96


def section(title: str, body: str) -> str:
    return f"{RULE}\n| {title}\n| {'-' * len(title)}\n{RULE}\n\n{body}\n\n"


def timing(
    clock: str, period: float, *, setup: float = 0.345, hold: float = 0.021, overall: float | None = None
) -> str:
    """`report_timing_summary`: `setup` is the slack of `clock`, `overall` of all clocks (default: the same)."""
    worst = setup if overall is None else overall
    failing = 0 if worst >= 0 else 12
    numbers = f"{setup:.3f}  {min(setup, 0.0):.3f}  {failing}  4567  {hold:.3f}  0.000  0  4567  2.000  0.000  0  1234"
    all_of_them = numbers.replace(f"{setup:.3f}", f"{worst:.3f}", 1)
    columns = (
        "WNS(ns)  TNS(ns)  TNS Failing Endpoints  TNS Total Endpoints  WHS(ns)  THS(ns)  THS Failing Endpoints  "
        "THS Total Endpoints  WPWS(ns)  TPWS(ns)  TPWS Failing Endpoints  TPWS Total Endpoints"
    )
    met = (
        "All user specified timing constraints are met."
        if worst >= 0 and hold >= 0
        else "Timing constraints are not met."
    )
    clocks = (
        "Clock  Waveform(ns)  Period(ns)  Frequency(MHz)\n-----  ------------  ----------  --------------\n"
        "source  {0.000 2.500}  5.000  200.000\n"
        f"  {clock}  {{0.000 {period / 2:.3f}}}  {period:.3f}  {1e3 / period:.3f}\n"
    )
    rows = f"Clock  {columns}\n-----  -------\nsource  1.100  0.000  0  1\n  {clock}  {numbers}\n"
    return (
        "Copyright 1986-2022 Xilinx, Inc. All Rights Reserved.\n"
        "| Tool Version      : Vivado v.2023.2 (lin64) Build 4029153\n\nTiming Summary Report\n\n"
        + section("Timer Settings", "  Enable Multi Corner Analysis  :  Yes")
        + section("Design Timing Summary", f"    {columns}\n    -------  -------\n      {all_of_them}\n\n{met}")
        + section("Clock Summary", clocks)
        + section("Intra Clock Table", rows)
        + section("Inter Clock Table", "From Clock  To Clock  WNS(ns)\n----------  --------  -------")
    )


def utilisation(*, ultrascale: bool, luts: int = 2345, ffs: int = 3456, tiles: float = 10.5, dsps: int = 7) -> str:
    """`report_utilization` of a 7 series part or of UltraScale+."""
    kind = "CLB" if ultrascale else "Slice"

    def row(name: str, used: float, there: int) -> str:
        return f"| {name:<26} | {used:>5} |     0 |          0 | {there:>9} | {100 * used / there:>5.2f} |"

    rows = [
        f"| {'Site Type':<26} |  Used | Fixed | Prohibited | Available | Util% |",
        row(f"{kind} LUTs{'' if ultrascale else '*'}", luts, 53200), row("  LUT as Logic", luts - 100, 53200),
        row("  LUT as Memory", 100, 17400), row(f"{kind} Registers", ffs, 106400), row("F7 Muxes", 12, 26600),
        "", row("Block RAM Tile", tiles, 140), row("  RAMB36/FIFO*", int(tiles), 140), row("  RAMB18", 1, 280),
        "", row("DSPs", dsps, 220), row("  DSP48E1 only", dsps, 220),
    ]  # fmt: skip
    return "| Tool Version : Vivado v.2023.2 (lin64) Build 4029153\n\nUtilization Design Information\n" + "\n".join(
        rows
    )


def kernel_info(mhz: int) -> str:
    """What v++ writes beside an xclbin: xclbinutil --info."""
    return (
        "xclbin Information\n------------------\n   Kernels:                gatewarp_kernel\n\n"
        "Clocks\n------\n   Name:      KERNEL_CLK\n   Index:     1\n   Type:      KERNEL\n   Frequency: 500 MHz\n\n"
        f"   Name:      DATA_CLK\n   Index:     0\n   Type:      DATA\n   Frequency: {mhz} MHz\n\n"
        f"System Diagrams\n{json.dumps({'none': 0})}\n"
    )
