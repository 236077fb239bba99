// Synchronous stream FIFO with a registered output: a word that meets an empty FIFO leaves one cycle later.
// Holds DEPTH words in distributed RAM and one in the output register; one word a cycle in and out at the same time.
// No path is combinational from input to output: s_axis_tready is a register, m_axis_* are registers.
`default_nettype none

module stream_fifo #(
    // Bits of tdata.
    parameter int WIDTH = 8,
    // Words in RAM, a power of two of at least 2; beyond some 64 words block RAM would be cheaper.
    parameter int DEPTH = 16
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output logic s_axis_tready,
    input wire [WIDTH-1:0] s_axis_tdata,
    input wire s_axis_tlast,

    output logic m_axis_tvalid,
    input wire m_axis_tready,
    output logic [WIDTH-1:0] m_axis_tdata,
    output logic m_axis_tlast
);
  if (WIDTH < 1) begin : g_width
    $error("stream_fifo: WIDTH must be at least 1");
  end
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) begin : g_depth
    $error("stream_fifo: DEPTH must be a power of two of at least 2");
  end

  localparam int ADDRESS = $clog2(DEPTH);

  logic [WIDTH:0] memory[DEPTH];
  logic [ADDRESS-1:0] write_address, read_address;
  logic [ADDRESS:0] fill;
  logic empty;  // fill == 0, as a register

  // A word goes to the output register when that is free: out of RAM, or straight from the input past an empty RAM.
  wire take = s_axis_tvalid && s_axis_tready;
  wire load = !m_axis_tvalid || m_axis_tready;
  wire read = load && !empty;
  wire keep = take && !(load && empty);

  always_ff @(posedge clk) begin
    // The word is written even when it passes by: its place is free, and only `keep` moves the address.
    if (take) memory[write_address] <= {s_axis_tlast, s_axis_tdata};
    if (load) {m_axis_tlast, m_axis_tdata} <= empty ? {s_axis_tlast, s_axis_tdata} : memory[read_address];
  end

  always_ff @(posedge clk) begin
    if (keep) write_address <= write_address + 1'b1;
    if (read) read_address <= read_address + 1'b1;
    if (load) m_axis_tvalid <= take || !empty;
    if (keep != read) fill <= fill + {{ADDRESS{!keep}}, 1'b1};  // plus or minus one with one adder
    if (keep && !read) begin
      empty <= 1'b0;
      s_axis_tready <= fill != (ADDRESS + 1)'(DEPTH - 1);
    end
    if (read && !keep) begin
      empty <= fill == (ADDRESS + 1)'(1);
      s_axis_tready <= 1'b1;
    end
    if (rst) begin
      write_address <= '0;
      read_address <= '0;
      m_axis_tvalid <= 1'b0;
      fill <= '0;
      empty <= 1'b1;
      s_axis_tready <= 1'b1;
    end
  end
endmodule

`default_nettype wire
