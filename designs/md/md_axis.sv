// Motion of a particle in one dimension: kick, drift, and by how many cells it moved. One a cycle, LATENCY cycles later:
//   F = force, or (force + 1) >>> 1 with `half`;  v' = v + F;  x' = x + ((v' + 2^(V-1)) >>> V) with `drift`
// v' keeps its lowest bits and `fast` tells when that is not all of it; x' is cut to its cell and `move` is -1, 0 or 1:
// VELOCITY allows no more. `half` and `drift` are the same for all particles of a pass.
`default_nettype none

module md_axis #(
    // Bits of a position within a cell.
    parameter int P = 24,
    // Fraction bits of a velocity, beyond those of a position.
    parameter int V = 10,
    // Bits of a velocity.
    parameter int VELOCITY = 32,
    // Bits of a force.
    parameter int FORCE = 36
) (
    input wire clk,
    input wire half,
    input wire drift,
    input wire signed [FORCE-1:0] force_in,
    input wire signed [VELOCITY-1:0] velocity,
    input wire [P-1:0] position,
    output logic [VELOCITY-1:0] new_velocity,
    output logic [P-1:0] new_position,
    output logic [1:0] move,
    output logic fast
);
  localparam int LATENCY = 4;

  if (V < 1 || V >= VELOCITY) begin : g_fraction
    $error("md_axis: V must be 1 to VELOCITY - 1");
  end
  if (VELOCITY > P + V + 1) begin : g_velocity
    $error("md_axis: VELOCITY must be at most P + V + 1: a particle would cross more than one cell");
  end

  localparam int WIDE = (FORCE > VELOCITY ? FORCE : VELOCITY) + 1;
  localparam int STEP = VELOCITY - V + 1;  // bits of a displacement
  localparam int PLACE = P + 2;

  // 1: the force, or half of it.
  wire [FORCE:0] rounded = {force_in[FORCE-1], force_in} + (FORCE + 1)'(1);
  logic [FORCE-1:0] force1;
  logic [VELOCITY-1:0] velocity1;

  // 2: kick.
  wire [WIDE-1:0] kicked = {{(WIDE - VELOCITY) {velocity1[VELOCITY-1]}}, velocity1}
      + {{(WIDE - FORCE) {force1[FORCE-1]}}, force1};
  logic [VELOCITY-1:0] velocity2;
  logic [WIDE-VELOCITY:0] top2;

  // 3: displacement, rounded.
  wire [VELOCITY:0] half_up = {velocity2[VELOCITY-1], velocity2} + (VELOCITY + 1)'(1 << (V - 1));
  logic [STEP-1:0] step3;
  logic [VELOCITY-1:0] velocity3;
  logic fast3;

  // 4: drift.
  wire [P-1:0] position3;
  wire [PLACE-1:0] drifted = {2'b00, position3} + {{(PLACE - STEP + 1) {step3[STEP-1]}}, step3[STEP-2:0]};

  delay #(
      .WIDTH (P),
      .STAGES(LATENCY - 1)
  ) u_position (
      .clk(clk),
      .in (position),
      .out(position3)
  );

  always_ff @(posedge clk) begin
    force1 <= half ? rounded[FORCE:1] : force_in;
    velocity1 <= velocity;

    velocity2 <= kicked[VELOCITY-1:0];
    top2 <= kicked[WIDE-1:VELOCITY-1];

    step3 <= drift ? half_up[VELOCITY:V] : '0;
    velocity3 <= velocity2;
    fast3 <= top2 != '0 && top2 != '1;

    {move, new_position} <= drifted;
    new_velocity <= velocity3;
    fast <= fast3;
  end

  wire unused = &{1'b0, half_up[V-1:0], rounded[0]};
endmodule

`default_nettype wire
