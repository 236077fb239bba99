// Cycles from a first event to the last one of another kind: `start` sets the origin once, `stop` notes how far it is.
`default_nettype none

module shell_span (
    input wire clk,
    input wire clear,
    input wire start,
    input wire stop,
    output logic [47:0] cycles
);
  logic [47:0] now;
  logic running;

  always_ff @(posedge clk) begin
    if (running) now <= now + 1'b1;
    else now <= 48'd1;
    running <= running || start;
    if (stop && running) cycles <= now;
    if (clear) begin
      running <= 1'b0;
      cycles <= '0;
    end
  end
endmodule

`default_nettype wire
