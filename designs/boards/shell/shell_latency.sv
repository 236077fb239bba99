// Latency of items: the cycle of each item's first word in waits in a memory until its last word is out.
// Items leave in the order in which they came. If more than DEPTH items are inside, measuring ends until a reset.
`default_nettype none

module shell_latency #(
    // Items inside the core and before it, a power of two.
    parameter int DEPTH = 512
) (
    input wire clk,
    input wire rst,
    input wire clear,

    input wire enter,
    input wire leave,

    output logic [31:0] least,
    output logic [31:0] most,
    output logic [47:0] sum,
    output logic overflow
);
  localparam int ADDRESS = $clog2(DEPTH);

  logic [31:0] now, then, difference;
  logic [31:0] left, left_before;  // when it left, beside the read
  logic [ADDRESS-1:0] write_address, read_address;
  logic [ADDRESS:0] held;
  logic leaving, ready;
  logic [1:0] found;

  shell_memory #(
      .WIDTH(32),
      .DEPTH(DEPTH)
  ) u_memory (
      .clk(clk),
      .write(enter),
      .write_address(write_address),
      .write_data(now),
      .read(1'b1),
      .read_address(read_address),
      .move(1'b1),
      .read_data(then)
  );

  // `leave` is used a cycle late, so that a core without a register may hand on what enters at once.
  always_ff @(posedge clk) begin
    now <= now + 1'b1;
    leaving <= leave;
    if (enter) write_address <= write_address + 1'b1;
    if (leaving) read_address <= read_address + 1'b1;
    if (enter != leaving) held <= held + {{ADDRESS{!enter}}, 1'b1};
    if (held == (ADDRESS + 1)'(DEPTH) && enter) overflow <= 1'b1;
    found <= {found[0], leaving && !overflow};
    left <= now - 1'b1;
    left_before <= left;
    ready <= found[1];
    difference <= left_before - then;
    if (rst) begin
      now <= '0;
      write_address <= '0;
      read_address <= '0;
      held <= '0;
      leaving <= 1'b0;
      found <= '0;
      ready <= 1'b0;
      overflow <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (ready && difference < least) least <= difference;
    if (ready && difference > most) most <= difference;
    if (ready) sum <= sum + {16'b0, difference};
    if (rst || clear) begin
      least <= '1;
      most <= '0;
      sum <= '0;
    end
  end
endmodule

`default_nettype wire
