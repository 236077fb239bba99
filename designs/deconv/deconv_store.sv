// Reads words from activation memory and sends them as beats of COLUMNS words; see `deconv_walk` for the order. A read
// is asked for only with a place for its word, so that the stream may stall at any time. `busy` from the start until
// the last word has been read; beats may still wait to leave then.
`default_nettype none

module deconv_store #(
    // Positions in parallel, powers of two.
    parameter int TZ = 1,
    parameter int TR = 1,
    parameter int TC = 1,
    // Words of a beat, a power of two that divides TC.
    parameter int COLUMNS = 1,
    // Bits of a word.
    parameter int WORD = 8,
    // Bits of an address.
    parameter int ADDRESS = 10,
    // Cycles from an address to its data.
    parameter int READ = 2,
    // Banks; derived.
    parameter int LANES = TZ * TR * TC
) (
    input wire clk,
    input wire rst,
    input wire start,
    output logic busy,

    input wire [ADDRESS-1:0] base,
    input wire [9:0] depth,
    input wire [9:0] rows,
    input wire [9:0] columns,
    input wire [11:0] words,
    input wire [ADDRESS-1:0] stride_z,
    input wire [ADDRESS-1:0] stride_r,
    input wire [ADDRESS-1:0] stride_c,
    input wire merged,
    input wire mark_last,

    output wire [ADDRESS-1:0] read_address,
    input wire read_ready,
    input wire [LANES*WORD-1:0] read_data,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [COLUMNS*WORD-1:0] m_axis_tdata,
    output wire m_axis_tlast
);
  localparam int BZ = TZ > 1 ? $clog2(TZ) : 1;
  localparam int BR = TR > 1 ? $clog2(TR) : 1;
  localparam int BC = TC > 1 ? $clog2(TC) : 1;
  // Words that may be on their way or wait.
  localparam int DEPTH = 16;

  wire [BZ-1:0] bank_z;
  wire [BR-1:0] bank_r;
  wire [BC-1:0] bank_c;
  wire last;
  logic [4:0] credits;
  logic room;  // credits != 0

  wire step = busy && room && read_ready;

  deconv_walk #(
      .TZ(TZ),
      .TR(TR),
      .TC(TC),
      .COLUMNS(COLUMNS),
      .ADDRESS(ADDRESS)
  ) u_walk (
      .clk(clk),
      .start(start),
      .step(step),
      .base(base),
      .depth(depth),
      .rows(rows),
      .columns(columns),
      .words(words),
      .stride_z(stride_z),
      .stride_r(stride_r),
      .stride_c(stride_c),
      .merged(merged),
      .address(read_address),
      .bank_z(bank_z),
      .bank_r(bank_r),
      .bank_c(bank_c),
      .last(last)
  );

  wire give = m_axis_tvalid && m_axis_tready;

  always_ff @(posedge clk) begin
    busy <= !rst && (start || (busy && !(step && last)));
    if (step != give) begin
      credits <= credits + {{4{step}}, 1'b1};  // plus or minus one with one adder
      room <= give || credits != 5'd1;
    end
    if (rst) begin
      credits <= DEPTH[4:0];
      room <= 1'b1;
    end
  end

  // Beside the read: that there is one, its banks, whether it is the last.
  wire [BZ-1:0] from_z;
  wire [BR-1:0] from_r;
  wire [BC-1:0] from_c;
  wire from_last;
  logic [READ-1:0] valid;

  always_ff @(posedge clk) valid <= rst ? '0 : READ'({valid, step});

  delay #(
      .WIDTH (BZ + BR + BC + 1),
      .STAGES(READ)
  ) u_place (
      .clk(clk),
      .in ({bank_z, bank_r, bank_c, last && mark_last}),
      .out({from_z, from_r, from_c, from_last})
  );

  logic [COLUMNS*WORD-1:0] beat;
  logic beat_valid, beat_last;

  always_ff @(posedge clk) begin
    for (int c = 0; c < COLUMNS; c++) begin
      beat[c*WORD+:WORD] <= read_data[((32'(from_z)*TR+32'(from_r))*TC+((32'(from_c)+c)&(TC-1)))*WORD+:WORD];
    end
    beat_last <= from_last;
    beat_valid <= valid[READ-1] && !rst;
  end

  wire unused_ready;

  stream_fifo #(
      .WIDTH(COLUMNS * WORD),
      .DEPTH(DEPTH)
  ) u_fifo (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(beat_valid),
      .s_axis_tready(unused_ready),
      .s_axis_tdata(beat),
      .s_axis_tlast(beat_last),
      .m_axis_tvalid(m_axis_tvalid),
      .m_axis_tready(m_axis_tready),
      .m_axis_tdata(m_axis_tdata),
      .m_axis_tlast(m_axis_tlast)
  );

  wire unused = &{1'b0, unused_ready, from_z, from_r, from_c};
endmodule

`default_nettype wire
