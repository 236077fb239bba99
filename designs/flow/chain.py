"""SystemVerilog of chains of stream modules: every stage takes one stream and gives one.

    chain = [Stage("stream_width", "u_fold", 36, {"UNIT": 12, "IN": 1, "OUT": 3}), ...]
    text = module("track_layer1", "what it is", 12, chain, writer="designs.track.core")

The stream between stage n - 1 and stage n is w<n>_valid, w<n>_ready and w<n>_data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm


@dataclass(frozen=True)
class Stage:
    """One instance in a chain; `out_bits` is the width of the word that leaves it."""

    module: str
    name: str
    out_bits: int
    parameters: Mapping[str, int | str] = field(default_factory=dict)


def width_stages(name: str, unit: int, have: int, want: int) -> list[Stage]:
    """Converters from words of `have` units (of `unit` bits) to words of `want`, none where they are equal.

    Where neither divides the other it goes through their least common multiple.
    """
    if have == want:
        return []
    if have % want and want % have:
        middle = lcm(have, want)
        return [*width_stages(f"{name}_up", unit, have, middle), *width_stages(f"{name}_down", unit, middle, want)]
    return [Stage("stream_width", name, want * unit, {"UNIT": unit, "IN": have, "OUT": want})]


def module(
    name: str,
    what: str,
    in_bits: int,
    chain: Sequence[Stage],
    *,
    writer: str,
    data: str = "",
    out_bits: int = 0,
    last: bool = False,
    head: str = "",
    gate: str = "",
) -> str:
    """The module that chains `chain`.

    `what` and `writer` go into its first line. `data` is the expression of `out_bits` bits that leaves it (default:
    the last stage's word). With `last` it has tlast on both sides; `head` are lines that drive m_axis_tlast then.
    `gate` is a signal without which no word enters.
    """
    end = f"w{len(chain)}"
    out_bits = out_bits or (chain[-1].out_bits if chain else in_bits)
    lines = [_wires(0, in_bits)]
    lines.append(f"  assign w0_valid = s_axis_tvalid{f' && {gate}' if gate else ''};\n")
    lines.append(f"  assign s_axis_tready = w0_ready{f' && {gate}' if gate else ''};\n")
    lines.append("  assign w0_data = s_axis_tdata;\n")
    for number, stage in enumerate(chain):
        lines += [_wires(number + 1, stage.out_bits), instance(stage, f"w{number}", f"w{number + 1}")]
    lines.append(f"\n  assign m_axis_tvalid = {end}_valid;\n  assign {end}_ready = m_axis_tready;\n")
    lines.append(f"  assign m_axis_tdata = {data or f'{end}_data'};\n")
    s_last, m_last = ("    input wire s_axis_tlast,\n", ",\n    output wire m_axis_tlast") if last else ("", "")
    return f"""\
// Written by {writer}. {what}
`default_nettype none

module {name} (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [{in_bits - 1}:0] s_axis_tdata,
{s_last}
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [{out_bits - 1}:0] m_axis_tdata{m_last}
);
{head}{"".join(lines)}endmodule

`default_nettype wire
"""


def instance(stage: Stage, source: str, sink: str) -> str:
    """The instance of a stage between two streams."""
    chosen = ",\n".join(f"      .{key}({value})" for key, value in stage.parameters.items())
    head = f"  {stage.module} #(\n{chosen}\n  ) {stage.name} (\n" if chosen else f"  {stage.module} {stage.name} (\n"
    ports = ["      .clk(clk)", "      .rst(rst)"]
    for side, wire in (("s", source), ("m", sink)):
        ports += [f"      .{side}_axis_t{port}({wire}_{port})" for port in ("valid", "ready", "data")]
    return head + ",\n".join(ports) + "\n  );\n"


def _wires(number: int, bits: int) -> str:
    return f"\n  wire w{number}_valid, w{number}_ready;\n  wire [{bits - 1}:0] w{number}_data;\n"
