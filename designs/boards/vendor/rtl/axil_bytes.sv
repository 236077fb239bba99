// A byte port behind AXI4-Lite: what the processor writes leaves as a stream of bytes, what enters as a stream is read.
// Registers of 32 bits, by address in bytes:
//   0x10 IDENT   reads 0x42595445 ("BYTE")
//   0x14 STATUS  bytes there to be read [15:0], bytes there is room for [31:16]
//   0x18 BYTE    a write sends [7:0]; a read takes one byte
//   0x1C WORD    a write sends four bytes, a read takes four, lowest first
//   0x20 FLAGS   0: a byte was written without room and is lost, 1: a byte was read that was not there; a write clears
// Below 0x10 nothing is: there the runtime of Vitis has control registers of its own in other kernels.
// Every access is answered with OKAY within eight cycles, whatever it asks for: a bus that waits stops a processor.
// Access is by whole words; write strobes other than all ones are taken as all ones.
`default_nettype none

module axil_bytes #(
    // Bytes of each direction that are held, a power of two from 8 to 32768.
    parameter int DEPTH = 512,
    parameter int ADDRESS = 12
) (
    input wire clk,
    input wire rst,

    input wire s_axi_awvalid,
    output logic s_axi_awready,
    input wire [ADDRESS-1:0] s_axi_awaddr,
    input wire s_axi_wvalid,
    output logic s_axi_wready,
    input wire [31:0] s_axi_wdata,
    output logic s_axi_bvalid,
    input wire s_axi_bready,
    output wire [1:0] s_axi_bresp,
    input wire s_axi_arvalid,
    output logic s_axi_arready,
    input wire [ADDRESS-1:0] s_axi_araddr,
    output logic s_axi_rvalid,
    input wire s_axi_rready,
    output logic [31:0] s_axi_rdata,
    output wire [1:0] s_axi_rresp,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [7:0] m_axis_tdata,
    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [7:0] s_axis_tdata
);
  if (DEPTH < 8 || DEPTH > 32768) begin : g_depth
    $error("axil_bytes: DEPTH must be from 8 to 32768");
  end

  localparam logic [31:0] IDENT = 32'h42595445;
  localparam int FILL = $clog2(DEPTH) + 1;

  typedef logic [ADDRESS-3:0] index_t;
  localparam index_t R_IDENT = 4, R_STATUS = 5, R_BYTE = 6, R_WORD = 7, R_FLAGS = 8;

  assign s_axi_bresp = 2'b00;
  assign s_axi_rresp = 2'b00;

  // Writes: address and data come in any order; then one byte a cycle into the FIFO.
  index_t write_index;
  logic [31:0] write_data;
  logic [2:0] write_left;
  logic writing;

  wire write_both = !s_axi_awready && !s_axi_wready && !writing && !s_axi_bvalid;
  wire clear = write_both && write_index == R_FLAGS;
  wire push = writing && write_left != 3'd0;
  wire push_ready;
  logic [FILL-1:0] going;  // bytes on their way out

  always_ff @(posedge clk) begin
    if (s_axi_awvalid && s_axi_awready) write_index <= s_axi_awaddr[ADDRESS-1:2];
    if (s_axi_wvalid && s_axi_wready) write_data <= s_axi_wdata;
    else if (push) write_data <= {8'd0, write_data[31:8]};
  end

  always_ff @(posedge clk) begin
    if (s_axi_awvalid) s_axi_awready <= 1'b0;
    if (s_axi_wvalid) s_axi_wready <= 1'b0;
    if (s_axi_bvalid && s_axi_bready) begin
      s_axi_bvalid <= 1'b0;
      s_axi_awready <= 1'b1;
      s_axi_wready <= 1'b1;
    end
    if (write_both) begin
      writing <= 1'b1;
      write_left <= write_index == R_WORD ? 3'd4 : write_index == R_BYTE ? 3'd1 : 3'd0;
    end
    if (push) write_left <= write_left - 1'b1;
    if (writing && !push) begin
      writing <= 1'b0;
      s_axi_bvalid <= 1'b1;
    end
    if (rst) begin
      s_axi_awready <= 1'b1;
      s_axi_wready <= 1'b1;
      s_axi_bvalid <= 1'b0;
      writing <= 1'b0;
      write_left <= '0;
    end
  end

  wire sent = m_axis_tvalid && m_axis_tready;
  wire [FILL-1:0] free = FILL'(DEPTH) - going;
  wire keep = push && push_ready && free != '0;
  wire unused_last_out;

  stream_fifo #(.WIDTH(8), .DEPTH(DEPTH)) u_out (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(keep),
      .s_axis_tready(push_ready),
      .s_axis_tdata(write_data[7:0]),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(unused_last_out)
  );

  // Reads: bytes are gathered one a cycle, zero where none is there.
  index_t read_index;
  logic [2:0] read_left;
  logic [1:0] place;
  logic reading;
  wire take = reading && read_left != 3'd0;
  wire there;
  wire [7:0] byte_in;
  logic [FILL-1:0] waiting;  // bytes to be read
  logic lost, missing;

  always_ff @(posedge clk) begin
    if (s_axi_arvalid && s_axi_arready) read_index <= s_axi_araddr[ADDRESS-1:2];
    if (reading && !take) begin
      case (read_index)
        R_IDENT: s_axi_rdata <= IDENT;
        R_STATUS: s_axi_rdata <= {16'(free), 16'(waiting)};
        R_FLAGS: s_axi_rdata <= {30'd0, missing, lost};
        R_BYTE, R_WORD: ;
        default: s_axi_rdata <= '0;
      endcase
    end else if (take) begin
      s_axi_rdata[{place, 3'b000}+:8] <= there ? byte_in : 8'd0;
    end else if (!s_axi_rvalid) begin
      s_axi_rdata <= '0;
    end
  end

  always_ff @(posedge clk) begin
    if (s_axi_arvalid && s_axi_arready) begin
      s_axi_arready <= 1'b0;
      reading <= 1'b1;
      place <= '0;
      read_left <= s_axi_araddr[ADDRESS-1:2] == R_WORD ? 3'd4 : s_axi_araddr[ADDRESS-1:2] == R_BYTE ? 3'd1 : 3'd0;
    end
    if (take) begin
      read_left <= read_left - 1'b1;
      place <= place + 1'b1;
    end
    if (reading && !take) begin
      reading <= 1'b0;
      s_axi_rvalid <= 1'b1;
    end
    if (s_axi_rvalid && s_axi_rready) begin
      s_axi_rvalid <= 1'b0;
      s_axi_arready <= 1'b1;
    end
    if (rst) begin
      s_axi_arready <= 1'b1;
      s_axi_rvalid <= 1'b0;
      reading <= 1'b0;
      read_left <= '0;
    end
  end

  wire got = s_axis_tvalid && s_axis_tready;
  wire taken = take && there;
  wire unused_last_in;

  stream_fifo #(.WIDTH(8), .DEPTH(DEPTH)) u_in (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(s_axis_tvalid),
      .s_axis_tready(s_axis_tready),
      .s_axis_tdata(s_axis_tdata),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(there),
      .m_axis_tready(take),
      .m_axis_tdata(byte_in),
      .m_axis_tlast(unused_last_in)
  );

  always_ff @(posedge clk) begin
    if (keep != sent) going <= keep ? going + 1'b1 : going - 1'b1;
    if (got != taken) waiting <= got ? waiting + 1'b1 : waiting - 1'b1;
    if (clear) {missing, lost} <= 2'b00;
    if (push && !keep) lost <= 1'b1;
    if (take && !there) missing <= 1'b1;
    if (rst) begin
      going <= '0;
      waiting <= '0;
      {missing, lost} <= 2'b00;
    end
  end

  wire unused = &{1'b0, s_axi_awaddr[1:0], s_axi_araddr[1:0], unused_last_in, unused_last_out};
endmodule

`default_nettype wire
