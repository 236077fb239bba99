// One bank of activation memory: WORDS words of PARTS parts, each of which can be written alone. One write and one read
// a cycle; `read_data` is the word at `read_address` two cycles before, of before a write in that cycle.
`default_nettype none

module deconv_bank #(
    // Words.
    parameter int WORDS = 64,
    // Parts of a word.
    parameter int PARTS = 1,
    // Bits of a part.
    parameter int BITS = 32,
    // Bits of an address; derived.
    parameter int ADDRESS = WORDS > 1 ? $clog2(WORDS) : 1
) (
    input wire clk,
    input wire [PARTS-1:0] write,
    input wire [ADDRESS-1:0] write_address,
    input wire [PARTS*BITS-1:0] write_data,
    input wire [ADDRESS-1:0] read_address,
    output wire [PARTS*BITS-1:0] read_data
);
  if (WORDS < 1 || PARTS < 1 || BITS < 1) begin : g_size
    $error("deconv_bank: WORDS, PARTS and BITS must be at least 1");
  end

  // A memory for each part: no tool needs to know of writes to a part of a word.
  for (genvar p = 0; p < PARTS; p++) begin : g_part
    (* no_rw_check *) logic [BITS-1:0] memory[WORDS];
    logic [BITS-1:0] word, late;  // block RAM is slow: nothing follows it but a register

    always_ff @(posedge clk) begin
      if (write[p]) memory[write_address] <= write_data[p*BITS+:BITS];
      word <= memory[read_address];
      late <= word;
    end
    assign read_data[p*BITS+:BITS] = late;
  end
endmodule

`default_nettype wire
