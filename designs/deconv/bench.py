"""The bench around an engine: sources and a sink in SystemVerilog, so that Python steps once a run, not once a cycle.

Files in the folder of the simulation, read with $fread: `inputs.bin`, the beats of the items; with streamed weights
`weights.bin`, the beats of one item, `lasts.bin`, a byte each with tlast, and `commands.bin`. A word's highest byte
comes first. A run sends `count` items and ends when all their results have come. Lines of `results.txt`:

    run <number>
    counts <cycle> <nine counters of the engine>      at the end of each RUN of the engine
    item <cycle of its first beat in> <cycle of its last beat out>
    end <cycles of the run>

`beats.bin` gets the beats that came out, in hexadecimal, a line each. How it is paced: `idle` is the chance, of 256,
that a source which may offer a beat does not in a cycle, `stall` that the sink is not ready. With `single` an item
waits until the results of the one before are out. The rules of the stream are checked: an offered beat stays, and tlast
is on the last beat of an item.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from designs.deconv.generate import Design, weight_beat

TOP = "deconv_bench"

#: Counters in the order of the lines.
COUNTERS = ("busy", "issues", "stalled_weights", "stalled_drain", "useful", "kept", "loaded", "stored", "weighed")


#: Items of a run at most.
ITEMS = 1024

#: Beats of inputs and of weights for which a bench around a shared engine has room, by its name.
ROOM: Mapping[str, tuple[int, int]] = {
    "vc709": (1 << 19, 1 << 20),
    "vc709_tm4": (1 << 12, 1 << 14),
    "streamed": (1 << 19, 1 << 18),
    "z7020": (1 << 10, 1 << 18),
}


@dataclass(frozen=True)
class Sizes:
    """What a run sends and gets of an item: beats in and out, commands, beats of weights."""

    beats_in: int
    beats_out: int
    commands: int
    weights: int


def sizes(design: Design) -> Sizes:
    """Sizes of a design's network."""
    program = design.program
    return Sizes(
        sum(op.beats for op in program.loads),
        sum(op.beats for op in program.stores),
        len(program.commands),
        words_streamed(design),
    )


