// The engine and its force workers: the whole design between two streams. Commands and particles go in by s_axis, the state
// and the status come out by m_axis; see docs/md.md for their beats. The end of an input packet is not looked at: a serial
// port has none.
`default_nettype none

module md_core #(
    // Force workers, 1 to 255, and home particles of a unit of theirs.
    parameter int WORKERS = 4,
    parameter int FILTERS = 16,
    // Cells of the box, at least 3 a side; slots of a cell.
    parameter int CELLS_X = 4,
    parameter int CELLS_Y = 4,
    parameter int CELLS_Z = 4,
    parameter int CAPACITY = 32,
    // Kinds of particles, 1 or 2; mass of kind 0 by that of kind 1, 2^17 is 1.
    parameter int KINDS = 1,
    parameter bit [17:0] RATIO = 18'h20000,
    // Bits: of a position in its cell, of the fraction of a velocity, of a velocity, of a sum of forces, of a number.
    parameter int P = 24,
    parameter int V = 10,
    parameter int VELOCITY = 32,
    parameter int SUM = 36,
    parameter int ID = 24,
    // 1: the large memories are of the larger RAM blocks of parts that have them, such as UltraRAM.
    parameter bit HUGE = 0,
    // As in md_worker.
    parameter bit ECP5 = 0,
    parameter bit RINGS = 0,
    parameter int B = 8,
    parameter int S = 4,
    parameter int D = 14,
    parameter int VALUE = 32,
    parameter int SLOPE = 27,
    parameter int TERMS = 2,
    parameter logic [63:0] RC2 = 64'd277027000000000,
    parameter logic [63:0] RMIN2 = 64'd20000000000000,
    parameter int FILTER_BITS = 9,
    parameter int QUEUE = 512,
    parameter TABLE_0 = "",
    parameter TABLE_1 = "",
    parameter TABLE_2 = "",
    parameter COEFS = "",
    // Derived.
    parameter int CELLS = CELLS_X * CELLS_Y * CELLS_Z,
    parameter int PARTICLE = 3 * P + 3 * VELOCITY + 48,
    parameter int BEAT = (PARTICLE > 216 ? PARTICLE + 7 : 216) / 8 * 8
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [BEAT-1:0] s_axis_tdata,
    input wire s_axis_tlast,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [BEAT-1:0] m_axis_tdata,
    output wire m_axis_tlast
);
  localparam int X = $clog2(CELLS_X);
  localparam int Y = $clog2(CELLS_Y);
  localparam int Z = $clog2(CELLS_Z);
  localparam int CELL = $clog2(CELLS);
  localparam int SLOT = $clog2(CAPACITY);
  localparam int COUNT = $clog2(CAPACITY + 1);
  localparam int ADDRESS = $clog2(CELLS * CAPACITY);
  localparam int SIZE = $clog2(FILTERS + 1);
  localparam int COUNTER = 40;
  localparam int SUM_LATENCY = 3;  // of md_worker

  wire [WORKERS-1:0] pos_write;
  wire [WORKERS*ADDRESS-1:0] pos_address;
  wire [WORKERS*(3*P+1)-1:0] pos_data;
  wire [WORKERS-1:0] count_write;
  wire [WORKERS*CELL-1:0] count_cell;
  wire [WORKERS*COUNT-1:0] count_value;
  wire [WORKERS-1:0] unit_valid;
  wire [WORKERS-1:0] unit_ready;
  wire [X-1:0] unit_x;
  wire [Y-1:0] unit_y;
  wire [Z-1:0] unit_z;
  wire [CELL-1:0] unit_cell;
  wire [SLOT-1:0] unit_first;
  wire [SIZE-1:0] unit_count;
  wire [WORKERS-1:0] home_valid;
  wire [WORKERS-1:0] home_ready;
  wire [WORKERS*ADDRESS-1:0] home_address;
  wire [WORKERS*3*SUM-1:0] home_force;
  wire [WORKERS-1:0] sum_read;
  wire [WORKERS*ADDRESS-1:0] sum_address;
  wire [WORKERS*3*SUM-1:0] sum_force;
  wire [WORKERS-1:0] idle;
  wire [WORKERS-1:0] close;
  wire worker_clear;
  wire [WORKERS*COUNTER-1:0] pairs;
  wire [WORKERS*COUNTER-1:0] candidates;
  wire [WORKERS*COUNTER-1:0] stalled;

  md_engine #(
      .WORKERS(WORKERS),
      .FILTERS(FILTERS),
      .CELLS_X(CELLS_X),
      .CELLS_Y(CELLS_Y),
      .CELLS_Z(CELLS_Z),
      .CAPACITY(CAPACITY),
      .KINDS(KINDS),
      .RATIO(RATIO),
      .P(P),
      .V(V),
      .VELOCITY(VELOCITY),
      .SUM(SUM),
      .ID(ID),
      .HUGE(HUGE),
      .COUNTER(COUNTER),
      .SUM_LATENCY(SUM_LATENCY)
  ) u_engine (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tdata(s_axis_tdata),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(m_axis_tlast),
      .pos_write(pos_write),
      .pos_address(pos_address),
      .pos_data(pos_data),
      .count_write(count_write),
      .count_cell(count_cell),
      .count_value(count_value),
      .unit_valid(unit_valid),
      .unit_ready(unit_ready),
      .unit_x(unit_x),
      .unit_y(unit_y),
      .unit_z(unit_z),
      .unit_cell(unit_cell),
      .unit_first(unit_first),
      .unit_count(unit_count),
      .home_valid(home_valid),
      .home_ready(home_ready),
      .home_address(home_address),
      .home_force(home_force),
      .sum_read(sum_read),
      .sum_address(sum_address),
      .sum_force(sum_force),
      .idle(idle),
      .close(close),
      .worker_clear(worker_clear),
      .pairs(pairs),
      .candidates(candidates),
      .stalled(stalled)
  );

  for (genvar w = 0; w < WORKERS; w++) begin : g_worker
    md_worker #(
        .P(P),
        .B(B),
        .S(S),
        .D(D),
        .VALUE(VALUE),
        .SLOPE(SLOPE),
        .SUM(SUM),
        .TERMS(TERMS),
        .KINDS(KINDS),
        .RC2(RC2),
        .RMIN2(RMIN2),
        .CELLS_X(CELLS_X),
        .CELLS_Y(CELLS_Y),
        .CELLS_Z(CELLS_Z),
        .CAPACITY(CAPACITY),
        .FILTERS(FILTERS),
        .FILTER_BITS(FILTER_BITS),
        .QUEUE(QUEUE),
        .TABLE_0(TABLE_0),
        .TABLE_1(TABLE_1),
        .TABLE_2(TABLE_2),
        .COEFS(COEFS),
        .HUGE(HUGE),
        .ECP5(ECP5),
        .RINGS(RINGS)
    ) u_worker (
        .clk(clk),
        .rst(rst),
        .pos_write(pos_write[w]),
        .pos_address(pos_address[w*ADDRESS+:ADDRESS]),
        .pos_data(pos_data[w*(3*P+1)+:(3*P+1)]),
        .count_write(count_write[w]),
        .count_cell(count_cell[w*CELL+:CELL]),
        .count_value(count_value[w*COUNT+:COUNT]),
        .unit_valid(unit_valid[w]),
        .unit_ready(unit_ready[w]),
        .unit_x(unit_x),
        .unit_y(unit_y),
        .unit_z(unit_z),
        .unit_cell(unit_cell),
        .unit_first(unit_first),
        .unit_count(unit_count),
        .home_valid(home_valid[w]),
        .home_ready(home_ready[w]),
        .home_address(home_address[w*ADDRESS+:ADDRESS]),
        .home_force(home_force[w*3*SUM+:3*SUM]),
        .sum_read(sum_read[w]),
        .sum_address(sum_address[w*ADDRESS+:ADDRESS]),
        .sum_force(sum_force[w*3*SUM+:3*SUM]),
        .idle(idle[w]),
        .close(close[w]),
        .clear(worker_clear),
        .pairs(pairs[w*COUNTER+:COUNTER]),
        .candidates(candidates[w*COUNTER+:COUNTER]),
        .stalled(stalled[w*COUNTER+:COUNTER])
    );
  end

  wire unused = s_axis_tlast;
endmodule

`default_nettype wire
