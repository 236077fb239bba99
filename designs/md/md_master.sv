// State of the particles, in two halves of WORDS: a step reads one and writes the other. A read takes three cycles.
`default_nettype none

module md_master #(
    // Words of a half, any number.
    parameter int WORDS = 2048,
    // Bits of a particle.
    parameter int BITS = 192,
    // As in md_memory.
    parameter bit HUGE = 0,
    // Derived.
    parameter int ADDRESS = $clog2(WORDS)
) (
    input wire clk,

    input wire write,
    input wire write_half,
    input wire [ADDRESS-1:0] write_address,
    input wire [BITS-1:0] write_data,

    input wire read_half,
    input wire [ADDRESS-1:0] read_address,
    output wire [BITS-1:0] read_data
);
  localparam int WHOLE = $clog2(2 * WORDS);

  logic write_late;
  logic [BITS-1:0] data_late;
  logic [WHOLE-1:0] write_at, read_at;

  always_ff @(posedge clk) begin
    write_late <= write;
    data_late <= write_data;
    write_at <= WHOLE'(write_address) + (write_half ? WHOLE'(WORDS) : '0);
    read_at <= WHOLE'(read_address) + (read_half ? WHOLE'(WORDS) : '0);
  end

  md_memory #(
      .WORDS(2 * WORDS),
      .BITS (BITS),
      .HUGE (HUGE)
  ) u_memory (
      .clk(clk),
      .write(write_late),
      .write_address(write_at),
      .write_data(data_late),
      .read_address(read_at),
      .read_data(read_data)
  );
endmodule

`default_nettype wire
