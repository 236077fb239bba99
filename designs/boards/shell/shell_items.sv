// Marks the first and the last word of each item in a stream of words; without a fixed length there are no items.
`default_nettype none

module shell_items #(
    // Words of an item, 0: no fixed length; at most 65535.
    parameter int WORDS = 1
) (
    input wire clk,
    input wire rst,
    input wire word,
    output logic first,
    output logic last
);
  if (WORDS < 0 || WORDS > 65535) begin : g_words
    $error("shell_items: WORDS must be from 0 to 65535");
  end

  if (WORDS < 2) begin : g_each
    always_ff @(posedge clk) begin
      first <= WORDS == 1 && word && !rst;
      last <= WORDS == 1 && word && !rst;
    end
  end else begin : g_count
    localparam int COUNT = $clog2(WORDS);
    logic [COUNT-1:0] count;
    wire at_end = count == COUNT'(WORDS - 1);

    always_ff @(posedge clk) begin
      first <= word && count == '0 && !rst;
      last <= word && at_end && !rst;
      if (word) count <= at_end ? '0 : count + 1'b1;
      if (rst) count <= '0;
    end
  end
endmodule

`default_nettype wire
