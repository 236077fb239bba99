"""The streaming core around a da4ml pipeline: `track_core`, one hit a clock, valid/ready with back-pressure.

Words carry elements of equal width, element 0 lowest: three 12-bit inputs in, four outputs out on the output grid.
"""

from __future__ import annotations

from collections.abc import Sequence

PIPELINE = "track_pipeline"
TOP = "track_core"


def core(in_bits: int, latency: int, out_width: int, grid: int, formats: Sequence[tuple[int, int, int]]) -> str:
    """SystemVerilog of `track_core`.

    `latency` counts the registers of the pipeline. `formats` are the (k, i, f) of da4ml's outputs, packed in their own
    widths; each is shifted to `grid` fractional bits and sign-extended to `out_width` bits.
    """
    widths = [max(k + i + f, 0) for k, i, f in formats]
    total = sum(widths)
    lines, low = [], 0
    for n, ((signed, _, fraction), width) in enumerate(zip(formats, widths, strict=True)):
        target = f"aligned[{n * out_width} +: {out_width}]"
        if width == 0:
            lines.append(f"  assign {target} = '0;")
            continue
        shift = grid - fraction
        pad = out_width - width - shift
        if pad < 0 or shift < 0:
            raise ValueError(f"output {n} with format {formats[n]} does not fit {out_width} bits at {grid} fractional")
        top = low + width - 1
        sign = f"pipe_out[{top}]" if signed else "1'b0"
        extend = f"{{{pad}{{{sign}}}}}, " if pad else ""
        zeros = f", {shift}'b0" if shift else ""
        lines.append(f"  assign {target} = {{{extend}pipe_out[{top}:{low}]{zeros}}};")
        low = top + 1
    alignment = "\n".join(lines)
    bits = len(formats) * out_width
    return f"""\
// Written by hls.track.core: the da4ml pipeline as a stream. One hit a clock; nothing stops the pipeline.
`default_nettype none

module {TOP} (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [{in_bits - 1}:0] s_axis_tdata,
    input wire s_axis_tlast,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [{bits - 1}:0] m_axis_tdata,
    output wire m_axis_tlast
);
  wire [{in_bits - 1}:0] pipe_in;
  wire [{total - 1}:0] pipe_out;
  wire [{bits - 1}:0] aligned;

  {PIPELINE} u_pipeline (
      .clk(clk),
      .model_inp(pipe_in),
      .model_out(pipe_out)
  );

{alignment}

  credit_stream #(
      .IN_WIDTH({in_bits}),
      .OUT_WIDTH({bits}),
      .LATENCY({latency})
  ) u_stream (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tdata(s_axis_tdata),
      .s_axis_tlast(s_axis_tlast),
      .pipe_in_data(pipe_in),
      .pipe_out_data(aligned),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(m_axis_tlast)
  );
endmodule

`default_nettype wire
"""
