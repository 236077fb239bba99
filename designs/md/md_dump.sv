// Sends the state: a beat with the number of particles, then the particles in the order of their addresses.
// The walk over the particles waits for the stream: an address enters only while there is room for its particle.
`default_nettype none

module md_dump #(
    // Bits of a beat.
    parameter int BEAT = 216,
    // Cycles from an address to its particle.
    parameter int LATENCY = 8
) (
    input wire clk,
    input wire rst,

    input wire start,
    input wire [31:0] particles,
    output wire busy,

    // A particle is read when both are high; its beat comes LATENCY cycles later.
    input wire walk_valid,
    output wire walk_ready,
    input wire [BEAT-1:0] beat,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [BEAT-1:0] m_axis_tdata,
    output wire m_axis_tlast
);
  logic head;  // the first beat is to go out
  logic [31:0] left;  // particles that have not entered
  logic last_out;

  wire valid, last, ready, nothing;
  wire [BEAT-1:0] data;
  wire enter = walk_valid && walk_ready;

  credit_stream #(
      .IN_WIDTH (1),
      .OUT_WIDTH(BEAT),
      .LATENCY  (LATENCY)
  ) u_stream (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(walk_valid),
      .s_axis_tready(walk_ready),
      .s_axis_tdata(1'b0),
      .s_axis_tlast(left == 32'd1),
      .pipe_in_data(nothing),
      .pipe_out_data(beat),
      .m_axis_tvalid(valid),
      .m_axis_tready(ready),
      .m_axis_tdata(data),
      .m_axis_tlast(last)
  );

  always_ff @(posedge clk) begin
    if (start) left <= particles;
    else if (enter) left <= left - 1'b1;
    if (start) begin
      head <= 1'b1;
      last_out <= 1'b0;
    end else if (m_axis_tvalid && m_axis_tready) begin
      head <= 1'b0;
      last_out <= m_axis_tlast;
    end
    if (rst) begin
      head <= 1'b0;
      last_out <= 1'b1;
    end
  end

  // Nothing has entered when the first beat goes out only if there is nothing: `left` is then still all of them.
  logic [31:0] total;
  always_ff @(posedge clk) if (start) total <= particles;

  assign ready = m_axis_tready && !head;
  assign m_axis_tvalid = head || valid;
  assign m_axis_tdata = head ? BEAT'(total) : data;
  assign m_axis_tlast = head ? total == '0 : last;
  assign busy = !last_out;
  wire unused = nothing;
endmodule

`default_nettype wire
