// The register map as it is read: `word` is the register at `index` two cycles after `sample`, and stays until the next.
// The upper half of a long counter is of when its lower half was sampled. `index` must not change in the cycle before
// `sample`. FLAGS stay until cleared.
`default_nettype none

module shell_registers #(
    // Words 0 to 17: identification, as designs.boards.frames.identification writes them, word 0 lowest.
    parameter logic [575:0] IDENTIFICATION = '0
) (
    input wire clk,
    input wire rst,
    input wire clear,

    input wire [7:0] index,
    input wire sample,
    output logic [31:0] word,

    input wire [6:0] flags,
    input wire hold,
    input wire written,
    input wire [7:0] last_tag,
    input wire [31:0] frames_ok,
    input wire [31:0] frames_bad,
    input wire [31:0] words_in,
    input wire [31:0] words_out,
    input wire [31:0] items_in,
    input wire [31:0] items_out,
    input wire [47:0] cycles,
    input wire [47:0] steady,
    input wire [31:0] latency_min,
    input wire [31:0] latency_max,
    input wire [47:0] latency_sum,
    input wire [31:0] stall_in,
    input wire [31:0] stall_out,
    input wire [47:0] line
);
  localparam logic [1023:0] TABLE = 1024'(IDENTIFICATION);

  logic [6:0] kept;

  always_ff @(posedge clk) kept <= rst || clear ? '0 : kept | flags;

  // Identification and counters apart, so that each is quick.
  logic [31:0] fixed, counted;
  logic [15:0] upper, rest;  // of the counter that `index` is the lower half of; of the one sampled last
  logic is_fixed, is_upper, is_long;

  always_ff @(posedge clk) begin
    is_fixed <= index < 8'd18;
    fixed <= TABLE[32*index[4:0]+:32];
    is_upper <= 1'b0;
    is_long <= 1'b0;
    upper <= cycles[47:32];
    case (index)
      {2'b0, shell_constants::REG_CONTROL}: counted <= {30'd0, hold, 1'b0};
      {2'b0, shell_constants::REG_FLAGS}: counted <= {25'd0, kept};
      {2'b0, shell_constants::REG_LAST_TAG}: counted <= {23'd0, written, last_tag};
      {2'b0, shell_constants::REG_FRAMES_OK}: counted <= frames_ok;
      {2'b0, shell_constants::REG_FRAMES_BAD}: counted <= frames_bad;
      {2'b0, shell_constants::REG_WORDS_IN}: counted <= words_in;
      {2'b0, shell_constants::REG_WORDS_OUT}: counted <= words_out;
      {2'b0, shell_constants::REG_ITEMS_IN}: counted <= items_in;
      {2'b0, shell_constants::REG_ITEMS_OUT}: counted <= items_out;
      {2'b0, shell_constants::REG_CYCLES_LO}: counted <= cycles[31:0];
      {2'b0, shell_constants::REG_STEADY_LO}: counted <= steady[31:0];
      {2'b0, shell_constants::REG_LATENCY_MIN}: counted <= latency_min;
      {2'b0, shell_constants::REG_LATENCY_MAX}: counted <= latency_max;
      {2'b0, shell_constants::REG_LATENCY_SUM_LO}: counted <= latency_sum[31:0];
      {2'b0, shell_constants::REG_STALL_IN}: counted <= stall_in;
      {2'b0, shell_constants::REG_STALL_OUT}: counted <= stall_out;
      {2'b0, shell_constants::REG_LINE_LO}: counted <= line[31:0];
      default: counted <= '0;
    endcase
    case (index)
      {2'b0, shell_constants::REG_CYCLES_LO}: is_long <= 1'b1;
      {2'b0, shell_constants::REG_STEADY_LO}: {is_long, upper} <= {1'b1, steady[47:32]};
      {2'b0, shell_constants::REG_LATENCY_SUM_LO}: {is_long, upper} <= {1'b1, latency_sum[47:32]};
      {2'b0, shell_constants::REG_LINE_LO}: {is_long, upper} <= {1'b1, line[47:32]};
      {2'b0, shell_constants::REG_CYCLES_LO} + 8'd1,
      {2'b0, shell_constants::REG_STEADY_LO} + 8'd1,
      {2'b0, shell_constants::REG_LATENCY_SUM_LO} + 8'd1,
      {2'b0, shell_constants::REG_LINE_LO} + 8'd1: is_upper <= 1'b1;
      default: ;
    endcase
    if (sample) begin
      word <= is_fixed ? fixed : is_upper ? {16'd0, rest} : counted;
      if (is_long) rest <= upper;
    end
  end
endmodule

`default_nettype wire
