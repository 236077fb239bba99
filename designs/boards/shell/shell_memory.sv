// Block RAM: one write and one read a cycle. `read` fetches the word at `read_address`, `move` hands on what was fetched
// before, so that with both held high `read_data` is of two cycles before. A word that is being written reads as anything.
`default_nettype none

module shell_memory #(
    // Bits of a word.
    parameter int WIDTH = 8,
    // Words.
    parameter int DEPTH = 512,
    // Bits of an address; derived.
    parameter int ADDRESS = $clog2(DEPTH)
) (
    input wire clk,
    input wire write,
    input wire [ADDRESS-1:0] write_address,
    input wire [WIDTH-1:0] write_data,
    input wire read,
    input wire [ADDRESS-1:0] read_address,
    input wire move,
    output logic [WIDTH-1:0] read_data
);
  if (WIDTH < 1 || DEPTH < 2) begin : g_size
    $error("shell_memory: WIDTH must be at least 1 and DEPTH at least 2");
  end

  logic [WIDTH-1:0] word;  // block RAM is slow: nothing follows it but a register

  (* no_rw_check *) logic [WIDTH-1:0] memory[DEPTH];

  always_ff @(posedge clk) begin
    if (write) memory[write_address] <= write_data;
    if (read) word <= memory[read_address];
    if (move) read_data <= word;
  end
endmodule

`default_nettype wire