def bench_text(design: Design, items: int) -> str:
    """SystemVerilog of `deconv_bench` around a design, with room for the inputs of at least `items` items.

    The text of a shared engine is the same for all networks, so that its simulator is built once.
    Errors: ValueError for a network that there is no room for.
    """
    engine, size = design.engine, sizes(design)
    beats, weights = (1 << (n - 1).bit_length() for n in (items * size.beats_in, size.weights))
    commands = 1 << (size.commands - 1).bit_length()
    if engine.name in ROOM:
        room, commands = ROOM[engine.name], max(4096, commands)
        if beats > room[0] or weights > room[1]:
            raise ValueError(f"{design.case}: {beats} beats of inputs and {weights} of weights; the bench has {room}")
        beats, weights = room
    inside = "u_top.u_core.u_engine" if engine.resident else "u_top.u_engine"
    counts = ", ".join(f"{inside}.count_{name}" for name in COUNTERS)
    places = " ".join(["%0d"] * len(COUNTERS))
    beat = weight_beat(engine)
    fed = (
        ""
        if engine.resident
        else f"""
  logic [31:0] commands[{commands}];
  logic [{8 * (-(-beat // 8)) - 1}:0] weights[{weights}];
  logic [7:0] lasts[{weights}];
  logic c_valid, w_valid, w_last;
  wire c_ready, w_ready;
  logic [31:0] c_data;
  logic [{beat - 1}:0] w_data;
  logic [31:0] command, weight, c_item, w_item, c_lfsr, w_lfsr;
  wire c_take = c_valid && c_ready;
  wire w_take = w_valid && w_ready;
  wire [31:0] command_next = c_take ? (command == commands_item - 1 ? 0 : command + 1) : command;
  wire [31:0] c_item_next = c_item + 32'(c_take && command == commands_item - 1);
  wire [31:0] weight_next = w_take ? (weight == weights_item - 1 ? 0 : weight + 1) : weight;
  wire [31:0] w_item_next = w_item + 32'(w_take && weight == weights_item - 1);

  initial begin
    read = $fopen("commands.bin", "rb");
    got_bytes = $fread(commands, read);
    $fclose(read);
    read = $fopen("weights.bin", "rb");
    got_bytes = $fread(weights, read);
    $fclose(read);
    read = $fopen("lasts.bin", "rb");
    got_bytes = $fread(lasts, read);
    $fclose(read);
    c_valid = 1'b0;
    w_valid = 1'b0;
  end

  always_ff @(posedge clk) begin
    c_lfsr <= next(c_lfsr);
    w_lfsr <= next(w_lfsr);
    if (running) begin
      command <= command_next;
      c_item <= c_item_next;
      if (!c_valid || c_take) begin
        c_valid <= c_item_next != count && c_lfsr[7:0] >= idle;
        c_data <= commands[command_next];
      end
      weight <= weight_next;
      w_item <= w_item_next;
      if (!w_valid || w_take) begin
        w_valid <= w_item_next != count && w_lfsr[7:0] >= idle;
        w_data <= weights[weight_next][{beat - 1}:0];
        w_last <= lasts[weight_next][0];
      end
    end else if (go) begin
      {{command, weight, c_item, w_item}} <= '0;
      c_lfsr <= next(seed + 32'd77);
      w_lfsr <= next(seed + 32'd777);
    end
    if (rst) {{c_valid, w_valid}} <= '0;
  end
"""
    )
    fed_ports = (
        ""
        if engine.resident
        else """,
      .s_cmd_tvalid(c_valid),
      .s_cmd_tready(c_ready),
      .s_cmd_tdata(c_data),
      .s_weight_tvalid(w_valid),
      .s_weight_tready(w_ready),
      .s_weight_tdata(w_data),
      .s_weight_tlast(w_last)"""
    )
    state = "1'b0, 1'b0" if engine.resident else "w_valid, w_ready"
    return f"""\
// Written by designs.deconv.bench: {engine}.
`default_nettype none

module {TOP} (
    input wire clk,
    input wire rst,
    input wire go,
    input wire [31:0] count,
    input wire single,
    input wire [7:0] idle,
    input wire [7:0] stall,
    input wire [31:0] seed,
    input wire [31:0] patience,
    // Of an item.
    input wire [31:0] beats_in,
    input wire [31:0] beats_out,
    input wire [31:0] commands_item,
    input wire [31:0] weights_item,
    output logic done,
    output logic stuck,
    output logic broken
);
  logic [{design.in_bits - 1}:0] inputs[{beats}];
  logic [31:0] entered[{ITEMS}];
  integer file, out, read, got_bytes;

  logic running, s_valid, m_ready, held;
  wire s_ready, m_valid, m_last;
  logic [{design.in_bits - 1}:0] s_data;
  wire [{design.out_bits - 1}:0] m_data;
  logic [{design.out_bits - 1}:0] kept;
  logic [31:0] run, cycle, quiet, item, beat, done_items, done_beat, s_lfsr, m_lfsr;
  logic was_busy;

  initial begin
    read = $fopen("inputs.bin", "rb");
    got_bytes = $fread(inputs, read);
    $fclose(read);
    file = $fopen("results.txt", "w");
    out = $fopen("beats.bin", "w");
    running = 1'b0;  // not by reset alone: a clock edge may come before it
  end

  {design.top} #(
      .COUNTERS(1'b1)
  ) u_top (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_valid),
      .s_axis_tready(s_ready),
      .s_axis_tdata(s_data),
      .s_axis_tlast(beat == beats_in - 1),
      .m_axis_tvalid(m_valid),
      .m_axis_tready(m_ready),
      .m_axis_tdata(m_data),
      .m_axis_tlast(m_last){fed_ports}
  );
{fed}
  function automatic logic [31:0] next(input logic [31:0] x);
    x = x == 0 ? 32'd1 : x;
    x = x ^ (x << 13);
    x = x ^ (x >> 17);
    return x ^ (x << 5);
  endfunction

  wire busy = {inside}.busy[1];
  wire take = s_valid && s_ready;
  wire give = m_valid && m_ready;
  wire ends = take && beat == beats_in - 1;
  wire finishes = give && done_beat == beats_out - 1;
  // What comes after this cycle.
  wire [31:0] beat_next = ends ? 0 : beat + 32'(take);
  wire [31:0] item_next = item + 32'(ends);
  wire [31:0] done_next = done_items + 32'(finishes);
  wire waits = single && beat_next == 0 && item_next != done_next;
  wire last = finishes && done_next == count;

  always_ff @(posedge clk) begin
    done <= 1'b0;
    s_lfsr <= next(s_lfsr);
    m_lfsr <= next(m_lfsr);
    cycle <= cycle + 1;
    was_busy <= busy;
    if (running) begin
      quiet <= take || give || busy != was_busy ? 0 : quiet + 1;
      if (take && beat == 0) entered[item] <= cycle;
      beat <= beat_next;
      item <= item_next;
      done_items <= done_next;
      if (give) done_beat <= finishes ? 0 : done_beat + 1;
      if (!s_valid || take) begin
        s_valid <= item_next != count && !waits && s_lfsr[7:0] >= idle;
        s_data <= inputs[item_next*beats_in+beat_next];
      end
      m_ready <= m_lfsr[7:0] >= stall;
      held <= m_valid && !m_ready;
      kept <= m_data;
      if ((held && (!m_valid || m_data != kept)) || (give && m_last != (done_beat == beats_out - 1))) broken <= 1'b1;
      if (was_busy && !busy) $fdisplay(file, "counts %0d {places}", cycle, {counts});
      if (give) $fdisplay(out, "%h", m_data);
      if (finishes) $fdisplay(file, "item %0d %0d", entered[done_items], cycle);
      if (last || quiet >= patience) begin
        $fdisplay(file, "end %0d", cycle);
        if (!last) $fdisplay(file, "stuck in:%b%b out:%b%b weights:%b%b busy:%b item:%0d beat:%0d out:%0d", s_valid,
          s_ready, m_valid, m_ready, {state}, {inside}.busy, item, beat, done_beat);
        $fflush(file);
        $fflush(out);
        stuck <= !last;
        running <= 1'b0;
        s_valid <= 1'b0;
        m_ready <= 1'b0;
        done <= 1'b1;
      end
    end else begin
      // A beat that comes when all are out is one too many.
      if (m_valid && run != 0) broken <= 1'b1;
      if (go) begin
        running <= 1'b1;
        run <= run + 1;
        $fdisplay(file, "run %0d", run);
        {{cycle, quiet, item, beat, done_items, done_beat}} <= '0;
        held <= 1'b0;
        s_lfsr <= next(seed);
        m_lfsr <= next(~seed);
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


def words_streamed(design: Design) -> int:
    """Beats of the weight stream for an item; 1 where there is none."""
    if design.engine.resident:
        return 1
    program = design.program
    return sum(
        len(program.biases[run.layer]) * (1 + program.weights[run.layer].shape[1] * program.weights[run.layer].shape[2])
        for run in program.runs
    )
