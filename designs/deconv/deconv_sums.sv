// One bank of partial sums: two halves of WORDS words of TM sums. In one half sums are added to, one word a cycle, the
// same word again in any later cycle; the other half is drained: a word is read and becomes zero.
//
// `taken` is there two cycles after `take`. A half may be drained from the fifth cycle after its last `add` on, and be
// added to from the second cycle after its last `take` on. `clear` makes zero the word at `clear_address` in both.
//
// An addition takes four cycles: read, register, add, write. Sums on their way are used instead of what was read: of
// the word before, when it is added; of the two before that, in the register. Kept apart in synthesis: banks are equal.
`default_nettype none

(* keep_hierarchy *)
module deconv_sums #(
    // Sums of a word.
    parameter int TM = 2,
    // Bits of a sum.
    parameter int ACC = 40,
    // Words of a half.
    parameter int WORDS = 64,
    // Bits of an address; derived.
    parameter int ADDRESS = WORDS > 1 ? $clog2(WORDS) : 1
) (
    input wire clk,
    input wire rst,

    input wire add,
    input wire half,
    input wire [ADDRESS-1:0] address,
    input wire [TM*ACC-1:0] addends,

    input wire take,
    input wire take_half,
    input wire [ADDRESS-1:0] take_address,
    output wire [TM*ACC-1:0] taken,

    input wire clear,
    input wire [ADDRESS-1:0] clear_address
);
  localparam int WIDTH = TM * ACC;

  // Additions by stage: 2 the word comes out of the memory, 3 it is added to, 4 the sum is written, 5 it is old.
  logic add2, add3, add4, half2, half3, half4;
  logic [ADDRESS-1:0] address2, address3, address4;
  logic same1, same2, same3, same1_3;  // as the addition one, two, three cycles before

  logic taken2, taken_half2;
  logic [ADDRESS-1:0] taken_address2;

  wire [WIDTH-1:0] read0, read1, sums;

  always_ff @(posedge clk) begin
    add2 <= add;
    add3 <= add2;
    add4 <= add3;
    half3 <= half2;
    half4 <= half3;
    if (add) begin
      half2 <= half;
      address2 <= address;
    end
    if (add2) address3 <= address2;
    if (add3) address4 <= address3;
    same1 <= add && add2 && half == half2 && address == address2;
    same2 <= add && add3 && half == half3 && address == address3;
    same3 <= add && add4 && half == half4 && address == address4;
    same1_3 <= same1;

    taken2 <= take;
    taken_half2 <= take_half;
    taken_address2 <= take_address;

    if (rst) begin
      add2 <= 1'b0;
      add3 <= 1'b0;
      add4 <= 1'b0;
      taken2 <= 1'b0;
    end
  end

  for (genvar m = 0; m < TM; m++) begin : g_sum
    logic [ACC-1:0] addend2, addend3, value3, sum4, sum5, out;
    wire [ACC-1:0] present = same1_3 ? sum4 : value3;
    wire [ACC-1:0] own0 = read0[m*ACC+:ACC], own1 = read1[m*ACC+:ACC];

    always_ff @(posedge clk) begin
      if (add) addend2 <= addends[m*ACC+:ACC];
      if (add2) begin
        addend3 <= addend2;
        value3  <= same2 ? sum4 : same3 ? sum5 : half2 ? own1 : own0;
      end
      if (add3) sum4 <= present + addend3;
      sum5 <= sum4;
      if (taken2) out <= taken_half2 ? own1 : own0;
    end
    assign sums[m*ACC+:ACC]  = sum4;
    assign taken[m*ACC+:ACC] = out;
  end

  for (genvar h = 0; h < 2; h++) begin : g_half
    localparam bit HALF = h != 0;
    (* no_rw_check *) logic [WIDTH-1:0] memory[WORDS];
    logic [WIDTH-1:0] read;

    wire taking = take && take_half == HALF;
    wire zeroing = taken2 && taken_half2 == HALF;
    wire adding = add4 && half4 == HALF;
    wire [ADDRESS-1:0] read_address = taking ? take_address : address;
    wire [ADDRESS-1:0] write_address = clear ? clear_address : zeroing ? taken_address2 : address4;

    always_ff @(posedge clk) begin
      if (taking || (add && half == HALF)) read <= memory[read_address];
      if (clear || zeroing || adding) memory[write_address] <= clear || zeroing ? '0 : sums;
    end
  end
  assign read0 = g_half[0].read;
  assign read1 = g_half[1].read;
endmodule

`default_nettype wire
