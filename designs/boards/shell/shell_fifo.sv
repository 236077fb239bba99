// Stream FIFO in block RAM; one word a cycle in and out at the same time. Two more words wait behind the memory.
// s_valid to m_valid takes three cycles. s_ready is a register; m_data and m_valid are registers.
`default_nettype none

module shell_fifo #(
    // Bits of a word.
    parameter int WIDTH = 8,
    // Words in the memory, a power of two of at least 2.
    parameter int DEPTH = 512
) (
    input wire clk,
    input wire rst,

    input wire s_valid,
    output logic s_ready,
    input wire [WIDTH-1:0] s_data,

    output logic m_valid,
    input wire m_ready,
    output wire [WIDTH-1:0] m_data
);
  if (DEPTH < 2 || (DEPTH & (DEPTH - 1)) != 0) begin : g_depth
    $error("shell_fifo: DEPTH must be a power of two of at least 2");
  end

  localparam int ADDRESS = $clog2(DEPTH);

  logic [ADDRESS-1:0] write_address, read_address;
  logic [ADDRESS:0] fill;
  logic empty, read_valid;

  wire put = s_valid && s_ready;
  wire load = !m_valid || m_ready;
  wire fetch = !read_valid || load;
  wire take = fetch && !empty;

  shell_memory #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) u_memory (
      .clk(clk),
      .write(put),
      .write_address(write_address),
      .write_data(s_data),
      .read(fetch),
      .read_address(read_address),
      .move(load),
      .read_data(m_data)
  );

  always_ff @(posedge clk) begin
    if (put) write_address <= write_address + 1'b1;
    if (take) read_address <= read_address + 1'b1;
    if (fetch) read_valid <= !empty;
    if (load) m_valid <= read_valid;
    if (put != take) fill <= fill + {{ADDRESS{!put}}, 1'b1};  // plus or minus one with one adder
    if (put && !take) begin
      empty <= 1'b0;
      s_ready <= fill != (ADDRESS + 1)'(DEPTH - 1);
    end
    if (take && !put) begin
      empty <= fill == (ADDRESS + 1)'(1);
      s_ready <= 1'b1;
    end
    if (rst) begin
      write_address <= '0;
      read_address <= '0;
      read_valid <= 1'b0;
      m_valid <= 1'b0;
      fill <= '0;
      empty <= 1'b1;
      s_ready <= 1'b1;
    end
  end
endmodule

`default_nettype wire
