// Sums of the forces on the particles of the stream, of all cells: added to by the force pipeline, one a cycle, and read
// by the motion, which makes them zero. Read when nothing is added; `read_force` comes three cycles after `read`.
`default_nettype none

module md_neighbour_sums #(
    // Particles' places.
    parameter int WORDS = 2048,
    // Bits of a sum; a force has three.
    parameter int SUM = 36,
    // As in md_sums.
    parameter bit HUGE = 0,
    // Bits of an address; derived.
    parameter int ADDRESS = $clog2(WORDS)
) (
    input wire clk,
    input wire rst,
    input wire add,
    input wire [ADDRESS-1:0] address,
    input wire [3*SUM-1:0] add_force,
    input wire read,
    input wire [ADDRESS-1:0] read_address,
    output wire [3*SUM-1:0] read_force
);
  logic take;
  logic [ADDRESS-1:0] take_address;

  always_ff @(posedge clk) begin
    take <= read && !rst;
    take_address <= read_address;
  end

  md_sums #(
      .WORDS(WORDS),
      .SUM  (SUM),
      .HUGE (HUGE)
  ) u_sums (
      .clk(clk),
      .rst(rst),
      .add(add),
      .add_set(1'b0),
      .address(address),
      .addends(add_force),
      .take(take),
      .take_set(1'b0),
      .take_address(take_address),
      .taken(read_force)
  );
endmodule

`default_nettype wire
