// Ethernet frames out, a byte a cycle without gaps, with preamble, padding, FCS and the gap between frames: datagrams of
// the line to the peer, and answers to what was asked (ARP, counters, echo). A datagram waits whole before it is sent: its
// length in `cut`, its bytes in `line`. Without a peer it is dropped. The checksum of UDP is left out (0), as IPv4 allows.
`default_nettype none

module eth_transmit #(
    parameter logic [47:0] MAC = 48'h02_47_c0_a8_4d_02,
    parameter logic [31:0] IP = 32'hc0_a8_4d_02,
    parameter logic [15:0] PORT = 16'h4741,
    // Bytes of the answer with the counters.
    parameter int COUNTERS = 32
) (
    input wire clk,
    input wire rst,

    // An answer that is due; `reply_done` when it was taken over.
    input wire reply,
    input wire [1:0] reply_kind,
    input wire [47:0] reply_mac,
    input wire [31:0] reply_ip,
    input wire [15:0] reply_port,
    input wire [15:0] echo_sum,
    input wire [6:0] echo_length,
    output logic reply_done,
    // Bytes of an echo, by place, one cycle later.
    output logic [5:0] echo_place,
    input wire [7:0] echo_data,
    output wire echo_done,
    // First byte lowest.
    input wire [8*COUNTERS-1:0] counters,

    input wire known,
    input wire [47:0] peer_mac,
    input wire [31:0] peer_ip,
    input wire [15:0] peer_port,

    input wire cut_valid,
    input wire [10:0] cut_length,
    output logic cut_ready,
    input wire line_valid,
    input wire [7:0] line_data,
    output wire line_ready,

    output logic tx_valid,
    output logic [7:0] tx_data,
    // Pulse: a datagram of the line went out.
    output logic sent
);
  localparam logic [1:0] ARP = 2'd0, ASKED = 2'd1, ECHO = 2'd2, LINE = 2'd3;
  localparam logic [15:0] ASKED_PORT = PORT + 16'd1;
  localparam logic [5:0] SHORTEST = 6'd60;  // without FCS
  localparam int GAP = 12;

  typedef enum logic [2:0] {
    IDLE,
    PREAMBLE,
    HEADER,
    BODY,
    PAD,
    FCS,
    SILENCE,
    DROP
  } phase_t;

  phase_t phase;
  logic [1:0] kind;
  logic [47:0] to_mac;
  logic [31:0] to_ip, number, datagrams;
  logic [15:0] to_port, ip_length, udp_length, icmp_sum;
  logic [10:0] length, left;  // bytes behind the headers, and those still to come
  logic [5:0] at, header_last, padded;
  logic [8*COUNTERS-1:0] told;

  // What follows the headers.
  wire body = phase == BODY || phase == DROP;
  assign line_ready = body && kind == LINE;
  assign echo_done = phase == SILENCE && kind == ECHO;

  always_ff @(posedge clk) begin
    echo_place <= phase == PREAMBLE ? '0 : echo_place + 6'(phase == BODY || (phase == HEADER && at == header_last));
    reply_done <= 1'b0;
    cut_ready <= 1'b0;
    sent <= 1'b0;
    case (phase)
      IDLE: begin
        at   <= '0;
        left <= '0;
        if (reply && !reply_done) begin
          phase <= PREAMBLE;
          reply_done <= 1'b1;
          kind <= reply_kind;
          to_mac <= reply_mac;
          to_ip <= reply_ip;
          to_port <= reply_port;
          length <= reply_kind == ASKED ? 11'(COUNTERS) : reply_kind == ECHO ? 11'(echo_length) : '0;
          told <= counters;
        end else if (cut_valid && !cut_ready) begin
          phase <= known ? PREAMBLE : DROP;
          cut_ready <= 1'b1;
          kind <= LINE;
          to_mac <= peer_mac;
          to_ip <= peer_ip;
          to_port <= peer_port;
          length <= cut_length;
          left <= cut_length;
          number <= datagrams;
          sent <= known;
        end
      end
      PREAMBLE: begin
        at <= at + 1'b1;
        left <= length;
        if (at == 6'd7) begin
          phase <= HEADER;
          at <= '0;
        end
      end
      HEADER: begin
        at <= at + 1'b1;
        padded <= SHORTEST - 6'd2 - header_last;
        if (at == header_last) begin
          phase <= length == '0 ? PAD : BODY;
          if (kind == LINE) datagrams <= datagrams + 1'b1;
        end
      end
      BODY: begin
        left <= left - 1'b1;
        told <= told >> 8;
        if (padded != '0) padded <= padded - 1'b1;
        if (left == 11'd1) begin
          phase <= padded == '0 ? FCS : PAD;
          at <= '0;
        end
      end
      PAD: begin
        at <= '0;
        padded <= padded - 1'b1;
        if (padded == '0) phase <= FCS;
      end
      FCS: begin
        at <= at + 1'b1;
        if (at == 6'd3) begin
          phase <= SILENCE;
          at <= '0;
        end
      end
      SILENCE: begin
        at <= at + 1'b1;
        if (at == 6'(GAP - 1)) phase <= IDLE;
      end
      DROP: begin
        if (line_valid) left <= left - 1'b1;
        if (line_valid && left == 11'd1) phase <= IDLE;
      end
    endcase
    if (rst) phase <= IDLE;
  end

  initial datagrams = '0;  // a reset does not set it back: the host would take what follows for late

  // Lengths, and the checksum of the IPv4 header: ones' complement sum of its words, one a cycle of the preamble.
  logic [15:0] sum;
  logic carry;
  logic [15:0] term;

  always_comb begin
    case (at[2:0])
      3'd1: term = IP[31:16];
      3'd2: term = IP[15:0];
      3'd3: term = to_ip[31:16];
      3'd4: term = to_ip[15:0];
      3'd5: term = ip_length;
      3'd6: term = kind == ECHO ? 16'h4001 : 16'h4011;  // time to live, protocol
      default: term = '0;
    endcase
  end

  always_ff @(posedge clk) begin
    header_last <= kind == LINE ? 6'd45 : kind == ECHO ? 6'd37 : 6'd41;
    udp_length <= (kind == LINE ? 16'd12 : 16'd8) + 16'(length);
    ip_length <= (kind == LINE ? 16'd32 : kind == ECHO ? 16'd24 : 16'd28) + 16'(length);
    icmp_sum <= echo_sum + 16'h0800 + 16'(echo_sum > 16'hf7ff);  // the type is 0 instead of 8
    if (phase == IDLE) {carry, sum} <= {1'b0, 16'h8500};  // version, header length; no fragments
    else if (phase == PREAMBLE) {carry, sum} <= {1'b0, sum} + {1'b0, term} + {16'b0, carry};
    else if (at[5:1] == '0) {carry, sum} <= {1'b0, sum} + {16'b0, carry};
  end

  // The headers, byte by byte.
  logic [7:0] in_ip, in_arp, in_header;

  always_comb begin
    case (at)
      6'd0: in_header = to_mac[47:40];
      6'd1: in_header = to_mac[39:32];
      6'd2: in_header = to_mac[31:24];
      6'd3: in_header = to_mac[23:16];
      6'd4: in_header = to_mac[15:8];
      6'd5: in_header = to_mac[7:0];
      6'd6: in_header = MAC[47:40];
      6'd7: in_header = MAC[39:32];
      6'd8: in_header = MAC[31:24];
      6'd9: in_header = MAC[23:16];
      6'd10: in_header = MAC[15:8];
      6'd11: in_header = MAC[7:0];
      6'd12: in_header = 8'h08;
      default: in_header = kind == ARP ? in_arp : in_ip;
    endcase
  end

  always_comb begin
    case (at)
      6'd13: in_arp = 8'h06;
      6'd15: in_arp = 8'h01;
      6'd16: in_arp = 8'h08;
      6'd18: in_arp = 8'h06;
      6'd19: in_arp = 8'h04;
      6'd21: in_arp = 8'h02;
      6'd22: in_arp = MAC[47:40];
      6'd23: in_arp = MAC[39:32];
      6'd24: in_arp = MAC[31:24];
      6'd25: in_arp = MAC[23:16];
      6'd26: in_arp = MAC[15:8];
      6'd27: in_arp = MAC[7:0];
      6'd28: in_arp = IP[31:24];
      6'd29: in_arp = IP[23:16];
      6'd30: in_arp = IP[15:8];
      6'd31: in_arp = IP[7:0];
      6'd32: in_arp = to_mac[47:40];
      6'd33: in_arp = to_mac[39:32];
      6'd34: in_arp = to_mac[31:24];
      6'd35: in_arp = to_mac[23:16];
      6'd36: in_arp = to_mac[15:8];
      6'd37: in_arp = to_mac[7:0];
      6'd38: in_arp = to_ip[31:24];
      6'd39: in_arp = to_ip[23:16];
      6'd40: in_arp = to_ip[15:8];
      6'd41: in_arp = to_ip[7:0];
      default: in_arp = 8'h00;
    endcase
  end

  wire [15:0] source_port = kind == LINE ? PORT : ASKED_PORT;

  always_comb begin
    case (at)
      6'd14: in_ip = 8'h45;
      6'd16: in_ip = ip_length[15:8];
      6'd17: in_ip = ip_length[7:0];
      6'd20: in_ip = 8'h40;
      6'd22: in_ip = 8'h40;
      6'd23: in_ip = kind == ECHO ? 8'h01 : 8'h11;
      6'd24: in_ip = ~sum[15:8];
      6'd25: in_ip = ~sum[7:0];
      6'd26: in_ip = IP[31:24];
      6'd27: in_ip = IP[23:16];
      6'd28: in_ip = IP[15:8];
      6'd29: in_ip = IP[7:0];
      6'd30: in_ip = to_ip[31:24];
      6'd31: in_ip = to_ip[23:16];
      6'd32: in_ip = to_ip[15:8];
      6'd33: in_ip = to_ip[7:0];
      6'd34: in_ip = kind == ECHO ? 8'h00 : source_port[15:8];
      6'd35: in_ip = kind == ECHO ? 8'h00 : source_port[7:0];
      6'd36: in_ip = kind == ECHO ? icmp_sum[15:8] : to_port[15:8];
      6'd37: in_ip = kind == ECHO ? icmp_sum[7:0] : to_port[7:0];
      6'd38: in_ip = udp_length[15:8];
      6'd39: in_ip = udp_length[7:0];
      6'd42: in_ip = number[7:0];
      6'd43: in_ip = number[15:8];
      6'd44: in_ip = number[23:16];
      6'd45: in_ip = number[31:24];
      default: in_ip = 8'h00;
    endcase
  end

  // What each phase would send, then the byte, then the CRC and the pins'.
  phase_t phase_then;
  logic [7:0] header_byte, body_byte, data;
  logic preamble_ends, valid, checked, is_fcs;
  logic [1:0] at_then, fcs_at;
  wire [31:0] crc;

  always_ff @(posedge clk) begin
    phase_then <= phase;
    at_then <= at[1:0];
    preamble_ends <= at == 6'd7;
    header_byte <= in_header;
    body_byte <= kind == LINE ? line_data : kind == ASKED ? told[7:0] : echo_data;

    valid <= phase_then != IDLE && phase_then != SILENCE && phase_then != DROP;
    checked <= phase_then == HEADER || phase_then == BODY || phase_then == PAD;
    is_fcs <= phase_then == FCS;
    fcs_at <= at_then;
    case (phase_then)
      PREAMBLE: data <= preamble_ends ? 8'hd5 : 8'h55;
      HEADER:   data <= header_byte;
      BODY:     data <= body_byte;
      default:  data <= 8'h00;
    endcase

    tx_valid <= valid;
    tx_data  <= is_fcs ? ~crc[8*fcs_at+:8] : data;
    if (rst) begin
      phase_then <= IDLE;
      valid <= 1'b0;
      tx_valid <= 1'b0;
    end
  end

  shell_crc u_crc (
      .clk  (clk),
      .clear(!valid),
      .step (checked),
      .data (data),
      .crc  (crc)
  );
endmodule

`default_nettype wire
