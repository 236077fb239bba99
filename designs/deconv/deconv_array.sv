// The multipliers of the engine: LANES = TZ * TR * TC lanes of TM * TN products, and a sum for each lane and channel
// that runs from an issue marked `first` to one marked `last`. One issue a cycle, no back-pressure.
//
// separate: every lane has a sum of its own (a position), and all lanes share the weights. merged: the TZ lanes of one
// (r, c) hold more input channels of the same position; their partial sums are added and belong to the lane of z = 0,
// and the other lanes' sums mean nothing. `merged` may change only while nothing is in flight.
//
// Lane (z, r, c) is number (z * TR + r) * TC + c. `weights`: [((m*TZ + z)*TN + n)*BITS +: BITS] when merged,
// [(m*TN + n)*BITS +: BITS] in the low part when separate. `sums`: [(lane*TM + m)*ACC +: ACC], modulo 2^ACC.
//
// LATENCY = 3 + 2 ECP5 + clog2(TN) + (TZ > 1 ? clog2(TZ) + 1 : 0) cycles after the last issue, `sum_valid` is high for one cycle
// with its tag and the sums. TREE as in deconv_lane.
`default_nettype none

module deconv_array #(
    // Bits of an activation and of a weight, two's complement.
    parameter int BITS = 16,
    // Bits of a sum.
    parameter int ACC  = 40,
    // Output channels.
    parameter int TM   = 2,
    // Input channels of a lane.
    parameter int TN   = 4,
    // Lanes along z.
    parameter int TZ   = 2,
    // Lanes along rows.
    parameter int TR   = 2,
    // Lanes along columns.
    parameter int TC   = 2,
    // Bits of the tag.
    parameter int TAG  = 8,
    // As in deconv_lane.
    parameter bit ECP5 = 0,
    // 1: for synthesis; 0: for simulators.
`ifdef VERILATOR
`ifdef SYNTHESIS_FORMS
    parameter bit TREE = 1
`else
    parameter bit TREE = 0
`endif
`else
    parameter bit TREE = 1
