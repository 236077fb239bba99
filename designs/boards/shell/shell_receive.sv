// What the host's frames ask for. Payload of the DATA frame that is expected goes to the input FIFO as it comes and is
// committed or cancelled at the frame's end. Every good frame's `ack` and `limit` count (`heard`).
// A DATA frame that was there already is answered by STATE; one that is ahead, or finds no room, by one NAK until a
// frame is accepted or the host asks: the host answers a NAK by sending a whole window again.
`default_nettype none

module shell_receive (
    input wire clk,
    input wire rst,

    input wire byte_valid,
    input wire [7:0] byte_data,
    input wire [7:0] byte_index,
    input wire frame_end,
    input wire frame_good,
    input wire [7:0] frame_length,

    // The input FIFO: the next sequence number, and whether a whole frame fits.
    input wire [7:0] expected,
    input wire room,
    output logic put,
    output logic [7:0] put_data,
    output logic commit,
    output logic cancel,

    output logic heard,
    output logic resend,
    output logic [7:0] ack,
    output logic [7:0] limit,

    output logic ask_state,
    output logic ask_nak,
    output logic do_write,
    output logic do_read,
    output logic [7:0] tag,
    output logic [7:0] address,
    // What a WRITE writes; a READ has its count of words in the highest byte.
    output logic [31:0] value,

    output logic ok,
    output logic bad,
    output logic disordered,
    output logic overflow
);
  logic [7:0] kind;
  logic writing, naked;

  always_ff @(posedge clk) begin
    if (byte_valid) begin
      case (byte_index)
        8'd0: kind <= byte_data;
        8'd1: tag <= byte_data;
        8'd2: ack <= byte_data;
        8'd3: limit <= byte_data;
        8'd4: address <= byte_data;
        8'd5, 8'd6, 8'd7, 8'd8: value <= {byte_data, value[31:8]};
        default: ;
      endcase
    end
  end

  // A frame's first three bytes are known when its fourth comes.
  logic is_next;
  wire is_data = kind == shell_constants::KIND_DATA_IN;

  always_ff @(posedge clk) begin
    is_next <= tag == expected;
    put <= byte_valid && writing;
    put_data <= byte_data;
    if (byte_valid && byte_index == 8'd3) writing <= is_data && is_next && room;
    if (frame_end || rst) writing <= 1'b0;
    if (rst) put <= 1'b0;
  end

  // The frame has ended: what kind it was, then what to do.
  logic ended, good, data, accepted, poll, write, read, again;
  wire [7:0] behind = expected - tag;
  logic was_there;

  always_ff @(posedge clk) begin
    ended <= frame_end && !rst;
    good <= frame_good;
    data <= is_data;
    accepted <= writing;
    was_there <= behind != 8'd0 && !behind[7];
    poll <= kind == shell_constants::KIND_POLL && frame_length == 8'd8;
    again <= kind == shell_constants::KIND_RESEND && frame_length == 8'd8;
    write <= kind == shell_constants::KIND_WRITE && frame_length == 8'd13;
    // One argument byte besides the address, so that it is the upper one of `value`.
    read <= kind == shell_constants::KIND_READ && frame_length == 8'd10 && value[31:24] != 8'd0 &&
        value[31:24] <= shell_constants::READ_WORDS;
  end

  wire known = good && (data || poll || again || write || read);
  wire lost = ended && known && data && !accepted && !was_there;

  always_ff @(posedge clk) begin
    ok <= ended && known;
    bad <= ended && !known;
    heard <= ended && known;
    resend <= again;
    commit <= ended && known && accepted;
    cancel <= ended && !(known && accepted);
    do_write <= ended && known && write;
    do_read <= ended && known && read;
    ask_state <= ended && known && (poll || again || (data && !accepted && was_there));
    ask_nak <= (ended && !known) || (lost && !naked);
    disordered <= lost && tag != expected;
    overflow <= lost && tag == expected;
    if (lost) naked <= 1'b1;
    else if (ended && known && (accepted || poll || again)) naked <= 1'b0;
    if (rst) naked <= 1'b0;
  end
endmodule

`default_nettype wire
