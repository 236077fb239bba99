"""The bench around an engine: a source and a sink in SystemVerilog, so that Python steps once a run, not once a cycle.

`inputs.bin` in the folder of the simulation, read with $fread, has the words of all runs one after the other, of each
the highest byte first. A run sends its `count` words and ends when `answers` packets have come and no word is left.
Lines of `results.txt`:

    run <number>
    step <cycle>          a step has ended
    end <cycles of the run>

`beats.txt` gets the words that came out, a line each: tlast and the word in hexadecimal. How it is paced: `idle` is the
chance, of 256, that a source which may offer a word does not in a cycle, `stall` that the sink is not ready. The rules
of the stream are checked: an offered word stays until it is taken, and none comes that nobody asked for.
"""

from __future__ import annotations

from designs.md.generate import Design

TOP = "md_bench"


def bench_text(design: Design, words: int) -> str:
    """SystemVerilog of `md_bench` around a design, with room for at least `words` words."""
    bits = design.bits
    room = 1 << max(12, (words - 1).bit_length())  # short scripts share a simulator
    return f"""\
// Written by designs.md.bench: {design.top}.
`default_nettype none

module {TOP} (
    input wire clk,
    input wire rst,
    input wire go,
    input wire [31:0] count,
    input wire [31:0] answers,
    input wire [7:0] idle,
    input wire [7:0] stall,
    input wire [31:0] seed,
    input wire [31:0] patience,
    output logic done,
    output logic stuck,
    output logic broken
);
  logic [{bits - 1}:0] inputs[{room}];
  integer file, out, read, got_bytes;

  logic running, s_valid, m_ready, held;
  wire s_ready, m_valid, m_last;
  logic [{bits - 1}:0] s_data;
  wire [{bits - 1}:0] m_data;
  logic [{bits}:0] kept;
  logic [31:0] run, cycle, quiet, word, limit, left, s_lfsr, m_lfsr;

  initial begin
    read = $fopen("inputs.bin", "rb");
    got_bytes = $fread(inputs, read);
    $fclose(read);
    file = $fopen("results.txt", "w");
    out = $fopen("beats.txt", "w");
    running = 1'b0;  // not by reset alone: a clock edge may come before it
  end

  {design.top} u_top (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_valid),
      .s_axis_tready(s_ready),
      .s_axis_tdata(s_data),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(m_valid),
      .m_axis_tready(m_ready),
      .m_axis_tdata(m_data),
      .m_axis_tlast(m_last)
  );

  function automatic logic [31:0] next(input logic [31:0] x);
    x = x == 0 ? 32'd1 : x;
    x = x ^ (x << 13);
    x = x ^ (x >> 17);
    return x ^ (x << 5);
  endfunction

  wire step = u_top.u_core.u_engine.step_done;
  wire take = s_valid && s_ready;
  wire give = m_valid && m_ready;
  // What comes after this cycle.
  wire [31:0] word_next = word + 32'(take);
  wire [31:0] left_next = left - 32'(give && m_last);
  wire ends = word_next == limit && left_next == 0;

  always_ff @(posedge clk) begin
    done <= 1'b0;
    s_lfsr <= next(s_lfsr);
    m_lfsr <= next(m_lfsr);
    cycle <= cycle + 1;
    if (running) begin
      quiet <= take || give || step ? 0 : quiet + 1;
      word <= word_next;
      left <= left_next;
      if (!s_valid || take) begin
        s_valid <= word_next != limit && s_lfsr[7:0] >= idle;
        s_data <= inputs[word_next[$clog2({room})-1:0]];
      end
      m_ready <= m_lfsr[7:0] >= stall;
      held <= m_valid && !m_ready;
      kept <= {{m_last, m_data}};
      if (held && (!m_valid || {{m_last, m_data}} != kept)) broken <= 1'b1;
      if (m_valid && left == 0) broken <= 1'b1;
      if (step) $fdisplay(file, "step %0d", cycle);
      if (give) $fdisplay(out, "%b %h", m_last, m_data);
      if (ends || quiet >= patience) begin
        $fdisplay(file, "end %0d", cycle);
        if (!ends) $fdisplay(file, "stuck in:%b%b out:%b%b word:%0d of %0d, %0d packets to come", s_valid, s_ready,
          m_valid, m_ready, word, limit, left);
        $fflush(file);
        $fflush(out);
        stuck <= !ends;
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
        $fdisplay(file, "run %0d", run);
        cycle <= '0;
        quiet <= '0;
        limit <= word + count;
        left <= answers;
        held <= 1'b0;
        s_lfsr <= next(seed);
        m_lfsr <= next(~seed);
      end
    end
    if (rst) begin
      {{running, s_valid, m_ready, held, done, stuck, broken}} <= '0;
      run <= '0;
      word <= '0;
    end
  end
endmodule

`default_nettype wire
"""