`endif
) (
    input wire clk,
    input wire rst,

    input wire valid,
    input wire first,
    input wire last,
    input wire merged,
    input wire [TAG-1:0] tag,
    input wire [TZ*TR*TC-1:0] mask,
    input wire [TZ*TR*TC*TN*BITS-1:0] activations,
    input wire [TM*TZ*TN*BITS-1:0] weights,

    output wire sum_valid,
    output wire [TAG-1:0] sum_tag,
    output wire [TZ*TR*TC*TM*ACC-1:0] sums
);
  if (BITS < 2 || TM < 1 || TAG < 1) begin : g_size
    $error("deconv_array: BITS must be at least 2, TM and TAG at least 1");
  end
  if (TN < 1 || TZ < 1 || TR < 1 || TC < 1 || (TN & (TN - 1)) != 0 || (TZ & (TZ - 1)) != 0 ||
      (TR & (TR - 1)) != 0 || (TC & (TC - 1)) != 0) begin : g_powers
    $error("deconv_array: TN, TZ, TR and TC must be powers of two");
  end
  if (ACC < BITS) begin : g_acc
    $error("deconv_array: ACC must be at least BITS");
  end

  localparam int PLANE = TR * TC;
  localparam int MERGE = TZ > 1 ? $clog2(TZ) + 1 : 0;
  localparam int BEFORE = (ECP5 ? 4 : 2) + $clog2(TN) + MERGE;  // registers before the running sums
  localparam int WHOLE = 2 * BITS + $clog2(TN);
  localparam int PART = WHOLE < ACC ? WHOLE : ACC;
  localparam int JOINED = PART + $clog2(TZ) < ACC ? PART + $clog2(TZ) : ACC;

  logic [BEFORE:0] valid_line, last_line;  // the youngest lowest

  always_ff @(posedge clk) begin
    valid_line <= {valid_line[BEFORE-1:0], valid};
    last_line  <= {last_line[BEFORE-1:0], last};
    if (rst) valid_line <= '0;
  end
  assign sum_valid = valid_line[BEFORE] && last_line[BEFORE];

  delay #(
      .WIDTH (TAG),
      .STAGES(BEFORE + 1)
  ) u_tag (
      .clk(clk),
      .in (tag),
      .out(sum_tag)
  );

  // The weights of the lanes of each z.
  for (genvar z = 0; z < TZ; z++) begin : g_weights
    wire [TM*TN*BITS-1:0] chosen;
    for (genvar m = 0; m < TM; m++) begin : g_channel
      assign chosen[m*TN*BITS+:TN*BITS] = merged ? weights[(m*TZ+z)*TN*BITS+:TN*BITS] : weights[m*TN*BITS+:TN*BITS];
    end
  end

  for (genvar l = 0; l < TZ * PLANE; l++) begin : g_lane
    wire [TM*PART-1:0] partial;

    deconv_lane #(
        .BITS(BITS),
        .TM  (TM),
        .TN  (TN),
        .OUT (PART),
        .ECP5(ECP5),
        .TREE(TREE)
    ) u_lane (
        .clk(clk),
        .mask(mask[l]),
        .activations(activations[l*TN*BITS+:TN*BITS]),
        .weights(g_weights[l/PLANE].chosen),
        .sums(partial)
    );
  end

  // The sum over z of the lanes at one (r, c).
  for (genvar p = 0; p < PLANE; p++) begin : g_place
    for (genvar m = 0; m < TM; m++) begin : g_channel
      wire [TZ*PART-1:0] parts;
      wire [JOINED-1:0] joined;

      for (genvar z = 0; z < TZ; z++) begin : g_part
        assign parts[z*PART+:PART] = g_lane[z*PLANE+p].partial[m*PART+:PART];
      end

      adder_tree #(
          .COUNT(TZ),
          .BITS(PART),
          .SIGNED(1),
          .LATENCY(TREE ? $clog2(TZ) : 0),
          .OUT_BITS(JOINED),
          .TREE(TREE)
      ) u_join (
          .clk (clk),
          .data(parts),
          .sum (joined)
      );
    end
  end

  if (TREE) begin : g_tree
    wire acc_first;

    delay #(
        .WIDTH (1),
        .STAGES(BEFORE)
    ) u_first (
        .clk(clk),
        .in (first),
        .out(acc_first)
    );

    for (genvar l = 0; l < TZ * PLANE; l++) begin : g_sum
      for (genvar m = 0; m < TM; m++) begin : g_channel
        wire [JOINED-1:0] addend;
        wire [ACC-1:0] wide;
        logic [ACC-1:0] acc;

        if (MERGE == 0) begin : g_own
          assign addend = g_place[l].g_channel[m].joined;
        end else begin : g_merge
          wire [PART-1:0] own;
          wire [JOINED-1:0] own_wide = {{(JOINED - PART + 1) {own[PART-1]}}, own[PART-2:0]};
          logic [JOINED-1:0] chosen;

          delay #(
              .WIDTH (PART),
              .STAGES(MERGE - 1)
          ) u_own (
              .clk(clk),
              .in (g_lane[l].partial[m*PART+:PART]),
              .out(own)
          );

          always_ff @(posedge clk) begin
            chosen <= own_wide;
            if (l < PLANE && merged) chosen <= g_place[l%PLANE].g_channel[m].joined;
          end
          assign addend = chosen;
        end

        assign wide = {{(ACC - JOINED + 1) {addend[JOINED-1]}}, addend[JOINED-2:0]};
        always_ff @(posedge clk) if (valid_line[BEFORE-1]) acc <= (acc_first ? '0 : acc) + wide;
        assign sums[(l*TM+m)*ACC+:ACC] = acc;
      end
    end
  end else begin : g_simulation
    // Finished sums wait in a ring for as long as the registers of the other form would take.
    localparam int SLOT = $clog2(BEFORE);
    logic [SLOT-1:0] slot;

    always_ff @(posedge clk) begin
      slot <= 32'(slot) == BEFORE - 1 ? '0 : slot + 1'b1;
      if (rst) slot <= '0;
    end

    for (genvar l = 0; l < TZ * PLANE; l++) begin : g_sum
      for (genvar m = 0; m < TM; m++) begin : g_channel
        wire [JOINED-1:0] joined = g_place[l%PLANE].g_channel[m].joined;
        wire [PART-1:0] own = g_lane[l].partial[m*PART+:PART];
        wire signed [ACC-1:0] wide = l < PLANE && merged ? ACC'($signed(joined)) : ACC'($signed(own));
        logic [ACC-1:0] acc, done;
        logic [ACC-1:0] ring[BEFORE];
        wire [ACC-1:0] next = (first ? '0 : acc) + wide;

        always_ff @(posedge clk) begin
          if (valid) acc <= next;
          if (valid && last) ring[slot] <= next;
          if (valid_line[BEFORE-1] && last_line[BEFORE-1]) done <= ring[slot];
        end
        assign sums[(l*TM+m)*ACC+:ACC] = done;
      end
    end
  end
endmodule

`default_nettype wire
