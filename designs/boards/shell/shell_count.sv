// Counter of the cycles in which `seen` is high.
`default_nettype none

module shell_count (
    input wire clk,
    input wire clear,
    input wire seen,
    output logic [31:0] count
);
  always_ff @(posedge clk) begin
    if (clear) count <= '0;
    else if (seen) count <= count + 1'b1;
  end
endmodule

`default_nettype wire
