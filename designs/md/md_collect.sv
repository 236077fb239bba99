// Brings the workers' home forces together: a chain of registers, in which each worker puts its word when nothing comes
// by from those before it. One word a cycle; no wide selection however many workers there are.
`default_nettype none

module md_collect #(
    parameter int WORKERS = 4,
    // Bits of a word.
    parameter int BITS = 119
) (
    input wire clk,
    input wire rst,

    input wire [WORKERS-1:0] s_valid,
    output wire [WORKERS-1:0] s_ready,
    input wire [WORKERS*BITS-1:0] s_data,

    output wire m_valid,
    output wire [BITS-1:0] m_data,
    // Something is on its way.
    output wire busy
);
  // The word before worker w is word w; the last is the output.
  logic [WORKERS:0] valid;
  logic [(WORKERS+1)*BITS-1:0] data;

  assign s_ready = ~valid[WORKERS-1:0];
  assign m_valid = valid[WORKERS];
  assign m_data = data[WORKERS*BITS+:BITS];
  assign busy = |valid;

  assign valid[0] = 1'b0;
  assign data[BITS-1:0] = '0;

  for (genvar w = 0; w < WORKERS; w++) begin : g_worker
    always_ff @(posedge clk) begin
      valid[w+1] <= (valid[w] || s_valid[w]) && !rst;
      data[(w+1)*BITS+:BITS] <= valid[w] ? data[w*BITS+:BITS] : s_data[w*BITS+:BITS];
    end
  end
endmodule

`default_nettype wire
