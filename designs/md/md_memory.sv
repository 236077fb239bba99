// A memory: one write and one read a cycle; `read_data` is the word at `read_address` two cycles before, of before a
// write in that cycle.
`default_nettype none

module md_memory #(
    // Words, any number.
    parameter int WORDS = 64,
    // Bits of a word.
    parameter int BITS = 32,
    // 1: in the larger RAM blocks of parts that have them, such as UltraRAM; else in ordinary block RAM.
    parameter bit HUGE = 0,
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

  logic [BITS-1:0] word;  // block RAM is slow: nothing follows it but a register

  // The attribute is a constant of the source: two memories, of which one is there.
  if (HUGE) begin : g_huge
    (* no_rw_check, ram_style = "huge" *) logic [BITS-1:0] memory[WORDS];
    always_ff @(posedge clk) begin
      if (write) memory[write_address] <= write_data;
      word <= memory[read_address];
    end
  end else begin : g_block
    (* no_rw_check *) logic [BITS-1:0] memory[WORDS];
    always_ff @(posedge clk) begin
      if (write) memory[write_address] <= write_data;
      word <= memory[read_address];
    end
  end

  always_ff @(posedge clk) read_data <= word;
endmodule

`default_nettype wire
