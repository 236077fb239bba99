// The engine with stand-ins for the force workers.
`default_nettype none

module md_engine_dut #(
    parameter int WORKERS = 2,
    parameter int FILTERS = 4,
    parameter int CELLS_X = 3,
    parameter int CELLS_Y = 3,
    parameter int CELLS_Z = 3,
    parameter int CAPACITY = 8,
    parameter int KINDS = 1,
    parameter bit [17:0] RATIO = 18'h20000,
    parameter int P = 16,
    parameter int V = 6,
    parameter int VELOCITY = 22,
    parameter int SUM = 36,
    parameter int ID = 24,
    // As in md_worker_model.
    parameter logic [63:0] RC2 = 64'h1_0000_0000,
    parameter logic [63:0] RMIN2 = 64'h100,
    parameter int SHIFT = 12,
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
  localparam int SUM_LATENCY = 3;

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
    md_worker_model #(
        .P(P),
        .SUM(SUM),
        .RC2(RC2),
        .RMIN2(RMIN2),
        .SHIFT(SHIFT),
        .CELLS_X(CELLS_X),
        .CELLS_Y(CELLS_Y),
        .CELLS_Z(CELLS_Z),
        .CAPACITY(CAPACITY),
        .FILTERS(FILTERS),
        .SEED(w + 1)
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
