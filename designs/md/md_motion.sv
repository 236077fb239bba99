// Moves one particle a cycle, LATENCY cycles: kick and drift in each dimension, and the cell where the particle then is.
`default_nettype none

module md_motion #(
    parameter int CELLS_X = 4,
    parameter int CELLS_Y = 4,
    parameter int CELLS_Z = 4,
    // Kinds of particles, 1 or 2.
    parameter int KINDS = 1,
    // As in md_axis and md_scale.
    parameter int P = 24,
    parameter int V = 10,
    parameter int VELOCITY = 32,
    parameter int SUM = 36,
    parameter bit [17:0] RATIO = 18'h20000,
    // Bits that go along.
    parameter int ALONG = 1,
    // Derived.
    parameter int X = $clog2(CELLS_X),
    parameter int Y = $clog2(CELLS_Y),
    parameter int Z = $clog2(CELLS_Z),
    parameter int CELL = $clog2(CELLS_X * CELLS_Y * CELLS_Z),
    parameter int LATENCY = (KINDS > 1 ? 4 : 0) + 6
) (
    input wire clk,
    input wire half,
    input wire drift,

    input wire [ALONG-1:0] along,
    output wire [ALONG-1:0] new_along,

    // {z, y, x} each.
    input wire [3*SUM-1:0] force_in,
    input wire [3*VELOCITY-1:0] velocity,
    input wire [3*P-1:0] position,
    input wire kind,
    input wire [X-1:0] x,
    input wire [Y-1:0] y,
    input wire [Z-1:0] z,
    input wire [CELL-1:0] cell_in,

    output wire [3*VELOCITY-1:0] new_velocity,
    output wire [3*P-1:0] new_position,
    output logic [CELL-1:0] new_cell,
    output wire fast
);
  localparam int SCALE = KINDS > 1 ? 4 : 0;
  localparam int FORCE = KINDS > 1 ? SUM + 1 : SUM;
  localparam int AXIS = 4;

  wire [3*FORCE-1:0] scaled;
  wire [3*VELOCITY-1:0] velocity_late, moved_velocity;
  wire [3*P-1:0] position_late, moved_position;
  wire [2:0] too_fast;
  wire [5:0] moves;

  if (KINDS > 1) begin : g_scale
    for (genvar d = 0; d < 3; d++) begin : g_dimension
      md_scale #(
          .SUM  (SUM),
          .RATIO(RATIO)
      ) u_scale (
          .clk(clk),
          .kind(kind),
          .force_in(force_in[d*SUM+:SUM]),
          .force_out(scaled[d*FORCE+:FORCE])
      );
    end
  end else begin : g_same
    assign scaled = force_in;
    wire unused = kind;
  end

  delay #(
      .WIDTH (ALONG),
      .STAGES(LATENCY)
  ) u_along (
      .clk(clk),
      .in (along),
      .out(new_along)
  );

  delay #(
      .WIDTH (3 * VELOCITY + 3 * P),
      .STAGES(SCALE)
  ) u_scaled (
      .clk(clk),
      .in ({velocity, position}),
      .out({velocity_late, position_late})
  );

  for (genvar d = 0; d < 3; d++) begin : g_axis
    md_axis #(
        .P(P),
        .V(V),
        .VELOCITY(VELOCITY),
        .FORCE(FORCE)
    ) u_axis (
        .clk(clk),
        .half(half),
        .drift(drift),
        .force_in(scaled[d*FORCE+:FORCE]),
        .velocity(velocity_late[d*VELOCITY+:VELOCITY]),
        .position(position_late[d*P+:P]),
        .new_velocity(moved_velocity[d*VELOCITY+:VELOCITY]),
        .new_position(moved_position[d*P+:P]),
        .move(moves[d*2+:2]),
        .fast(too_fast[d])
    );
  end

  // The new cell: the old one plus a constant for each dimension in which the particle left it, round the box.
  wire [X-1:0] x_late;
  wire [Y-1:0] y_late;
  wire [Z-1:0] z_late;
  wire [CELL-1:0] cell_late;

  delay #(
      .WIDTH (X + Y + Z + CELL),
      .STAGES(SCALE + AXIS)
  ) u_cell (
      .clk(clk),
      .in ({x, y, z, cell_in}),
      .out({x_late, y_late, z_late, cell_late})
  );

  localparam bit [CELL-1:0] ONE_Y = CELL'(CELLS_X), ONE_Z = CELL'(CELLS_X * CELLS_Y);
  localparam bit [CELL-1:0] ROUND_X = CELL'(CELLS_X - 1);
  localparam bit [CELL-1:0] ROUND_Y = CELL'((CELLS_Y - 1) * CELLS_X);
  localparam bit [CELL-1:0] ROUND_Z = CELL'((CELLS_Z - 1) * CELLS_X * CELLS_Y);

  function automatic logic [CELL-1:0] change(input logic [1:0] move, input logic first, input logic last,
                                             input logic [CELL-1:0] one, input logic [CELL-1:0] round);
    case (move)
      2'b01: change = last ? CELL'(-round) : one;
      2'b11: change = first ? round : CELL'(-one);
      default: change = '0;
    endcase
  endfunction

  logic [CELL-1:0] change_x, change_y, change_z, cell5;

  always_ff @(posedge clk) begin
    change_x <= change(moves[1:0], x_late == '0, x_late == X'(CELLS_X - 1), CELL'(1), ROUND_X);
    change_y <= change(moves[3:2], y_late == '0, y_late == Y'(CELLS_Y - 1), ONE_Y, ROUND_Y);
    change_z <= change(moves[5:4], z_late == '0, z_late == Z'(CELLS_Z - 1), ONE_Z, ROUND_Z);
    cell5 <= cell_late;
    new_cell <= (cell5 + change_x) + (change_y + change_z);
  end

  delay #(
      .WIDTH (3 * VELOCITY + 3 * P + 1),
      .STAGES(2)
  ) u_moved (
      .clk(clk),
      .in ({|too_fast, moved_velocity, moved_position}),
      .out({fast, new_velocity, new_position})
  );
endmodule

`default_nettype wire
