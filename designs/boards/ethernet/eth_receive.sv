// Ethernet frames in, a byte a cycle without gaps: checks preamble, FCS, length and headers, and hands on the payload of
// UDP datagrams to MAC, IP and PORT. What a datagram brings counts only after `commit`; `cancel` says that it does not.
//
//   datagram = number(4, little endian) bytes of the line
//
// A datagram of the same sender whose number is not above that of its last one came late or twice and is dropped, so that
// the bytes of the line keep their order. ARP requests for IP, echo requests (ping) and datagrams to PORT + 1 are handed
// on as `ask`. Everything else is counted: `bad` are frames with a wrong FCS, a wrong length or an error of the PHY,
// `foreign` are good ones that are not for us.
`default_nettype none

module eth_receive #(
    parameter logic [47:0] MAC = 48'h02_47_c0_a8_4d_02,
    parameter logic [31:0] IP = 32'hc0_a8_4d_02,
    parameter logic [15:0] PORT = 16'h4741
) (
    input wire clk,
    input wire rst,

    input wire rx_valid,
    input wire rx_error,
    input wire [7:0] rx_data,

    // Bytes of the line.
    output logic put,
    output logic [7:0] put_data,
    input wire room,
    output logic commit,
    output logic cancel,

    // Who sent the last datagram; known from the first one on.
    output logic known,
    output logic [47:0] peer_mac,
    output logic [31:0] peer_ip,
    output logic [15:0] peer_port,

    // Pulse: a frame that asks for an answer; ask_kind 0: ARP, 1: counters, 2: echo. `from` and what follows stay until
    // the next frame.
    output logic ask,
    output logic [1:0] ask_kind,
    output logic [47:0] from_mac,
    output logic [31:0] from_ip,
    output logic [15:0] from_port,
    // Of an echo request: its checksum, its bytes behind the checksum (at most 64), and how many they are.
    output logic [15:0] echo_sum,
    output logic echo_put,
    output logic [5:0] echo_place,
    output logic [6:0] echo_length,

    // Pulses for the counters.
    output logic taken,
    output logic bad,
    output logic foreign,
    output logic late,
    output logic lost
);
  localparam logic [31:0] RESIDUE = 32'hdebb20e3;
  localparam int HEADERS = 42;  // of Ethernet, IPv4 and UDP
  localparam int NUMBER = 4;

  // Frames: preamble 55 .. 55 D5, then bytes until valid falls.
  logic waiting, framed, broken, garbled, byte_valid, over, judge;
  logic [7:0] data;
  logic [10:0] at;  // bytes before `data`; stays at its highest

  wire start = rx_valid && waiting && rx_data == 8'hd5;
  wire garble = rx_valid && waiting && rx_data != 8'hd5 && rx_data != 8'h55;

  always_ff @(posedge clk) begin
    byte_valid <= framed && rx_valid;
    garbled <= garble;
    over <= framed && !rx_valid;
    judge <= over;
    data <= rx_data;
    if (!rx_valid) begin
      waiting <= 1'b1;
      framed  <= 1'b0;
    end else if (waiting) begin
      waiting <= rx_data == 8'h55;
      framed  <= start;
    end
    if (start) broken <= 1'b0;
    else if (framed && rx_valid && rx_error) broken <= 1'b1;
    if (start) at <= '0;
    else if (byte_valid && !(&at)) at <= at + 1'b1;
    if (rst) begin
      waiting <= 1'b0;
      framed  <= 1'b0;
    end
  end

  wire [31:0] crc;

  shell_crc u_crc (
      .clk  (clk),
      .clear(start),
      .step (byte_valid),
      .data (data),
      .crc  (crc)
  );

  // Header fields that must have one value: `not_x` is set by the first byte that differs.
  function automatic logic [7:0] byte_of(input logic [47:0] value, input logic [2:0] place);
    byte_of = value[8*(5-place)+:8];
  endfunction

  localparam logic [47:0] IP_PLACED = {IP, 16'b0};
  localparam logic [15:0] ASKED = PORT + 16'd1;

  logic not_mine, not_all, not_ip, not_arp, not_udp, not_icmp, not_port, not_counters;
  logic mine, all, ip, arp, udp, icmp, port, counters;  // whether this byte may stand here

  always_comb begin
    {mine, all, ip, arp, udp, icmp, port, counters} = '1;
    case (at)
      11'd0, 11'd1, 11'd2, 11'd3, 11'd4, 11'd5: begin
        mine = data == byte_of(MAC, at[2:0]);
        all  = data == 8'hff;
      end
      11'd12: {ip, arp} = {2{data == 8'h08}};
      11'd13: {ip, arp} = {data == 8'h00, data == 8'h06};
      11'd14: {ip, arp} = {data == 8'h45, data == 8'h00};
      11'd15: arp = data == 8'h01;
      11'd16: arp = data == 8'h08;
      11'd17: arp = data == 8'h00;
      11'd18: arp = data == 8'h06;
      11'd19: arp = data == 8'h04;
      11'd20: {ip, arp} = {(data & 8'hbf) == 8'h00, data == 8'h00};  // no fragments
      11'd21: {ip, arp} = {data == 8'h00, data == 8'h01};
      11'd23: {udp, icmp} = {data == 8'h11, data == 8'h01};
      11'd30: ip = data == byte_of(IP_PLACED, 3'd0);
      11'd31: ip = data == byte_of(IP_PLACED, 3'd1);
      11'd32: ip = data == byte_of(IP_PLACED, 3'd2);
      11'd33: ip = data == byte_of(IP_PLACED, 3'd3);
      11'd34: icmp = data == 8'h08;
      11'd35: icmp = data == 8'h00;
      11'd36: {port, counters} = {data == PORT[15:8], data == ASKED[15:8]};
      11'd37: {port, counters} = {data == PORT[7:0], data == ASKED[7:0]};
      11'd38: arp = data == byte_of(IP_PLACED, 3'd0);
      11'd39: arp = data == byte_of(IP_PLACED, 3'd1);
      11'd40: arp = data == byte_of(IP_PLACED, 3'd2);
      11'd41: arp = data == byte_of(IP_PLACED, 3'd3);
      default: ;
    endcase
  end

  always_ff @(posedge clk) begin
    if (byte_valid) begin
      {not_mine, not_all} <= {not_mine, not_all} | ~{mine, all};
      {not_ip, not_arp} <= {not_ip, not_arp} | ~{ip, arp};
      {not_udp, not_icmp} <= {not_udp, not_icmp} | ~{udp, icmp};
      {not_port, not_counters} <= {not_port, not_counters} | ~{port, counters};
    end
    if (start) {not_mine, not_all, not_ip, not_arp, not_udp, not_icmp, not_port, not_counters} <= '0;
  end

  // Header fields that are kept.
  logic [15:0] ip_length, udp_length;
  logic [31:0] number;
  logic [7:0] earlier;  // the byte before `data`

  always_ff @(posedge clk) begin
    if (byte_valid) begin
      earlier <= data;
      if (at >= 11'd6 && at < 11'd12) from_mac <= {from_mac[39:0], data};
      // An ARP request has the sender's address two bytes further on.
      if (not_ip ? at >= 11'd28 && at < 11'd32 : at >= 11'd26 && at < 11'd30) from_ip <= {from_ip[23:0], data};
      if (at == 11'd17) ip_length <= {earlier, data};
      if (at == 11'd35) from_port <= {earlier, data};
      if (at == 11'd37) echo_sum <= {earlier, data};
      if (at == 11'd39) udp_length <= {earlier, data};
      if (at >= 11'(HEADERS) && at < 11'(HEADERS + NUMBER)) number <= {data, number[31:8]};
    end
  end

  // Checksum of the IPv4 header: the sum of its words in ones' complement is all ones.
  logic [15:0] sum;
  logic carry;

  always_ff @(posedge clk) begin
    if (start) {carry, sum} <= '0;
    else if (byte_valid && at >= 11'd14 && at < 11'd34 && at[0])
      {carry, sum} <= {1'b0, sum} + {1'b0, earlier, data} + {16'b0, carry};
  end

  // What follows from them, a few cycles later; the next frame is twenty cycles off.
  logic [10:0] payload_end, frame_end;
  logic lengths_good, sum_good, size_good, crc_good, newer, overflowed;
  logic [31:0] difference;
  logic [31:0] last_number;
  logic same_ip, same_port;

  always_ff @(posedge clk) begin
    payload_end <= 11'(HEADERS - 8) + udp_length[10:0];
    frame_end <= 11'd18 + ip_length[10:0];
    lengths_good <= ip_length == udp_length + 16'd20 && ip_length <= 16'd1500 && udp_length >= 16'd8;
    sum_good <= carry ? sum == 16'hfffe : sum == 16'hffff;
    size_good <= at >= 11'd64 && at <= 11'd1518;
    crc_good <= crc == RESIDUE;
    difference <= number - last_number;
    same_ip <= from_ip == peer_ip;
    same_port <= from_port == peer_port;
    newer <= !(known && same_ip && same_port) || (difference != '0 && !difference[31]);
  end

  wire payload = byte_valid && !not_mine && !not_ip && !not_udp && !not_port && at >= 11'(HEADERS + NUMBER);

  always_ff @(posedge clk) begin
    put <= payload && room && !overflowed && at < payload_end;
    put_data <= data;
    if (start) overflowed <= 1'b0;
    else if (payload && !room && at < payload_end) overflowed <= 1'b1;
  end

  // An echo request: 20 bytes of IPv4, 4 of ICMP, the rest is kept for the answer.
  wire [15:0] echoed = ip_length - 16'd24;
  logic echo_fits;

  always_ff @(posedge clk) begin
    echo_length <= echoed[6:0];
    echo_fits <= ip_length >= 16'd28 && ip_length <= 16'd88;
    echo_put <= byte_valid && !not_ip && !not_icmp && !not_mine && at >= 11'd38 && at < 11'd102;
    echo_place <= 6'(at - 11'd38);
  end

  // The verdict, when the last byte is through the CRC.
  logic decide, whole, is_ip;

  always_ff @(posedge clk) begin
    decide <= judge;
    whole <= crc_good && size_good && !broken;
    is_ip <= !not_mine && !not_ip && sum_good && ip_length <= 16'd1500 && at >= frame_end;
  end

  wire is_udp = is_ip && !not_udp && lengths_good;
  wire is_data = is_udp && !not_port && udp_length >= 16'(8 + NUMBER);
  wire is_counters = is_udp && !not_counters;
  wire is_echo = is_ip && !not_icmp && echo_fits;
  wire is_arp = (!not_mine || !not_all) && !not_arp;
  wire is_asking = is_arp || is_counters || is_echo;
  wire take = decide && whole && is_data && newer && !overflowed;

  always_ff @(posedge clk) begin
    commit <= take;
    cancel <= decide && !take;
    taken <= take;
    bad <= garbled || (decide && !whole);
    foreign <= decide && whole && !is_data && !is_asking;
    late <= decide && whole && is_data && !newer;
    lost <= decide && whole && is_data && newer && overflowed;
    ask <= decide && whole && is_asking;
    ask_kind <= is_arp ? 2'd0 : is_counters ? 2'd1 : 2'd2;
    if (take) begin
      known <= 1'b1;
      peer_mac <= from_mac;
      peer_ip <= from_ip;
      peer_port <= from_port;
      last_number <= number;
    end
    if (rst) known <= 1'b0;
  end

  wire unused = &{1'b0, echoed, udp_length};
endmodule

`default_nettype wire
