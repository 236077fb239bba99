"""The core behind words of a byte, for a serial port: a beat is 27 bytes, and words of that width would be the slowest
path of a board. The first byte is the lowest of a beat; a packet's length is in its first beat.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from designs import lib
from designs.flow import cache
from designs.flow.evidence import Core

#: Bits of a word at the port: beats are whole bytes, so that no part of one is left waiting in a converter.
PORT_BITS = 8


def narrow(core: Core) -> Core:
    """The same core with words of PORT_BITS; its simulations are of the core itself."""
    top = f"{core.top}_port"
    text = port_text(core, top)

    def produce(folder: Path) -> None:
        (folder / f"{top}.sv").write_text(text)

    folder = cache.build({"step": "designs/md port", "text": text}, [Path(__file__)], produce)
    sources = tuple(dict.fromkeys([*core.sources, *lib.closure("stream_width"), folder / f"{top}.sv"]))
    return replace(core, top=top, sources=sources, in_bits=PORT_BITS, out_bits=PORT_BITS)


def port_text(core: Core, top: str) -> str:
    """SystemVerilog of the core between two width converters."""
    beat = core.in_bits // PORT_BITS
    return f"""\
// Written by designs.md.port: {core.top} behind words of {PORT_BITS} bits.
`default_nettype none

module {top} (
    input wire clk,
    input wire rst,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [{PORT_BITS - 1}:0] s_axis_tdata,
    input wire s_axis_tlast,
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [{PORT_BITS - 1}:0] m_axis_tdata,
    output wire m_axis_tlast
);
  wire in_valid, in_ready, out_valid, out_ready, out_last;
  wire [{core.in_bits - 1}:0] in_data, out_data;

  stream_width #(.UNIT({PORT_BITS}), .IN(1), .OUT({beat})) u_in (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tdata(s_axis_tdata),
      .m_axis_tvalid(in_valid),
      .m_axis_tready(in_ready),
      .m_axis_tdata(in_data)
  );

  {core.top} u_core (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(in_valid),
      .s_axis_tready(in_ready),
      .s_axis_tdata(in_data),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(out_valid),
      .m_axis_tready(out_ready),
      .m_axis_tdata(out_data),
      .m_axis_tlast(out_last)
  );

  stream_width #(.UNIT({PORT_BITS}), .IN({beat}), .OUT(1)) u_out (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(out_valid),
      .s_axis_tready(out_ready),
      .s_axis_tdata(out_data),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata)
  );

  assign m_axis_tlast = 1'b0;
  wire unused = &{{1'b0, s_axis_tlast, out_last}};
endmodule

`default_nettype wire
"""
