// Output pins with a value at each edge of the clock, by the ECP5's ODDRX1F: `rise` while the clock is high, then `fall`.
// For simulation use sim/ddr_out.sv.
`default_nettype none

module ddr_out #(
    parameter int WIDTH = 1,
    // Delay of the pins in taps of 25 ps, 0 to 127; 0 uses no delay element.
    parameter int DELAY = 0
) (
    input wire clk,
    input wire [WIDTH-1:0] rise,
    input wire [WIDTH-1:0] fall,
    output wire [WIDTH-1:0] q
);
  if (DELAY < 0 || DELAY > 127) begin : g_range
    $error("ddr_out: DELAY must be from 0 to 127");
  end

  for (genvar i = 0; i < WIDTH; i++) begin : g_pin
    wire early;

    ODDRX1F u_out (.D0(rise[i]), .D1(fall[i]), .SCLK(clk), .RST(1'b0), .Q(early));

    if (DELAY == 0) begin : g_direct
      assign q[i] = early;
    end else begin : g_delay
      DELAYG #(.DEL_MODE("USER_DEFINED"), .DEL_VALUE(DELAY)) u_delay (.A(early), .Z(q[i]));
    end
  end
endmodule

`default_nettype wire
