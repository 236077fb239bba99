// Stands in for the vendor's global clock buffer.
`default_nettype none

module BUFG (
    input  wire I,
    output wire O
);
  assign O = I;
endmodule

`default_nettype wire
