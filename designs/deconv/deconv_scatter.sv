// Adds the sums of the array to the outputs that they reach, in LANES = TZ * TR * TC banks of partial sums. In each
// dimension outputs of one phase are numbered q, and q lies in bank q mod T at block q div T; lane l holds what belongs
// to bank (l + turn) mod T. The banks below `low` lie one block after that of `address`.
//
// Two halves: group after group they take turns, one is added to while deconv_drain empties the other. `full` tells
// for one cycle that all sums of the half's group are in the banks. After a reset the banks are made zero, one word a
// cycle, and `ready` is low until then.
//
// The tag, lowest bits first: {last of the group, half, address, low z, r, c, turn z, r, c, reached z, r, c}, where
// `reached` has a bit for each bank of that dimension: sums of other banks are dropped.
//
// drain_data comes DRAIN_READ = 3 cycles after drain_enable: the DRAIN banks from drain_group * DRAIN on.
`default_nettype none

module deconv_scatter #(
    // Bits of a sum.
    parameter int ACC = 40,
    // Sums of a lane.
    parameter int TM = 2,
    // Lanes along z, powers of two.
    parameter int TZ = 2,
    // Lanes along rows.
    parameter int TR = 2,
    // Lanes along columns.
    parameter int TC = 2,
    // Banks that are drained at a time, a power of two.
    parameter int DRAIN = 2,
    // Words of a bank and half.
    parameter int PSUM_WORDS = 64,
    // Bits of an address; derived.
    parameter int PSUM = PSUM_WORDS > 1 ? $clog2(PSUM_WORDS) : 1,
    // Bits of a bank's number in a dimension, and of a group of banks; derived.
    parameter int BZ = TZ > 1 ? $clog2(TZ) : 1,
    parameter int BR = TR > 1 ? $clog2(TR) : 1,
    parameter int BC = TC > 1 ? $clog2(TC) : 1,
    parameter int BG = TZ * TR * TC > DRAIN ? $clog2(TZ * TR * TC / DRAIN) : 1,
    // Bits of the tag; derived.
    parameter int TAG = 2 + PSUM + 2 * (BZ + BR + BC) + TZ + TR + TC
) (
    input wire clk,
    input wire rst,

    // Blocks from one slice and one row of blocks to the next; constant while anything is in flight.
    input wire [PSUM-1:0] q_plane,
    input wire [PSUM-1:0] q_row,

    input wire sum_valid,
    input wire [TAG-1:0] sum_tag,
    input wire [TZ*TR*TC*TM*ACC-1:0] sums,

    input wire drain_enable,
    input wire drain_half,
    input wire [PSUM-1:0] drain_address,
    input wire [BG-1:0] drain_group,
    output logic [DRAIN*TM*ACC-1:0] drain_data,

    output logic [1:0] full,
    output logic ready
);
  localparam int LANES = TZ * TR * TC;
  localparam int WORD = TM * ACC;

  if (PSUM_WORDS < 1 || TM < 1) begin : g_size
    $error("deconv_scatter: PSUM_WORDS and TM must be at least 1");
  end
  if (DRAIN < 1 || DRAIN > LANES || (DRAIN & (DRAIN - 1)) != 0) begin : g_drain
    $error("deconv_scatter: DRAIN must be a power of two and at most the lanes");
  end
  if ((TZ & (TZ - 1)) != 0 || (TR & (TR - 1)) != 0 || (TC & (TC - 1)) != 0) begin : g_powers
    $error("deconv_scatter: TZ, TR and TC must be powers of two");
  end

  // Turning, z first, and with it the addresses of the banks: of each z, then of each (z, r), then of each.
  wire valid1, valid2, valid3;
  wire last0, half0, last1, half1, last2, half2, last3, half3;
  wire [PSUM-1:0] address0;
  wire [BZ-1:0] low_z, turn_z;
  wire [BR-1:0] low_r0, turn_r0, low_r1, turn_r1;
  wire [BC-1:0] low_c0, turn_c0, low_c1, turn_c1, low_c2, turn_c2;
  wire [TZ-1:0] reached_z0;
  wire [TR-1:0] reached_r0, reached_r1;
  wire [TC-1:0] reached_c0, reached_c1, reached_c2;
  wire [LANES*WORD-1:0] sums1, sums2, sums3;
  wire [TZ*PSUM-1:0] address_z, address1;
  wire [TZ*TR*PSUM-1:0] address_r, address2;
  wire [LANES*PSUM-1:0] address_c, address3;
  wire [TZ-1:0] reached1;
  wire [TZ*TR-1:0] reached_zr, reached2;
  wire [LANES-1:0] reached_zrc, reached3;

  assign {reached_c0, reached_r0, reached_z0, turn_c0, turn_r0, turn_z, low_c0, low_r0, low_z, address0, half0, last0} =
      sum_tag;

  for (genvar z = 0; z < TZ; z++) begin : g_z
    wire after_z = z < TZ - 1 && low_z > z[BZ-1:0];
    assign address_z[z*PSUM+:PSUM] = address0 + (after_z ? q_plane : '0);
    for (genvar r = 0; r < TR; r++) begin : g_r
      localparam int ZR = z * TR + r;
      wire after_r = r < TR - 1 && low_r1 > r[BR-1:0];
      assign address_r[ZR*PSUM+:PSUM] = address1[z*PSUM+:PSUM] + (after_r ? q_row : '0);
      assign reached_zr[ZR] = reached1[z] && reached_r1[r];
      for (genvar c = 0; c < TC; c++) begin : g_c
        localparam int ZRC = ZR * TC + c;
        wire after_c = c < TC - 1 && low_c2 > c[BC-1:0];
        assign address_c[ZRC*PSUM+:PSUM] = address2[ZR*PSUM+:PSUM] + {{(PSUM - 1) {1'b0}}, after_c};
        assign reached_zrc[ZRC] = reached2[ZR] && reached_c2[c];
      end
    end
  end

  deconv_rotate #(
      .T(TZ),
      .INNER(TR * TC),
      .WIDTH(WORD)
  ) u_turn_z (
      .clk(clk),
      .enable(sum_valid),
      .by(turn_z),
      .in(sums),
      .out(sums1)
  );

  deconv_rotate #(
      .T(TR),
      .OUTER(TZ),
      .INNER(TC),
      .WIDTH(WORD)
  ) u_turn_r (
      .clk(clk),
      .enable(valid1),
      .by(turn_r1),
      .in(sums1),
      .out(sums2)
  );

  deconv_rotate #(
      .T(TC),
      .OUTER(TZ * TR),
      .WIDTH(WORD)
  ) u_turn_c (
      .clk(clk),
      .enable(valid2),
      .by(turn_c2),
      .in(sums2),
      .out(sums3)
  );

  delay #(
      .WIDTH (2 * BR + 2 * BC + TR + TC + 2 + TZ + TZ * PSUM),
      .STAGES(TZ > 1 ? 1 : 0)
  ) u_z (
      .clk(clk),
      .in ({reached_c0, reached_r0, turn_c0, turn_r0, low_c0, low_r0, half0, last0, reached_z0, address_z}),
      .out({reached_c1, reached_r1, turn_c1, turn_r1, low_c1, low_r1, half1, last1, reached1, address1})
  );

  delay #(
      .WIDTH (2 * BC + TC + 2 + TZ * TR + TZ * TR * PSUM),
      .STAGES(TR > 1 ? 1 : 0)
  ) u_r (
      .clk(clk),
      .in ({reached_c1, turn_c1, low_c1, half1, last1, reached_zr, address_r}),
      .out({reached_c2, turn_c2, low_c2, half2, last2, reached2, address2})
  );

  delay #(
      .WIDTH (2 + LANES + LANES * PSUM),
      .STAGES(TC > 1 ? 1 : 0)
  ) u_c (
      .clk(clk),
      .in ({half2, last2, reached_zrc, address_c}),
      .out({half3, last3, reached3, address3})
  );

  // Valid bits, and afterwards the additions of the last sums of a group on their way: four cycles.
  localparam int STAGES = (TZ > 1 ? 1 : 0) + (TR > 1 ? 1 : 0) + (TC > 1 ? 1 : 0);
  logic [STAGES:0] valid_line;  // the youngest lowest; the first is not a register
  logic [3:0] last_line, half_line;

  assign valid_line[0] = sum_valid;
  if (STAGES > 0) begin : g_valid
    logic [STAGES-1:0] line;
    always_ff @(posedge clk) begin
      line <= valid_line[STAGES-1:0];
      if (rst) line <= '0;
    end
    assign valid_line[STAGES:1] = line;
  end
  assign valid1 = valid_line[TZ>1?1 : 0];
  assign valid2 = valid_line[(TZ>1?1 : 0)+(TR>1?1 : 0)];
  assign valid3 = valid_line[STAGES];

  always_ff @(posedge clk) begin
    last_line <= {last_line[2:0], valid3 && last3};
    half_line <= {half_line[2:0], half3};
    full <= '0;
    if (last_line[3]) full[half_line[3]] <= 1'b1;
    if (rst) begin
      last_line <= '0;
      full <= '0;
    end
  end

  // Zeros after a reset.
  logic clear;
  logic [PSUM-1:0] clear_address;

  always_ff @(posedge clk) begin
    clear_address <= clear_address + 1'b1;
    if (clear_address == PSUM'(PSUM_WORDS - 1)) clear <= 1'b0;
    ready <= !clear;
    if (rst) begin
      clear <= 1'b1;
      clear_address <= '0;
      ready <= 1'b0;
    end
  end

  // Banks.
  localparam int DRAINED = LANES / DRAIN;
  wire [LANES*WORD-1:0] taken;

  for (genvar l = 0; l < LANES; l++) begin : g_bank
    wire chosen = DRAINED == 1 || drain_group == BG'(l / DRAIN);

    deconv_sums #(
        .TM(TM),
        .ACC(ACC),
        .WORDS(PSUM_WORDS)
    ) u_sums (
        .clk(clk),
        .rst(rst),
        .add(valid3 && reached3[l]),
        .half(half3),
        .address(address3[l*PSUM+:PSUM]),
        .addends(sums3[l*WORD+:WORD]),
        .take(drain_enable && chosen),
        .take_half(drain_half),
        .take_address(drain_address),
        .taken(taken[l*WORD+:WORD]),
        .clear(clear),
        .clear_address(clear_address)
    );
  end

  wire [BG-1:0] late_group;
  delay #(
      .WIDTH (BG),
      .STAGES(2)
  ) u_group (
      .clk(clk),
      .in (drain_group),
      .out(late_group)
  );

  always_ff @(posedge clk) begin
    drain_data <= taken[DRAIN*WORD-1:0];
    for (int g = 1; g < DRAINED; g++) begin
      if (late_group == BG'(g)) drain_data <= taken[g*DRAIN*WORD+:DRAIN*WORD];
    end
  end
  if (DRAINED == 1) begin : g_whole
    wire unused = &{1'b0, drain_group, late_group};
  end
endmodule

`default_nettype wire
