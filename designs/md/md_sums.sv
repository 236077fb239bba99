// Sums of forces in one or two sets of WORDS words: a force is added to a word each cycle, to the same word again in any
// later cycle; a word is taken, which makes it zero. `taken` is there two cycles after `take`. Of one set nothing is
// taken while additions are on their way: from the fourth cycle after the last `add` on, and added to from the second
// cycle after `take` on. With two sets one may be added to while the other is emptied.
//
// An addition takes four cycles: read, register, add, write. Sums on their way are used instead of what was read: that of
// the addition before, or else of one of the two before that, which wait in a register of their own. Nothing but a
// register follows the memory, for block RAM is slow.
`default_nettype none

module md_sums #(
    // Words of a set, any number.
    parameter int WORDS = 2048,
    // Bits of a sum; a word has three.
    parameter int SUM = 36,
    // 1 or 2.
    parameter int SETS = 1,
    // Whether the memory is to be of the large kind (UltraRAM), where there is one.
    parameter bit HUGE = 0,
    // Bits of an address; derived.
    parameter int ADDRESS = WORDS > 1 ? $clog2(WORDS) : 1
) (
    input wire clk,
    input wire rst,

    input wire add,
    input wire add_set,
    input wire [ADDRESS-1:0] address,
    input wire [3*SUM-1:0] addends,

    input wire take,
    input wire take_set,
    input wire [ADDRESS-1:0] take_address,
    output logic [3*SUM-1:0] taken
);
  if (SETS < 1 || SETS > 2) begin : g_sets
    $error("md_sums: SETS must be 1 or 2");
  end

  localparam int WIDTH = 3 * SUM;

  // Additions by stage: 1 the word comes out of the memory, 2 it is added to, 3 the sum is written, 4 it is old.
  logic add1, add2, add3, set1, set2, set3;
  logic [ADDRESS-1:0] address1, address2, address3;
  logic same1, same2, same3, same1_2, older_2;  // as the addition one, two, three cycles before
  logic [WIDTH-1:0] addends1, addends2, value2, older2, sums3, sums4;

  logic take1, take_set1;
  logic [ADDRESS-1:0] take_address1;
  wire [WIDTH-1:0] read0, read1;

  always_ff @(posedge clk) begin
    add1 <= add;
    add2 <= add1;
    add3 <= add2;
    set1 <= add_set;
    set2 <= set1;
    set3 <= set2;
    address1 <= address;
    address2 <= address1;
    address3 <= address2;
    same1 <= add1 && add_set == set1 && address == address1;
    same2 <= add2 && add_set == set2 && address == address2;
    same3 <= add3 && add_set == set3 && address == address3;
    same1_2 <= same1;
    older_2 <= same2 || same3;

    addends1 <= addends;
    addends2 <= addends1;
    value2 <= set1 ? read1 : read0;
    older2 <= same2 ? sums3 : sums4;
    sums4 <= sums3;

    take1 <= take;
    take_set1 <= take_set;
    take_address1 <= take_address;
    taken <= take_set1 ? read1 : read0;

    if (rst) begin
      add1  <= 1'b0;
      add2  <= 1'b0;
      add3  <= 1'b0;
      take1 <= 1'b0;
    end
  end

  for (genvar i = 0; i < 3; i++) begin : g_sum
    wire [SUM-1:0] present =
        same1_2 ? sums3[i*SUM+:SUM] : older_2 ? older2[i*SUM+:SUM] : value2[i*SUM+:SUM];
    always_ff @(posedge clk) sums3[i*SUM+:SUM] <= present + addends2[i*SUM+:SUM];
  end

  for (genvar s = 0; s < SETS; s++) begin : g_set
    localparam bit SET = s != 0;
    logic [WIDTH-1:0] read;

    wire taking = take && (SETS == 1 || take_set == SET);
    wire zeroing = take1 && (SETS == 1 || take_set1 == SET);
    wire adding = add3 && (SETS == 1 || set3 == SET);
    wire [ADDRESS-1:0] read_address = taking ? take_address : address;
    wire [ADDRESS-1:0] write_address = zeroing ? take_address1 : address3;

    wire write = zeroing || adding;
    wire [WIDTH-1:0] write_data = zeroing ? '0 : sums3;

    if (HUGE) begin : g_huge
      (* no_rw_check, ram_style = "huge" *) logic [WIDTH-1:0] memory[WORDS];
      always_ff @(posedge clk) begin
        read <= memory[read_address];
        if (write) memory[write_address] <= write_data;
      end
    end else begin : g_block
      (* no_rw_check *) logic [WIDTH-1:0] memory[WORDS];
      always_ff @(posedge clk) begin
        read <= memory[read_address];
        if (write) memory[write_address] <= write_data;
      end
    end
  end
  assign read0 = g_set[0].read;
  if (SETS == 1) begin : g_one
    assign read1 = read0;
  end else begin : g_two
    assign read1 = g_set[1].read;
  end
endmodule

`default_nettype wire
