// A core that stalls: items of IN words become items of OUT words, with pauses that a shift register of noise decides.
// Result j of an item is the sum of its words plus j. With FROZEN it takes words and never gives one.
`default_nettype none

module pacing_core #(
    parameter int WIDTH  = 16,
    parameter int IN     = 3,
    parameter int OUT    = 2,
    // Of 256 cycles, so many pass without moving.
    parameter int PAUSE  = 128,
    parameter bit FROZEN = 0
) (
    input wire clk,
    input wire rst,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [WIDTH-1:0] s_axis_tdata,
    input wire s_axis_tlast,
    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [WIDTH-1:0] m_axis_tdata,
    output wire m_axis_tlast
);
  logic [15:0] noise;
  logic [7:0] taken, given;
  logic [WIDTH-1:0] sum;
  logic giving, offered;
  wire moves = 9'(noise[7:0]) >= 9'(PAUSE);

  assign s_axis_tready = !giving && moves;
  assign m_axis_tvalid = offered && !FROZEN;
  assign m_axis_tdata = sum + WIDTH'(given);
  assign m_axis_tlast = given == 8'(OUT - 1);

  always_ff @(posedge clk) begin
    noise <= {noise[14:0], noise[15] ^ noise[13] ^ noise[12] ^ noise[10]};
    if (s_axis_tvalid && s_axis_tready) begin
      sum <= taken == '0 ? s_axis_tdata : sum + s_axis_tdata;
      taken <= taken == 8'(IN - 1) ? '0 : taken + 1'b1;
      giving <= taken == 8'(IN - 1);
    end
    if (giving && moves) offered <= 1'b1;
    if (m_axis_tvalid && m_axis_tready) begin
      offered <= 1'b0;
      given <= m_axis_tlast ? '0 : given + 1'b1;
      if (m_axis_tlast) giving <= 1'b0;
    end
    if (rst) begin
      noise <= 16'hACE1;
      taken <= '0;
      given <= '0;
      giving <= 1'b0;
      offered <= 1'b0;
    end
  end

  wire unused = &{1'b0, s_axis_tlast};
endmodule

`default_nettype wire
