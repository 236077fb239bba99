// A byte stream over UDP: Ethernet frames on one side (clock `eth_clk`, 125 MHz, the PHY's), bytes on the other (`clk`).
// Answers go to the address and port that sent the last good datagram. Also answers ARP, ping, and datagrams to PORT + 1:
// those with "GATE" and seven counters, 4 bytes each, lowest first: datagrams taken, bad frames, foreign frames, late or
// repeated datagrams, datagrams lost for want of room, questions, datagrams sent.
`default_nettype none

module eth_udp #(
    parameter logic [47:0] MAC = 48'h02_47_c0_a8_4d_02,
    parameter logic [31:0] IP = 32'hc0_a8_4d_02,
    parameter logic [15:0] PORT = 16'h4741,
    // Bytes that wait in each direction, a power of two of at least 2048.
    parameter int DEPTH = 4096
) (
    input wire eth_clk,
    input wire eth_rst,
    input wire rx_valid,
    input wire rx_error,
    input wire [7:0] rx_data,
    output wire tx_valid,
    output wire [7:0] tx_data,

    input wire clk,
    input wire rst,
    output wire m_valid,
    input wire m_ready,
    output wire [7:0] m_data,
    input wire s_valid,
    output wire s_ready,
    input wire [7:0] s_data
);
  localparam int WORDS = 8;

  wire put, room, commit, cancel, known, ask, echo_put, taken, bad, foreign, late, lost, sent;
  wire [7:0] put_data;
  wire [47:0] peer_mac, from_mac;
  wire [31:0] peer_ip, from_ip;
  wire [15:0] peer_port, from_port, echo_sum;
  wire [1:0] ask_kind;
  wire [5:0] echo_to, echo_place;
  wire [6:0] echo_length;

  eth_receive #(
      .MAC (MAC),
      .IP  (IP),
      .PORT(PORT)
  ) u_receive (
      .clk(eth_clk),
      .rst(eth_rst),
      .rx_valid(rx_valid),
      .rx_error(rx_error),
      .rx_data(rx_data),
      .put(put),
      .put_data(put_data),
      .room(room),
      .commit(commit),
      .cancel(cancel),
      .known(known),
      .peer_mac(peer_mac),
      .peer_ip(peer_ip),
      .peer_port(peer_port),
      .ask(ask),
      .ask_kind(ask_kind),
      .from_mac(from_mac),
      .from_ip(from_ip),
      .from_port(from_port),
      .echo_sum(echo_sum),
      .echo_put(echo_put),
      .echo_place(echo_to),
      .echo_length(echo_length),
      .taken(taken),
      .bad(bad),
      .foreign(foreign),
      .late(late),
      .lost(lost)
  );

  async_fifo #(
      .WIDTH(8),
      .DEPTH(DEPTH)
  ) u_in (
      .w_clk(eth_clk),
      .w_rst(eth_rst),
      .w_valid(put),
      .w_ready(room),
      .w_data(put_data),
      .commit(commit),
      .cancel(cancel),
      .r_clk(clk),
      .r_rst(rst),
      .r_valid(m_valid),
      .r_ready(m_ready),
      .r_data(m_data)
  );

  // One answer at a time; what is asked meanwhile is asked again by those who want to know.
  logic reply;
  logic [1:0] reply_kind;
  logic [47:0] reply_mac;
  logic [31:0] reply_ip;
  logic [15:0] reply_port, reply_sum;
  logic [6:0] reply_length;
  wire reply_done;
  logic [7:0] echo[64];
  logic [7:0] echo_byte;
  logic echoing, spoiled;  // an echo is not out yet: its bytes stay, and those that come meanwhile are not whole
  wire echo_done;

  always_ff @(posedge eth_clk) begin
    if (echo_put && !echoing) echo[echo_to] <= put_data;
    echo_byte <= echo[echo_place];
  end

  wire is_echo = ask_kind == 2'd2;
  wire answer = ask && !reply && !(is_echo && (echoing || spoiled));

  always_ff @(posedge eth_clk) begin
    if (reply_done) reply <= 1'b0;
    if (echo_done) echoing <= 1'b0;
    if (echo_put) spoiled <= echoing || (spoiled && echo_to != '0);
    if (answer) begin
      reply <= 1'b1;
      reply_kind <= ask_kind;
      reply_mac <= from_mac;
      reply_ip <= from_ip;
      reply_port <= from_port;
      if (is_echo) begin
        reply_sum <= echo_sum;
        reply_length <= echo_length;
        echoing <= 1'b1;
      end
    end
    if (eth_rst) begin
      reply <= 1'b0;
      echoing <= 1'b0;
    end
  end

  // Counters.
  logic [32*WORDS-1:0] counters;
  wire [WORDS-1:0] events = {sent, ask, lost, late, foreign, bad, taken, 1'b0};

  always_ff @(posedge eth_clk) begin
    for (int i = 0; i < WORDS; i++) if (events[i]) counters[32*i+:32] <= counters[32*i+:32] + 1'b1;
    if (eth_rst) counters <= (32 * WORDS)'(32'h47415445);
  end

  // Out.
  wire cut, cut_ready, cut_valid, cut_taken, line_room, line_put, line_valid, line_ready;
  wire [7:0] line_put_data, line_data;
  wire [10:0] cut_length, due_length;

  eth_cut u_cut (
      .clk(clk),
      .rst(rst),
      .s_valid(s_valid),
      .s_ready(s_ready),
      .s_data(s_data),
      .put(line_put),
      .put_data(line_put_data),
      .room(line_room),
      .cut(cut),
      .cut_length(cut_length),
      .cut_ready(cut_ready)
  );

  async_fifo #(
      .WIDTH(8),
      .DEPTH(DEPTH)
  ) u_out (
      .w_clk(clk),
      .w_rst(rst),
      .w_valid(line_put),
      .w_ready(line_room),
      .w_data(line_put_data),
      .commit(1'b1),
      .cancel(1'b0),
      .r_clk(eth_clk),
      .r_rst(eth_rst),
      .r_valid(line_valid),
      .r_ready(line_ready),
      .r_data(line_data)
  );

  async_fifo #(
      .WIDTH(11),
      .DEPTH(16)
  ) u_cuts (
      .w_clk(clk),
      .w_rst(rst),
      .w_valid(cut),
      .w_ready(cut_ready),
      .w_data(cut_length),
      .commit(1'b1),
      .cancel(1'b0),
      .r_clk(eth_clk),
      .r_rst(eth_rst),
      .r_valid(cut_valid),
      .r_ready(cut_taken),
      .r_data(due_length)
  );

  eth_transmit #(
      .MAC(MAC),
      .IP(IP),
      .PORT(PORT),
      .COUNTERS(4 * WORDS)
  ) u_transmit (
      .clk(eth_clk),
      .rst(eth_rst),
      .reply(reply),
      .reply_kind(reply_kind),
      .reply_mac(reply_mac),
      .reply_ip(reply_ip),
      .reply_port(reply_port),
      .echo_sum(reply_sum),
      .echo_length(reply_length),
      .reply_done(reply_done),
      .echo_place(echo_place),
      .echo_data(echo_byte),
      .echo_done(echo_done),
      .counters(counters),
      .known(known),
      .peer_mac(peer_mac),
      .peer_ip(peer_ip),
      .peer_port(peer_port),
      .cut_valid(cut_valid),
      .cut_length(due_length),
      .cut_ready(cut_taken),
      .line_valid(line_valid),
      .line_data(line_data),
      .line_ready(line_ready),
      .tx_valid(tx_valid),
      .tx_data(tx_data),
      .sent(sent)
  );
endmodule

`default_nettype wire
