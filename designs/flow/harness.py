"""A wrapper that gives a streaming core registers at its pins and few pins of its own, to find its Fmax alone.

    source = fmax_top("credit_stream", in_bits=32, out_bits=32)

A bare core has more pins than the package, and paths from pins are not what Fmax means. Here the input word comes from
a shift register fed by one pin, the output word is registered and folded into one pin, and every handshake signal is
registered on both sides, so that each path into and out of the core starts or ends in a register. The registers cost
`in_bits + 2 * out_bits` flip-flops, which are in the resources: take resources from the core alone.
"""

from __future__ import annotations

from collections.abc import Mapping


def fmax_top(
    core_module: str,
    in_bits: int,
    out_bits: int,
    *,
    parameters: Mapping[str, int | str] | None = None,
    name: str = "fmax_top",
) -> str:
    """SystemVerilog of the wrapper `name` around a core with ports clk, rst, s_axis_*, m_axis_*."""
    chosen = ", ".join(f".{key}({value})" for key, value in (parameters or {}).items())
    instance = f"{core_module} #({chosen}) u_core" if chosen else f"{core_module} u_core"
    return f"""\
`default_nettype none
module {name} (
    input wire clk,
    input wire rst_pin,
    input wire valid_pin,
    input wire last_pin,
    input wire data_pin,
    input wire ready_pin,
    output logic ready_out,
    output logic valid_out,
    output logic last_out,
    output logic data_out
);
  logic rst, in_valid, in_last, in_ready, out_ready, out_valid, out_last;
  logic [{in_bits - 1}:0] in_data;
  logic [{out_bits - 1}:0] out_data, captured, folded;

  {instance} (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(in_valid),
      .s_axis_tready(in_ready),
      .s_axis_tdata(in_data),
      .s_axis_tlast(in_last),
      .m_axis_tvalid(out_valid),
      .m_axis_tready(out_ready),
      .m_axis_tdata(out_data),
      .m_axis_tlast(out_last)
  );

  always_ff @(posedge clk) begin
    rst <= rst_pin;
    in_valid <= valid_pin;
    in_last <= last_pin;
    in_data <= {{in_data[{in_bits - 2}:0], data_pin}};
    out_ready <= ready_pin;
    ready_out <= in_ready;
    valid_out <= out_valid;
    last_out <= out_last;
    captured <= out_data;
    folded <= {{folded[{out_bits - 2}:0], 1'b0}} ^ captured;
    data_out <= folded[{out_bits - 1}];
  end
endmodule
`default_nettype wire
"""
