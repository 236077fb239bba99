// Cuts the bytes of the shell into datagrams, at the ends of frames (a zero byte): when another full frame might not fit,
// or when nothing follows. A datagram's length is handed on after its last byte.
`default_nettype none

module eth_cut #(
    // Most bytes in a datagram, and in a frame. Two frames: the shell takes five cycles a byte, so that with more of them
    // the host's acknowledgement would come when the shell has no frame left that it may send.
    parameter int MOST = 512,
    parameter int FRAME = 250,
    // Cycles without a byte after which nothing follows.
    parameter int QUIET = 15
) (
    input wire clk,
    input wire rst,

    input wire s_valid,
    output wire s_ready,
    input wire [7:0] s_data,

    output wire put,
    output wire [7:0] put_data,
    input wire room,

    output logic cut,
    output wire [10:0] cut_length,
    input wire cut_ready
);
  if (MOST < FRAME || MOST > 1468 || QUIET < 1) begin : g_size
    $error("eth_cut: MOST must be from FRAME to 1468, QUIET at least 1");
  end

  logic [10:0] count;
  logic [$clog2(QUIET+1)-1:0] quiet;
  logic ended, nearly, full;

  assign s_ready = room && !cut && !full && !(ended && nearly);
  assign put = s_valid && s_ready;
  assign put_data = s_data;
  assign cut_length = count;

  always_ff @(posedge clk) begin
    if (put) begin
      count <= count + 1'b1;
      ended <= s_data == 8'h00;
      nearly <= count >= 11'(MOST - FRAME);
      full <= count == 11'(MOST - 1);
      quiet <= '0;
    end else if (ended && quiet != ($clog2(QUIET + 1))'(QUIET)) quiet <= quiet + 1'b1;
    if (!put && !cut && (full || (ended && (nearly || quiet == ($clog2(QUIET + 1))'(QUIET))))) cut <= 1'b1;
    if (cut && cut_ready) begin
      cut <= 1'b0;
      count <= '0;
      {ended, nearly, full} <= '0;
      quiet <= '0;
    end
    if (rst) begin
      cut <= 1'b0;
      count <= '0;
      {ended, nearly, full} <= '0;
      quiet <= '0;
    end
  end
endmodule

`default_nettype wire
