// The queue between the filters and the force pipeline. A particle of the stream is queued once, with the mask of the
// filters that let it pass; at the other end one pair a cycle comes out, the lowest filter of the mask first. One
// memory serves all filters, no pair waits for a turn, and the pairs stay in the order of the stream.
//
// A word passes the block RAM's output, a register, and the mask's register. `room` is low while fewer than MARGIN words
// are free, which is more than what may be on its way when it falls.
`default_nettype none

module md_queue #(
    // Filters.
    parameter int FILTERS = 8,
    // Bits of a particle.
    parameter int DATA = 96,
    // Words, a power of two.
    parameter int WORDS = 512,
    // Words that may still come after `room` fell.
    parameter int MARGIN = 16,
    // Derived.
    parameter int INDEX = FILTERS > 1 ? $clog2(FILTERS) : 1
) (
    input wire clk,
    input wire rst,

    input wire push,
    // May be zero with `push_last`.
    input wire [FILTERS-1:0] push_mask,
    input wire push_last,
    input wire [DATA-1:0] push_data,
    output logic room,

    output logic pair_valid,
    output logic [INDEX-1:0] pair_index,
    // Nothing of the unit comes after this; with or without a pair.
    output logic pair_last,
    output logic [DATA-1:0] pair_data
);
  if (WORDS < 2 * MARGIN || (WORDS & (WORDS - 1)) != 0) begin : g_words
    $error("md_queue: WORDS must be a power of two of at least twice MARGIN");
  end

  localparam int ADDRESS = $clog2(WORDS);
  localparam int WIDTH = FILTERS + 1 + DATA;
  localparam int COUNT = $clog2(FILTERS + 2);

  (* no_rw_check *) logic [WIDTH-1:0] memory[WORDS];
  logic [ADDRESS-1:0] write_address, read_address;
  logic [ADDRESS:0] fill;
  logic filled;  // fill != 0

  // Words on their way out: 1 at the memory's output, 2 registered, 3 being taken apart.
  logic valid1, valid2, valid3, last2, last3, more3;
  logic [WIDTH-1:0] word1;
  logic [FILTERS-1:0] mask2, mask3;
  logic [DATA-1:0] data2, data3;

  // `more3`: valid, and another pair comes after the one at hand. From a count, for it enables all that is before.
  logic [COUNT-1:0] left3, count2;
  wire enable3 = !more3;
  wire enable2 = !valid2 || enable3;
  wire enable1 = !valid1 || enable2;
  wire read = filled && enable1;

  always_ff @(posedge clk) begin
    if (push) memory[write_address] <= {push_mask, push_last, push_data};
    if (enable1) word1 <= memory[read_address];
    if (enable2) {mask2, last2, data2} <= word1;
    if (enable3) {mask3, last3, data3} <= {mask2, last2, data2};
    else mask3 <= mask3 & (mask3 - 1'b1);
    left3 <= enable3 ? count2 : left3 - 1'b1;
  end

  always_comb begin
    count2 = '0;
    for (int f = 0; f < FILTERS; f++) count2 = count2 + COUNT'(mask2[f]);
  end

  always_ff @(posedge clk) begin
    if (push) write_address <= write_address + 1'b1;
    if (read) read_address <= read_address + 1'b1;
    if (push != read) begin
      fill   <= fill + {{ADDRESS{!push}}, 1'b1};  // plus or minus one with one adder
      filled <= push || fill != (ADDRESS + 1)'(1);
    end
    room <= fill <= (ADDRESS + 1)'(WORDS - MARGIN);
    if (enable1) valid1 <= filled;
    if (enable2) valid2 <= valid1;
    if (enable3) valid3 <= valid2;
    more3 <= enable3 ? valid2 && count2 > COUNT'(1) : left3 > COUNT'(2);
    if (rst) begin
      write_address <= '0;
      read_address <= '0;
      fill <= '0;
      filled <= 1'b0;
      room <= 1'b0;
      valid1 <= 1'b0;
      valid2 <= 1'b0;
      valid3 <= 1'b0;
      more3 <= 1'b0;
    end
  end

  logic [INDEX-1:0] lowest;
  always_comb begin
    lowest = '0;
    for (int f = FILTERS - 1; f >= 0; f--) if (mask3[f]) lowest = INDEX'(f);
  end

  always_ff @(posedge clk) begin
    pair_valid <= valid3 && mask3 != '0;
    pair_last  <= valid3 && last3 && !more3;
    pair_index <= lowest;
    pair_data  <= data3;
    if (rst) begin
      pair_valid <= 1'b0;
      pair_last  <= 1'b0;
    end
  end
endmodule

`default_nettype wire
