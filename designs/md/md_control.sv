// Takes commands and leads the engine through their phases. A command waits until the one before it is done.
//   LOAD n      n particles follow
//   RUN n       n steps; flag 0: the first begins with half a kick; flag 1: forces and half a kick after the last
//   DUMP, STATUS, CLEAR    answer with the state, with counters; empty all cells, flags and counters
// After a reset all is cleared, too.
//
// A step is two phases: FORCE, in which workers do units and the counts of the other half become zero, and MOVE, in which
// each particle is read from the present half and written to the other, which then is the present one. After it, when
// some cell is empty, COUNTS tells the workers the counts of all cells: those that are not empty they have seen grow.
`default_nettype none

module md_control #(
    parameter int CELLS = 64,
    // Particle slots of a half.
    parameter int WORDS = 2048,
    // Derived.
    parameter int CELL = $clog2(CELLS),
    parameter int ADDRESS = $clog2(WORDS)
) (
    input wire clk,
    input wire rst,

    // A command: bits 7:0 what, 15:8 flags, 47:16 argument.
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [47:0] s_axis_tdata,
    output wire [31:0] argument,
    output logic unknown,

    // The half of the present state.
    output logic half,
    // Of this pass: half a kick, and a drift.
    output logic half_kick,
    output logic drift,

    output wire clearing,
    output wire loading,
    output wire forcing,
    output wire moving,
    output wire telling,
    output wire dumping,
    output wire reporting,
    // The first cycle of these phases; their `busy` is seen from the cycle after it on.
    output logic start_load,
    output logic start_force,
    output logic start_move,
    output logic start_dump,
    output logic start_status,
    input wire load_busy,
    input wire dispatch_busy,
    input wire walk_busy,
    input wire dump_busy,
    input wire status_busy,
    // Workers and what comes from them are at rest.
    input wire quiet,
    // A particle begins its way to its new slot, and ends it: placed or dropped.
    input wire depart,
    input wire arrive,
    // Every cell of the other half holds a particle.
    input wire all_occupied,

    // Counter over addresses or cells: those to clear, those whose counts are told.
    output logic [ADDRESS-1:0] sweep,
    output wire sweep_cell_valid,
    output wire [CELL-1:0] sweep_cell,
    output logic step_done
);
  localparam logic [7:0] LOAD = 8'd1;
  localparam logic [7:0] RUN = 8'd2;
  localparam logic [7:0] DUMP = 8'd3;
  localparam logic [7:0] STATUS = 8'd4;
  localparam logic [7:0] CLEAR = 8'd5;

  typedef enum logic [2:0] {
    CLEARING,
    READY,
    LOADING,
    FORCING,
    MOVING,
    TELLING,
    DUMPING,
    REPORTING
  } state_t;

  // Cycles in a row that workers must be at rest: longer than a unit takes from the dispatcher to `quiet`.
  localparam bit [2:0] REST = 3'd4;

  state_t state;
  logic [31:0] steps;
  logic last_half, swept, started;
  logic final_pass, last_step;  // no step is left, or one, as registers: `steps` stays as it is for a pass
  logic [2:0] rest;
  logic [7:0] under_way;

  wire [7:0] what = s_axis_tdata[7:0];
  wire take = s_axis_tvalid && state == READY;
  wire run = s_axis_tdata[47:16] != '0 || s_axis_tdata[9];

  assign s_axis_tready = state == READY;
  assign argument = s_axis_tdata[47:16];
  assign clearing = state == CLEARING;
  assign loading = state == LOADING;
  assign forcing = state == FORCING;
  assign moving = state == MOVING;
  assign telling = state == TELLING;
  assign dumping = state == DUMPING;
  assign reporting = state == REPORTING;

  assign sweep_cell = sweep[CELL-1:0];
  assign sweep_cell_valid = !swept && {1'b0, sweep} < (ADDRESS + 1)'(CELLS);

  wire sweep_end = sweep == ADDRESS'(state == CLEARING ? WORDS - 1 : CELLS - 1);
  wire moved = !started && !walk_busy && under_way == '0;
  wire told = state == TELLING && swept;
  wire force_done = state == FORCING && !start_force && !dispatch_busy && rest == REST && swept;
  wire pass_done = (state == MOVING && moved && all_occupied) || told;
  wire again = !final_pass && (!last_step || last_half);

  // A unit's busy bits need a cycle after its start.
  always_ff @(posedge clk) begin
    started <= start_load || start_move || start_dump || start_status || force_done || take;
    start_load <= take && what == LOAD && !rst;
    start_dump <= take && what == DUMP && !rst;
    start_status <= take && what == STATUS && !rst;
    start_force <= ((take && what == RUN && run) || (pass_done && again)) && !rst;
    start_move <= force_done && !rst;
    unknown <= take && (what < LOAD || what > CLEAR) && !rst;
    step_done <= pass_done && drift && !rst;
  end

  always_ff @(posedge clk) begin
    rest <= !quiet || dispatch_busy || start_force || state != FORCING ? '0 : rest == REST ? REST : rest + 1'b1;
    under_way <= under_way + 8'(depart) - 8'(arrive);
    if (rst) under_way <= '0;
  end

  // The sweep begins anew with each state.
  always_ff @(posedge clk) begin
    if (!swept) sweep <= sweep + 1'b1;
    if (!swept && sweep_end) swept <= 1'b1;
    if (rst || (take && (what == CLEAR || what == RUN)) || (state == MOVING && moved) || pass_done) begin
      sweep <= '0;
      swept <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (take && what == RUN) begin
      steps <= s_axis_tdata[47:16];
      half_kick <= s_axis_tdata[8] || s_axis_tdata[47:16] == '0;
      last_half <= s_axis_tdata[9];
      drift <= s_axis_tdata[47:16] != '0;
    end else if (pass_done) begin
      steps <= steps - 32'(!final_pass);
      half_kick <= last_step;
      drift <= !last_step;
    end
    final_pass <= steps == '0;
    last_step <= steps == 32'd1;
  end

  always_ff @(posedge clk) begin
    case (state)
      CLEARING: if (swept) state <= READY;
      READY:
      if (take) begin
        case (what)
          LOAD: state <= LOADING;
          RUN: if (run) state <= FORCING;
          DUMP: state <= DUMPING;
          STATUS: state <= REPORTING;
          CLEAR: state <= CLEARING;
          default: ;
        endcase
      end
      LOADING: if (!started && !load_busy && under_way == '0) state <= READY;
      FORCING: if (force_done) state <= MOVING;
      MOVING: if (moved) state <= !all_occupied ? TELLING : again ? FORCING : READY;
      TELLING: if (swept) state <= again ? FORCING : READY;
      DUMPING: if (!started && !walk_busy && !dump_busy) state <= READY;
      REPORTING: if (!started && !status_busy) state <= READY;
      default: state <= CLEARING;
    endcase
    if (rst) state <= CLEARING;
  end

  // The other half becomes the present one.
  always_ff @(posedge clk) begin
    if (state == MOVING && moved) half <= !half;
    if (rst) half <= 1'b0;
  end

  wire unused = &{1'b0, s_axis_tdata[15:10]};
endmodule

`default_nettype wire
