// Bytes of the line to packets: COBS decoding and CRC check, a byte a cycle, never waiting.
// A packet's bytes without its CRC leave on byte_* as they come, before it is known whether the packet is good: that
// `frame_good` says with `frame_end`. `start` marks the first byte of a frame. Empty frames leave no trace.
`default_nettype none

module shell_decode (
    input wire clk,
    input wire rst,

    input wire s_valid,
    input wire [7:0] s_data,

    output wire start,

    output logic byte_valid,
    output logic [7:0] byte_data,
    // Place of the byte in the packet.
    output logic [7:0] byte_index,

    output logic frame_end,
    output logic frame_good,
    // Bytes of the packet with its CRC, at most 255 counted.
    output logic [7:0] frame_length
);
  localparam logic [7:0] LEAST = 8'd8, MOST = shell_constants::PAYLOAD + 8'd8;
  localparam logic [31:0] RESIDUE = 32'hDEBB20E3;

  // COBS: `left` bytes follow as they are, then comes a code again. A code but the first stands for a zero.
  logic [7:0] left;
  logic is_code;  // nothing is left
  logic begun;
  logic decoded_valid, ended, whole;
  logic [7:0] decoded;
  wire delimiter = s_data == 8'd0;

  assign start = s_valid && !delimiter && !begun;

  always_ff @(posedge clk) begin
    decoded <= is_code ? 8'd0 : s_data;
    decoded_valid <= s_valid && !delimiter && !(is_code && !begun);
    ended <= s_valid && delimiter && begun;
    whole <= is_code;
    if (s_valid) begin
      begun <= !delimiter;
      left <= (is_code ? s_data : left) - 8'd1;
      is_code <= delimiter || (is_code ? s_data : left) == 8'd1;
    end
    if (rst) begin
      begun <= 1'b0;
      is_code <= 1'b1;
      decoded_valid <= 1'b0;
      ended <= 1'b0;
    end
  end

  // The last four bytes are the CRC, so that bytes leave four bytes late.
  logic [31:0] crc, held;
  logic [7:0] count;
  logic checked, code_good, crc_good, size_good;

  shell_crc u_crc (
      .clk  (clk),
      .clear(ended || rst),
      .step (decoded_valid),
      .data (decoded),
      .crc  (crc)
  );

  always_ff @(posedge clk) begin
    if (decoded_valid) held <= {decoded, held[31:8]};
    byte_data <= held[7:0];
    byte_index <= count - 8'd4;
    byte_valid <= decoded_valid && count >= 8'd4 && count < MOST && !rst;
    checked <= ended && !rst;
    code_good <= whole;
    crc_good <= crc == RESIDUE;
    size_good <= count >= LEAST && count <= MOST;
    if (ended) frame_length <= count;
    frame_end <= checked && !rst;
    frame_good <= code_good && crc_good && size_good;
    if (ended || rst) count <= '0;
    else if (decoded_valid && count != 8'hFF) count <= count + 8'd1;
  end
endmodule

`default_nettype wire
