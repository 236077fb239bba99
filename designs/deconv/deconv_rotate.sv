// Turns words along one dimension: word t goes to place (t + by) mod T, for all OUTER x INNER lines of that dimension.
// Word (o, t, i) is number (o * T + t) * INNER + i. One register; none where T is 1.
`default_nettype none

module deconv_rotate #(
    // Words of a line, a power of two.
    parameter int T = 4,
    // Lines that come one after another.
    parameter int OUTER = 1,
    // Lines that lie side by side.
    parameter int INNER = 1,
    // Bits of a word.
    parameter int WIDTH = 32,
    // Bits of a turn; derived.
    parameter int TURN = T > 1 ? $clog2(T) : 1
) (
    input wire clk,
    input wire enable,
    input wire [TURN-1:0] by,
    input wire [OUTER*T*INNER*WIDTH-1:0] in,
    output wire [OUTER*T*INNER*WIDTH-1:0] out
);
  if (T < 1 || (T & (T - 1)) != 0) begin : g_power
    $error("deconv_rotate: T must be a power of two");
  end

  localparam int ALL = OUTER * T * INNER * WIDTH;
  localparam int STEP = INNER * WIDTH;

  if (T == 1) begin : g_wire
    assign out = in;
    wire unused = &{1'b0, clk, enable, by};
  end else begin : g_turn
    wire [ALL-1:0] turned;

    // Level k turns by 2^k or not.
    for (genvar k = 0; k < TURN; k++) begin : g_level
      wire [ALL-1:0] given, moved;

      if (k == 0) begin : g_first
        assign given = in;
      end else begin : g_next
        assign given = g_level[k-1].moved;
      end
      for (genvar o = 0; o < OUTER; o++) begin : g_outer
        for (genvar t = 0; t < T; t++) begin : g_word
          localparam int FROM = (t + T - (1 << k)) % T;
          assign moved[(o*T+t)*STEP+:STEP] = by[k] ? given[(o*T+FROM)*STEP+:STEP] : given[(o*T+t)*STEP+:STEP];
        end
      end
    end
    assign turned = g_level[TURN-1].moved;

    logic [ALL-1:0] late;
    always_ff @(posedge clk) if (enable) late <= turned;
    assign out = late;
  end
endmodule

`default_nettype wire
