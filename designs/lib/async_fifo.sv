// Stream FIFO between two clocks that have nothing to do with each other, in block RAM; one word a cycle on each side.
// A word that was written is shown to the reader only after `commit`; `cancel` takes back all words since the last one.
// Only gray pointers cross, and each moves by one step a cycle, so that a sampled pointer is the old or the new one.
//
// Both resets must come from one source and overlap. w_ready is a register and says no a few words early.
`default_nettype none

module async_fifo #(
    // Bits of a word.
    parameter int WIDTH = 8,
    // Words in the memory, a power of two of at least 8; four fewer are used.
    parameter int DEPTH = 16
) (
    input wire w_clk,
    input wire w_rst,
    input wire w_valid,
    output logic w_ready,
    input wire [WIDTH-1:0] w_data,
    // Both are about what was written in earlier cycles; tie commit high for a FIFO that shows every word.
    input wire commit,
    input wire cancel,

    input wire r_clk,
    input wire r_rst,
    output logic r_valid,
    input wire r_ready,
    output logic [WIDTH-1:0] r_data
);
  if (DEPTH < 8 || (DEPTH & (DEPTH - 1)) != 0) begin : g_depth
    $error("async_fifo: DEPTH must be a power of two of at least 8");
  end

  localparam int ADDRESS = $clog2(DEPTH);

  function automatic logic [ADDRESS:0] to_gray(input logic [ADDRESS:0] value);
    to_gray = value ^ (value >> 1);
  endfunction

  function automatic logic [ADDRESS:0] from_gray(input logic [ADDRESS:0] gray);
    for (int i = 0; i <= ADDRESS; i++) from_gray[i] = ^(gray >> i);
  endfunction

  logic [ADDRESS:0] shown_gray, read_gray;

  (* no_rw_check *) logic [WIDTH-1:0] memory[DEPTH];

  // Writer: `written` runs ahead, `committed` follows in one leap, `shown` in steps.
  logic [ADDRESS:0] written, committed, shown, freed_gray, freed_gray_met, freed, fill;

  wire put = w_valid && w_ready;
  wire step = shown != committed;

  always_ff @(posedge w_clk) begin
    if (put) memory[written[ADDRESS-1:0]] <= w_data;
  end

  always_ff @(posedge w_clk) begin
    if (put) written <= written + 1'b1;
    if (cancel) written <= committed;
    if (commit) committed <= written;
    if (step) begin
      shown <= shown + 1'b1;
      shown_gray <= to_gray(shown + 1'b1);
    end
    freed_gray_met <= read_gray;
    freed_gray <= freed_gray_met;
    freed <= from_gray(freed_gray);
    fill <= written - freed;
    w_ready <= fill < (ADDRESS + 1)'(DEPTH - 4);  // two cycles behind
    if (w_rst) begin
      written <= '0;
      committed <= '0;
      shown <= '0;
      shown_gray <= '0;
      freed_gray_met <= '0;
      freed_gray <= '0;
      freed <= '0;
      fill <= '0;
      w_ready <= 1'b0;
    end
  end

  // Reader: one word is fetched from the memory, one more waits at the output.
  logic [ADDRESS:0] read, there_gray, there_gray_met;
  logic [WIDTH-1:0] word;
  logic word_valid;

  wire there = read_gray != there_gray;
  wire load = !r_valid || r_ready;
  wire fetch = !word_valid || load;

  always_ff @(posedge r_clk) begin
    if (fetch) word <= memory[read[ADDRESS-1:0]];
  end

  always_ff @(posedge r_clk) begin
    there_gray_met <= shown_gray;
    there_gray <= there_gray_met;
    if (load) r_data <= word;
    if (load) r_valid <= word_valid;
    if (fetch) word_valid <= there;
    if (fetch && there) begin
      read <= read + 1'b1;
      read_gray <= to_gray(read + 1'b1);
    end
    if (r_rst) begin
      there_gray_met <= '0;
      there_gray <= '0;
      r_valid <= 1'b0;
      word_valid <= 1'b0;
      read <= '0;
      read_gray <= '0;
    end
  end

`ifndef SYNTHESIS
  // Without metastability in simulation nothing else would tell.
  logic [ADDRESS:0] shown_before, read_before;
  logic shown_known, read_known;

  initial {shown_known, read_known} = '0;

  always_ff @(posedge w_clk) begin
    shown_before <= shown_gray;
    shown_known  <= !w_rst;
    if (shown_known && !w_rst)
      assert ($onehot0(shown_before ^ shown_gray)) else $error("async_fifo: more than one bit of a pointer changed");
  end

  always_ff @(posedge r_clk) begin
    read_before <= read_gray;
    read_known  <= !r_rst;
    if (read_known && !r_rst)
      assert ($onehot0(read_before ^ read_gray)) else $error("async_fifo: more than one bit of a pointer changed");
  end
`endif
endmodule

`default_nettype wire
