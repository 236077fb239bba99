// The register map as it is read: `word` is the register at `index` a cycle after `sample`, and stays until the next.
// `index` must not change in `sample` nor in the two cycles before it. The upper half of a long counter is of when its
// lower half was sampled. FLAGS stay until cleared.
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

  // Registers 16 to 39 lie side by side: first one of each four is chosen, then one of the six.
  localparam int FIRST = 16, GROUPS = 6;
  logic [32*4*GROUPS-1:0] live;

  always_comb begin
    live = '0;
    live[32*(int'(shell_constants::REG_CONTROL)-FIRST)+:32] = {30'd0, hold, 1'b0};
    live[32*(int'(shell_constants::REG_FLAGS)-FIRST)+:32] = {25'd0, kept};
    live[32*(int'(shell_constants::REG_LAST_TAG)-FIRST)+:32] = {23'd0, written, last_tag};
    live[32*(int'(shell_constants::REG_FRAMES_OK)-FIRST)+:32] = frames_ok;
    live[32*(int'(shell_constants::REG_FRAMES_BAD)-FIRST)+:32] = frames_bad;
    live[32*(int'(shell_constants::REG_WORDS_IN)-FIRST)+:32] = words_in;
    live[32*(int'(shell_constants::REG_WORDS_OUT)-FIRST)+:32] = words_out;
    live[32*(int'(shell_constants::REG_ITEMS_IN)-FIRST)+:32] = items_in;
    live[32*(int'(shell_constants::REG_ITEMS_OUT)-FIRST)+:32] = items_out;
    live[32*(int'(shell_constants::REG_CYCLES_LO)-FIRST)+:32] = cycles[31:0];
    live[32*(int'(shell_constants::REG_STEADY_LO)-FIRST)+:32] = steady[31:0];
    live[32*(int'(shell_constants::REG_LATENCY_MIN)-FIRST)+:32] = latency_min;
    live[32*(int'(shell_constants::REG_LATENCY_MAX)-FIRST)+:32] = latency_max;
    live[32*(int'(shell_constants::REG_LATENCY_SUM_LO)-FIRST)+:32] = latency_sum[31:0];
    live[32*(int'(shell_constants::REG_STALL_IN)-FIRST)+:32] = stall_in;
    live[32*(int'(shell_constants::REG_STALL_OUT)-FIRST)+:32] = stall_out;
    live[32*(int'(shell_constants::REG_LINE_LO)-FIRST)+:32] = line[31:0];
  end

  logic [32*GROUPS-1:0] one;
  logic [31:0] fixed, counted;
  logic [15:0] upper, upper_counted, rest;  // of the counter that `index` is the lower half of; of the one sampled last
  logic is_fixed, is_upper, is_long;
  wire [5:0] group = index[7:2] - 6'(FIRST / 4);

  for (genvar g = 0; g < GROUPS; g++) begin : g_group
    always_ff @(posedge clk) one[32*g+:32] <= live[32*(4*g+int'(index[1:0]))+:32];
  end

  always_ff @(posedge clk) begin
    case (index)
      {2'b0, shell_constants::REG_STEADY_LO}: upper <= steady[47:32];
      {2'b0, shell_constants::REG_LATENCY_SUM_LO}: upper <= latency_sum[47:32];
      {2'b0, shell_constants::REG_LINE_LO}: upper <= line[47:32];
      default: upper <= cycles[47:32];
    endcase
    is_long <= index == {2'b0, shell_constants::REG_CYCLES_LO} || index == {2'b0, shell_constants::REG_STEADY_LO} ||
        index == {2'b0, shell_constants::REG_LATENCY_SUM_LO} || index == {2'b0, shell_constants::REG_LINE_LO};
    is_upper <= index == {2'b0, shell_constants::REG_CYCLES_LO} + 8'd1 ||
        index == {2'b0, shell_constants::REG_STEADY_LO} + 8'd1 ||
        index == {2'b0, shell_constants::REG_LATENCY_SUM_LO} + 8'd1 ||
        index == {2'b0, shell_constants::REG_LINE_LO} + 8'd1;
    is_fixed <= index < 8'd18;
    fixed <= TABLE[32*index[4:0]+:32];
    counted <= group < 6'(GROUPS) ? one[32*group[2:0]+:32] : '0;
    upper_counted <= upper;
    if (sample) begin
      word <= is_fixed ? fixed : is_upper ? {16'd0, rest} : counted;
      if (is_long) rest <= upper_counted;
    end
  end
endmodule

`default_nettype wire
