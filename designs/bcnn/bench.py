"""The bench around a core: a source and a sink in SystemVerilog, so that Python steps once a run and not once a cycle.

The pixels come from `images.hex`, one word a line. A run sends `count` images from `first` on and ends when as many
results have come. Each result is a line of `results.txt`: number of the run, cycle in which the first pixel of its
image was taken, cycle in which the sums were, sums in hexadecimal. After each run a line `busy <run> <counts>` tells in
how many cycles each layer's unit worked.

How it may be paced: `idle` is the chance, of 256, that the source offers nothing in a cycle; `gap` cycles pass between
two images; with `single` an image waits until the results of the one before are out. The sink lets each result wait for
a random time of up to `hold` cycles (a power of two, or 0). The rules of the stream are checked: an offered word stays.
"""

from __future__ import annotations

from designs.bcnn.core import UNIT
from designs.bcnn.generate import Design

TOP = "bcnn_bench"

#: Signal of the matrix-vector unit that is 1 in each cycle in which it begins a fold.
WORKING = "step"


def bench_text(design: Design, capacity: int, *, netlist: bool = False) -> str:
    """SystemVerilog of `bcnn_bench` around a whole design, with room for `capacity` images.

    In a netlist there are no units whose work could be counted.
    """
    count = len(design.layers)
    units = ", ".join("1'b0" if netlist else f"u_core.u_{name}.{UNIT}.{WORKING}" for name in reversed(design.layers))
    # Where a core stands still: before each layer and after the last, is a word offered, is one taken.
    places = [] if netlist else [*design.layers, "out"]
    state = " ".join(f"{name}:%b%b" for name in places)
    ports = "".join(f", u_core.w{n}_valid, u_core.w{n}_ready" for n in range(len(places)))
    return f"""\
// Written by designs.bcnn.bench for {design.case}.
`default_nettype none

module {TOP} (
    input wire clk,
    input wire rst,
    input wire go,
    input wire [31:0] first,
    input wire [31:0] count,
    input wire [31:0] gap,
    input wire single,
    input wire [7:0] idle,
    input wire [31:0] hold,
    input wire [31:0] seed,
    input wire [31:0] patience,
    output logic done,
    output logic stuck,
    output logic broken
);
  localparam int PIXELS = {design.pixels};

  logic [{design.in_bits - 1}:0] images[{capacity} * PIXELS];
  logic [31:0] entered[{capacity}];
  integer file;

  logic running, s_valid, m_ready, held;
  wire s_ready, m_valid, m_last;
  logic [{design.in_bits - 1}:0] s_data;
  wire [{design.out_bits - 1}:0] m_data;
  logic [{design.out_bits - 1}:0] kept;
  logic [31:0] run, cycle, quiet, image, pixel, pause, wait_left, got, source_lfsr, sink_lfsr;
  logic [31:0] busy[{count}];

  initial begin
    $readmemh("images.hex", images);
    file = $fopen("results.txt", "w");
    running = 1'b0;  // not by reset alone: a clock edge may come before it
  end

  {design.top} u_core (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_valid),
      .s_axis_tready(s_ready),
      .s_axis_tdata(s_data),
      .s_axis_tlast(pixel == PIXELS - 1),
      .m_axis_tvalid(m_valid),
      .m_axis_tready(m_ready),
      .m_axis_tdata(m_data),
      .m_axis_tlast(m_last)
  );

  wire [{count - 1}:0] working = {{{units}}};

  function automatic logic [31:0] next(input logic [31:0] x);
    x = x ^ (x << 13);
    x = x ^ (x >> 17);
    return x ^ (x << 5);
  endfunction

  wire [31:0] hold_mask = hold == 0 ? 0 : hold - 1;
  wire take = s_valid && s_ready;
  wire give = m_valid && m_ready;
  wire ends = take && pixel == PIXELS - 1;
  // Pixel and image that come after this cycle.
  wire [31:0] pixel_next = ends ? 0 : pixel + 32'(take);
  wire [31:0] image_next = image + 32'(ends);
  wire [31:0] pause_next = ends ? gap : pause - 32'(pause != 0);
  wire [31:0] got_next = got + 32'(give);
  wire [31:0] wait_next = give ? sink_lfsr & hold_mask : wait_left - 32'(m_valid && wait_left != 0);
  wire waits = pause_next != 0 || (single && pixel_next == 0 && image_next != got_next);

  always_ff @(posedge clk) begin
    done <= 1'b0;
    source_lfsr <= next(source_lfsr);
    sink_lfsr <= next(sink_lfsr);
    cycle <= cycle + 1;
    if (running) begin
      quiet <= take || give ? 0 : quiet + 1;
      if (take && pixel == 0) entered[image] <= cycle;
      pixel <= pixel_next;
      image <= image_next;
      pause <= pause_next;
      got <= got_next;
      if (!s_valid || take) begin
        s_valid <= image_next != count && !waits && source_lfsr[7:0] >= idle;
        s_data <= images[(first+image_next)*PIXELS+pixel_next];
      end
      // While a result is offered; with no wait the sink is ready before.
      wait_left <= wait_next;
      m_ready <= wait_next == 0;
      held <= m_valid && !m_ready;
      kept <= m_data;
      if ((held && (!m_valid || m_data != kept)) || (m_valid && !m_last) || (give && got >= image_next)) broken <= 1'b1;
      if (give) $fdisplay(file, "%0d %0d %0d %h", run, entered[got], cycle, m_data);
      for (int n = 0; n < {count}; n++) busy[n] <= busy[n] + 32'(working[n]);
      if ((give && got_next == count) || quiet >= patience) begin
        $fwrite(file, "busy %0d", run);
        for (int n = 0; n < {count}; n++) $fwrite(file, " %0d", busy[n] + 32'(working[n]));
        $fdisplay(file, "");
        if (!(give && got_next == count)) $fdisplay(file, "stuck {state}"{ports});
        $fflush(file);
        stuck <= !(give && got_next == count);
        running <= 1'b0;
        s_valid <= 1'b0;
        m_ready <= 1'b0;
        done <= 1'b1;
      end
    end else begin
      // A word that comes when all are out is one too many.
      if (m_valid && run != 0) broken <= 1'b1;
      if (go) begin
        running <= 1'b1;
        run <= run + 1;
        {{cycle, quiet, image, pixel, pause, got}} <= '0;
        for (int n = 0; n < {count}; n++) busy[n] <= 0;
        held <= 1'b0;
        wait_left <= next(seed) & hold_mask;
        source_lfsr <= seed;
        sink_lfsr <= next(~seed);
      end
    end
    if (rst) begin
      {{running, s_valid, m_ready, held, done, stuck, broken}} <= '0;
      run <= '0;
    end
  end
endmodule

`default_nettype wire
"""
