"""A core that hangs: it takes words and never answers, so that a host sees a live line and no results."""

from __future__ import annotations


def stuck_core(module: str, in_bits: int, out_bits: int) -> str:
    """SystemVerilog of a module with the streaming ports of this project that takes every word and gives none back."""
    return f"""\
// A core that hangs: takes every word, gives none back.
`default_nettype none
module {module} (
    input wire clk,
    input wire rst,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [{in_bits - 1}:0] s_axis_tdata,
    input wire s_axis_tlast,
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [{out_bits - 1}:0] m_axis_tdata,
    output wire m_axis_tlast
);
  assign s_axis_tready = !rst;
  assign m_axis_tvalid = 1'b0;
  assign m_axis_tdata  = '0;
  assign m_axis_tlast  = 1'b0;

  wire unused = &{{1'b0, clk, s_axis_tvalid, s_axis_tdata, s_axis_tlast, m_axis_tready}};
endmodule
`default_nettype wire
"""
