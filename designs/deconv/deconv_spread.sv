// One dimension of deconv_place: D outputs from `first` on, `stride` apart, in a row of banks of which bank
// (o + floor(o / T)) mod T at block floor(o / T) holds output o. They lie in as many different banks: for T > 1
// the stride must be 1 or 2. For each bank: whether it gets one of them (`hit`), which (`index`), and whether in the
// block after that of `first` (`after`). With `flat` there is one output, in bank `bank`, and a block for each output.
//
// block: cycle 1; hit, index, after: cycle 2.
`default_nettype none

module deconv_spread #(
    // Banks, a power of two.
    parameter int T = 4,
    // Outputs, a power of two.
    parameter int D = 2,
    // Bits of the number of a bank and of an output; derived.
    parameter int BANK = T > 1 ? $clog2(T) : 1,
    parameter int INDEX = D > 1 ? $clog2(D) : 1
) (
    input wire clk,

    input wire flat,
    input wire [BANK-1:0] bank,
    // The outputs lie a stride apart in the banks of partial sums; else there is only one.
    input wire alone,
    input wire [2:0] stride,
    input wire [9:0] outputs,
    input wire [11:0] first,

    output logic [11:0] block,
    output logic [T-1:0] hit,
    output logic [T*INDEX-1:0] index,
    output logic [T-1:0] after
);
  localparam int SHIFT = $clog2(T);

  logic [11:0] first1;
  wire [11:0] block_of_first = first1 >> SHIFT;
  always_ff @(posedge clk) begin
    first1 <= first;
    block  <= flat ? first : first >> SHIFT;
  end

  // Of each output: is it one, its bank, and its block.
  wire [D-1:0] exists, beyond;
  wire [D*BANK-1:0] banks;

  for (genvar u = 0; u < D; u++) begin : g_output
    localparam logic [11:0] U = u[11:0];
    wire [11:0] step = (stride[0] ? U : '0) + (stride[1] ? U << 1 : '0) + (stride[2] ? U << 2 : '0);
    wire [11:0] o = first1 + step;
    wire [11:0] block_of_o = o >> SHIFT;
    wire [11:0] turned = o + block_of_o;
    assign exists[u] = o < {2'b00, outputs} && (u == 0 || !(alone || flat));
    assign beyond[u] = block_of_o != block_of_first;
    assign banks[u*BANK+:BANK] = flat ? bank : T > 1 ? turned[BANK-1:0] : '0;
    wire unused = &{1'b0, turned};
  end

  for (genvar b = 0; b < T; b++) begin : g_bank
    logic found, later;
    logic [INDEX-1:0] which;

    always_comb begin
      found = 1'b0;
      later = 1'b0;
      which = '0;
      for (int u = 0; u < D; u++) begin
        if (exists[u] && banks[u*BANK+:BANK] == b[BANK-1:0]) begin
          found = 1'b1;
          later = beyond[u] && !flat;
          which = u[INDEX-1:0];
        end
      end
    end

    always_ff @(posedge clk) begin
      hit[b] <= found;
      after[b] <= later;
      index[b*INDEX+:INDEX] <= which;
    end
  end
endmodule

`default_nettype wire
