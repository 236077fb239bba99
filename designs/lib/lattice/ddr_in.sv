// Input pins with a value at each edge of the clock, by the ECP5's IDDRX1F. `rise` and `fall` are of one clock cycle: what
// the rising edge met and what the falling edge behind it met, both there from the next rising edge on. For simulation
// use sim/ddr_in.sv.
`default_nettype none

module ddr_in #(
    parameter int WIDTH = 1,
    // Delay of the pins in taps of 25 ps, 0 to 127; 0 uses no delay element.
    parameter int DELAY = 0
) (
    input wire clk,
    input wire [WIDTH-1:0] d,
    output wire [WIDTH-1:0] rise,
    output wire [WIDTH-1:0] fall
);
  if (DELAY < 0 || DELAY > 127) begin : g_range
    $error("ddr_in: DELAY must be from 0 to 127");
  end

  for (genvar i = 0; i < WIDTH; i++) begin : g_pin
    wire late;

    if (DELAY == 0) begin : g_direct
      assign late = d[i];
    end else begin : g_delay
      DELAYG #(.DEL_MODE("USER_DEFINED"), .DEL_VALUE(DELAY)) u_delay (.A(d[i]), .Z(late));
    end

    IDDRX1F u_in (.D(late), .SCLK(clk), .RST(1'b0), .Q0(rise[i]), .Q1(fall[i]));
  end
endmodule

`default_nettype wire
