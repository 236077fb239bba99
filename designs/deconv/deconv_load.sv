// Takes beats of COLUMNS words from the stream and writes them to activation memory; see `deconv_walk` for the order.
// A beat is taken when the memory takes it; `busy` from the start to the last one.
`default_nettype none

module deconv_load #(
    // Positions in parallel, powers of two.
    parameter int TZ = 1,
    parameter int TR = 1,
    parameter int TC = 1,
    // Words of a beat, a power of two that divides TC.
    parameter int COLUMNS = 1,
    // Bits of a word.
    parameter int WORD = 8,
    // Bits of an address.
    parameter int ADDRESS = 10,
    // Banks; derived.
    parameter int LANES = TZ * TR * TC
) (
    input wire clk,
    input wire rst,
    input wire start,
    output logic busy,

    input wire [ADDRESS-1:0] base,
    input wire [9:0] depth,
    input wire [9:0] rows,
    input wire [9:0] columns,
    input wire [11:0] words,
    input wire [ADDRESS-1:0] stride_z,
    input wire [ADDRESS-1:0] stride_r,
    input wire [ADDRESS-1:0] stride_c,
    input wire merged,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [COLUMNS*WORD-1:0] s_axis_tdata,

    output logic [LANES-1:0] write,
    output wire [ADDRESS-1:0] write_address,
    output logic [COLUMNS*WORD-1:0] write_data,
    input wire write_ready
);
  localparam int BZ = TZ > 1 ? $clog2(TZ) : 1;
  localparam int BR = TR > 1 ? $clog2(TR) : 1;
  localparam int BC = TC > 1 ? $clog2(TC) : 1;

  wire [BZ-1:0] bank_z;
  wire [BR-1:0] bank_r;
  wire [BC-1:0] bank_c;
  wire last;

  assign s_axis_tready = busy && write_ready;
  wire step = s_axis_tvalid && s_axis_tready;

  deconv_walk #(
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .COLUMNS(COLUMNS),
      .ADDRESS(ADDRESS)
  ) u_walk (
      .clk(clk),
      .start(start),
      .step(step),
      .base(base),
      .depth(depth),
      .rows(rows),
      .columns(columns),
      .words(words),
      .stride_z(stride_z),
      .stride_r(stride_r),
      .stride_c(stride_c),
      .merged(merged),
      .address(write_address),
      .bank_z(bank_z),
      .bank_r(bank_r),
      .bank_c(bank_c),
      .last(last)
  );

  always_ff @(posedge clk) begin
    busy <= !rst && (start || (busy && !(step && last)));
  end

  always_comb begin
    for (int z = 0; z < TZ; z++) begin
      for (int r = 0; r < TR; r++) begin
        for (int c = 0; c < TC; c++) begin
          // Bank c holds one of the columns when it lies less than COLUMNS behind the first one's.
          write[(z*TR+r)*TC+c] = s_axis_tvalid && busy && bank_z == z[BZ-1:0] && bank_r == r[BR-1:0]
              && ((c - 32'(bank_c)) & (TC - 1)) < COLUMNS;
        end
      end
    end
    for (int c = 0; c < COLUMNS; c++) begin
      write_data[c*WORD+:WORD] = s_axis_tdata[((c-32'(bank_c))&(COLUMNS-1))*WORD+:WORD];
    end
  end
endmodule

`default_nettype wire
