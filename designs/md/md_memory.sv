// A block RAM: one write and one read a cycle; `read_data` is the word at `read_address` two cycles before, of before a
// write in that cycle.
`default_nettype none

module md_memory #(
    // Words, any number.
    parameter int WORDS = 64,
    // Bits of a word.
    parameter int BITS = 32,
    // Bits of an address; derived.
    parameter int ADDRESS = WORDS > 1 ? $clog2(WORDS) : 1
) (
    input wire clk,
    input wire write,
    input wire [ADDRESS-1:0] write_address,
    input wire [BITS-1:0] write_data,
    input wire [ADDRESS-1:0] read_address,
    output logic [BITS-1:0] read_data
);
  if (WORDS < 1 || BITS < 1) begin : g_size
    $error("md_memory: WORDS and BITS must be at least 1");
  end

  (* no_rw_check *) logic [BITS-1:0] memory[WORDS];
  logic [BITS-1:0] word;  // block RAM is slow: nothing follows it but a register

  always_ff @(posedge clk) begin
    if (write) memory[write_address] <= write_data;
    word <= memory[read_address];
    read_data <= word;
  end
endmodule

`default_nettype wire
