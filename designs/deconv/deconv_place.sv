// Writes DZ x DR x DC neighbouring outputs of one phase, TM channels of each, into the banks of an activation memory:
// the address is base + block_z * stride_z + block_r * stride_r + block_c * stride_c, banks and blocks as in
// deconv_spread. Merged: word w of a position lies in z-bank `bank` = w mod TZ, and z has a block for each position.
//
// All in one cycle, PLACE = 5 cycles after `valid`; a tag comes along.
`default_nettype none

module deconv_place #(
    // Bits of the channels of an output.
    parameter int WIDTH = 32,
    // Banks along z, powers of two.
    parameter int TZ = 2,
    // Banks along rows.
    parameter int TR = 2,
    // Banks along columns.
    parameter int TC = 2,
    // Outputs along z, powers of two.
    parameter int DZ = 1,
    // Outputs along rows.
    parameter int DR = 2,
    // Outputs along columns.
    parameter int DC = 2,
    // Bits of an address.
    parameter int ADDRESS = 10,
    // Bits of the tag.
    parameter int TAG = 1,
    // Bits of a bank along z; derived.
    parameter int BZ = TZ > 1 ? $clog2(TZ) : 1
) (
    input wire clk,
    input wire rst,

    // Constant while anything is in flight.
    input wire merged_in,
    input wire merged_out,
    input wire [2:0] stride,
    input wire [2:0] stride_z,
    input wire [9:0] out_z,
    input wire [9:0] out_r,
    input wire [9:0] out_c,
    input wire [ADDRESS-1:0] out_stride_z,
    input wire [ADDRESS-1:0] out_stride_r,
    input wire [ADDRESS-1:0] out_stride_c,

    input wire valid,
    input wire [TAG-1:0] tag,
    input wire [BZ-1:0] bank,
    input wire [ADDRESS-1:0] base,
    input wire [11:0] z,
    input wire [11:0] r,
    input wire [11:0] c,
    input wire [DZ*DR*DC*WIDTH-1:0] values,

    output wire out_valid,
    output wire [TAG-1:0] out_tag,
    output logic [TZ*TR*TC-1:0] write_enable,
    output logic [TZ*TR*TC*ADDRESS-1:0] write_address,
    output logic [TZ*TR*TC*WIDTH-1:0] write_data
);
  localparam int BR = TR > 1 ? $clog2(TR) : 1, BC = TC > 1 ? $clog2(TC) : 1;
  localparam int IZ = DZ > 1 ? $clog2(DZ) : 1, IR = DR > 1 ? $clog2(DR) : 1, IC = DC > 1 ? $clog2(DC) : 1;

  logic [4:0] valid_line;  // the youngest lowest
  always_ff @(posedge clk) begin
    valid_line <= {valid_line[3:0], valid};
    if (rst) valid_line <= '0;
  end
  assign out_valid = valid_line[4];

  delay #(
      .WIDTH (TAG),
      .STAGES(5)
  ) u_tag (
      .clk(clk),
      .in (tag),
      .out(out_tag)
  );

  // Cycles 1 and 2: blocks and banks by dimension.
  wire [11:0] block_z, block_r, block_c;
  wire [TZ-1:0] hit_z, after_z;
  wire [TR-1:0] hit_r, after_r;
  wire [TC-1:0] hit_c, after_c;
  wire [TZ*IZ-1:0] index_z;
  wire [TR*IR-1:0] index_r;
  wire [TC*IC-1:0] index_c;
  logic [BZ-1:0] bank1;
  always_ff @(posedge clk) bank1 <= bank;

  deconv_spread #(
      .T(TZ),
      .D(DZ)
  ) u_z (
      .clk(clk),
      .flat(merged_out),
      .bank(bank1),
      .alone(merged_in),
      .stride(stride_z),
      .outputs(out_z),
      .first(z),
      .block(block_z),
      .hit(hit_z),
      .index(index_z),
      .after(after_z)
  );

  deconv_spread #(
      .T(TR),
      .D(DR)
  ) u_r (
      .clk(clk),
      .flat(1'b0),
      .bank({BR{1'b0}}),
      .alone(1'b0),
      .stride(stride),
      .outputs(out_r),
      .first(r),
      .block(block_r),
      .hit(hit_r),
      .index(index_r),
      .after(after_r)
  );

  deconv_spread #(
      .T(TC),
      .D(DC)
  ) u_c (
      .clk(clk),
      .flat(1'b0),
      .bank({BC{1'b0}}),
      .alone(1'b0),
      .stride(stride),
      .outputs(out_c),
      .first(c),
      .block(block_c),
      .hit(hit_c),
      .index(index_c),
      .after(after_c)
  );

  // Cycles 2 to 4: addresses of (z, r, c), each in its block or the one after it.
  logic [ADDRESS-1:0] base1, product_z2, product_r2, product_c2, base2, sum_a3, sum_b3;
  logic [8*ADDRESS-1:0] steps, addresses4;
  wire [ADDRESS-1:0] cut_z = ADDRESS'(block_z), cut_r = ADDRESS'(block_r), cut_c = ADDRESS'(block_c);
  wire unused = &{1'b0, block_z, block_r, block_c};

  always_ff @(posedge clk) begin
    base1 <= base;
    base2 <= base1;
    product_z2 <= cut_z * out_stride_z;
    product_r2 <= cut_r * out_stride_r;
    product_c2 <= cut_c * out_stride_c;
    sum_a3 <= base2 + product_z2;
    sum_b3 <= product_r2 + product_c2;
    for (int i = 0; i < 8; i++) begin
      steps[i*ADDRESS+:ADDRESS] <=
          (i[2] ? out_stride_z : '0) + (i[1] ? out_stride_r : '0) + (i[0] ? out_stride_c : '0);
    end
  end

  wire [ADDRESS-1:0] sum3 = sum_a3 + sum_b3;
  for (genvar i = 0; i < 8; i++) begin : g_address
    always_ff @(posedge clk) addresses4[i*ADDRESS+:ADDRESS] <= sum3 + steps[i*ADDRESS+:ADDRESS];
  end

  // Cycles 3 to 5: values into their banks, columns first.
  wire [DZ*DR*DC*WIDTH-1:0] values2;
  logic [DZ*DR*TC*WIDTH-1:0] values3;
  logic [DZ*TR*TC*WIDTH-1:0] values4;
  logic [TZ-1:0] hit_z3, hit_z4, after_z3, after_z4;
  logic [TR-1:0] hit_r3, hit_r4, after_r3, after_r4;
  logic [TC-1:0] hit_c3, hit_c4, after_c3, after_c4;
  logic [TZ*IZ-1:0] index_z3, index_z4;
  logic [TR*IR-1:0] index_r3;

  delay #(
      .WIDTH (DZ * DR * DC * WIDTH),
      .STAGES(2)
  ) u_values (
      .clk(clk),
      .in (values),
      .out(values2)
  );

  always_ff @(posedge clk) begin
    {hit_z3, hit_r3, hit_c3, after_z3, after_r3, after_c3} <= {hit_z, hit_r, hit_c, after_z, after_r, after_c};
    {hit_z4, hit_r4, hit_c4, after_z4, after_r4, after_c4} <= {hit_z3, hit_r3, hit_c3, after_z3, after_r3, after_c3};
    index_z3 <= index_z;
    index_z4 <= index_z3;
    index_r3 <= index_r;
  end

  for (genvar l = 0; l < DZ * DR * TC; l++) begin : g_columns
    wire [IC-1:0] chosen = index_c[(l%TC)*IC+:IC];
    wire [DC*WIDTH-1:0] line = values2[(l/TC)*DC*WIDTH+:DC*WIDTH];
    always_ff @(posedge clk) begin
      values3[l*WIDTH+:WIDTH] <= line[WIDTH-1:0];
      for (int u = 1; u < DC; u++) begin
        if (chosen == u[IC-1:0]) values3[l*WIDTH+:WIDTH] <= line[u*WIDTH+:WIDTH];
      end
    end
    if (DC == 1) begin : g_one
      wire unused_choice = &{1'b0, chosen};
    end
  end

  for (genvar l = 0; l < DZ * TR * TC; l++) begin : g_rows
    wire [IR-1:0] chosen = index_r3[((l/TC)%TR)*IR+:IR];
    wire [DR*TC*WIDTH-1:0] lines = values3[(l/(TC*TR))*DR*TC*WIDTH+:DR*TC*WIDTH];
    always_ff @(posedge clk) begin
      values4[l*WIDTH+:WIDTH] <= lines[(l%TC)*WIDTH+:WIDTH];
      for (int u = 1; u < DR; u++) begin
        if (chosen == u[IR-1:0]) values4[l*WIDTH+:WIDTH] <= lines[(u*TC+l%TC)*WIDTH+:WIDTH];
      end
    end
    if (DR == 1) begin : g_one
      wire unused_choice = &{1'b0, chosen};
    end
  end

  for (genvar l = 0; l < TZ * TR * TC; l++) begin : g_bank
    localparam int Z = l / (TR * TC), R = (l / TC) % TR, C = l % TC;
    wire [IZ-1:0] chosen = index_z4[Z*IZ+:IZ];
    wire [2:0] step = {after_z4[Z], after_r4[R], after_c4[C]};

    always_ff @(posedge clk) begin
      write_enable[l] <= valid_line[3] && hit_z4[Z] && hit_r4[R] && hit_c4[C];
      write_address[l*ADDRESS+:ADDRESS] <= addresses4[step*ADDRESS+:ADDRESS];
      write_data[l*WIDTH+:WIDTH] <= values4[(l%(TR*TC))*WIDTH+:WIDTH];
      for (int u = 1; u < DZ; u++) begin
        if (chosen == u[IZ-1:0]) write_data[l*WIDTH+:WIDTH] <= values4[(u*TR*TC+l%(TR*TC))*WIDTH+:WIDTH];
      end
    end
    if (DZ == 1) begin : g_one
      wire unused_choice = &{1'b0, chosen};
    end
  end
endmodule

`default_nettype wire
