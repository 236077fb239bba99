// What the engine tells all workers at once, behind the registers of md_broadcast: positions and counts, and which sums
// are read. A position comes with the count of its cell; other counts are told when there is no position.
`default_nettype none

module md_bus #(
    parameter int WORKERS = 4,
    // As in md_broadcast.
    parameter int GROUP = 8,
    // Bits of an address, of a position with its kind, of a cell, of a count.
    parameter int ADDRESS = 11,
    parameter int DATA = 73,
    parameter int CELL = 6,
    parameter int COUNT = 6
) (
    input wire clk,
    input wire rst,

    input wire position,
    input wire [ADDRESS-1:0] address,
    input wire [DATA-1:0] data,
    input wire [CELL-1:0] placed_cell,
    input wire [COUNT-1:0] placed_count,
    input wire tell,
    input wire [CELL-1:0] tell_cell,
    input wire [COUNT-1:0] tell_count,
    input wire read,
    input wire [ADDRESS-1:0] read_address,

    output wire [WORKERS-1:0] pos_write,
    output wire [WORKERS*ADDRESS-1:0] pos_address,
    output wire [WORKERS*DATA-1:0] pos_data,
    output wire [WORKERS-1:0] count_write,
    output wire [WORKERS*CELL-1:0] count_cell,
    output wire [WORKERS*COUNT-1:0] count_value,
    output wire [WORKERS-1:0] sum_read,
    output wire [WORKERS*ADDRESS-1:0] sum_address
);
  localparam int FLAGS = 3;
  localparam int WORD = FLAGS + 2 * ADDRESS + DATA + CELL + COUNT;

  wire [WORD-1:0] word = {
    position ? placed_count : tell_count,
    position ? placed_cell : tell_cell,
    data,
    address,
    read_address,
    read,
    position || tell,
    position
  };
  wire [WORKERS*WORD-1:0] words;

  md_broadcast #(
      .WORKERS(WORKERS),
      .GROUP(GROUP),
      .FLAGS(FLAGS),
      .BITS(WORD)
  ) u_broadcast (
      .clk(clk),
      .rst(rst),
      .in (word),
      .out(words)
  );

  for (genvar w = 0; w < WORKERS; w++) begin : g_worker
    assign {
      count_value[w*COUNT+:COUNT],
      count_cell[w*CELL+:CELL],
      pos_data[w*DATA+:DATA],
      pos_address[w*ADDRESS+:ADDRESS],
      sum_address[w*ADDRESS+:ADDRESS],
      sum_read[w],
      count_write[w],
      pos_write[w]
    } = words[w*WORD+:WORD];
  end
endmodule

`default_nettype wire
