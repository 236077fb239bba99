// Which frame goes out next, and its bytes: the answer to a WRITE or READ, NAK, the STATE that was asked for, DATA, and
// when nothing else goes out a STATE if `ack` or `limit` changed. Every frame carries both.
`default_nettype none

module shell_transmit (
    input wire clk,
    input wire rst,

    input wire ask_state,
    input wire ask_nak,
    input wire do_write,
    input wire do_read,
    input wire [7:0] tag,
    input wire [7:0] address,
    input wire [31:0] value,

    input wire [7:0] ack,
    input wire [7:0] limit,

    // The ring of output frames.
    input wire available,
    input wire [7:0] seq,
    input wire [7:0] length,
    output logic take,
    output wire [7:0] place,
    input wire [7:0] data,

    // Registers: `word` is the one at `index` a cycle after `sample`, and stays.
    output logic [7:0] index,
    output logic sample,
    input wire [31:0] word,

    input wire free,
    input wire quiet,
    output logic put,
    output logic [7:0] put_data,
    output logic put_last,
    output logic put_counts
);
  localparam logic [1:0] IDLE = 2'd0, HEAD = 2'd1, BODY = 2'd2, END = 2'd3;

  logic [1:0] state;
  logic want_nak, want_state, changed;
  wire want_answer, answer_reads;
  wire [7:0] answer_tag;
  wire [39:0] answer;  // address and value of a WRITE, address and count of a READ

  logic [31:0] head;
  logic [7:0] kind, left, at;
  logic [1:0] step;  // four cycles a byte of the body, so that memories and registers have time
  logic [15:0] said;  // ack and limit of the last frame
  wire in_body = state == BODY;

  // What to send is chosen in one cycle and begun in the next; only DATA may no longer be there then.
  logic pick_answer, pick_nak, pick_state, pick_data, pick_change;
  wire picked = pick_answer || pick_nak || pick_state || pick_data || pick_change;
  wire go = state == IDLE && free && !picked;
  wire send_answer = pick_answer;
  wire send_nak = pick_nak;
  wire send_state = pick_state;
  wire send_data = pick_data && available;
  wire begins = pick_answer || pick_nak || pick_state || send_data || pick_change;

  always_ff @(posedge clk) begin
    pick_answer <= go && want_answer;
    pick_nak <= go && !want_answer && want_nak;
    pick_state <= go && !want_answer && !want_nak && want_state;
    pick_data <= go && !want_answer && !want_nak && !want_state && available;
    pick_change <= go && !want_answer && !want_nak && !want_state && !available && changed && quiet;
  end

  assign place = at;

  always_ff @(posedge clk) begin
    changed <= said != {ack, limit};
    take <= send_data;
    if (begins) begin
      said <= {ack, limit};
      head[31:16] <= {limit, ack};
      if (send_answer) begin
        head[15:0] <= {answer_tag, answer_reads ? shell_constants::KIND_REGISTERS : shell_constants::KIND_WRITTEN};
        left <= answer_reads ? {answer[13:8], 2'b01} : 8'd5;
      end else if (send_data) begin
        head[15:0] <= {seq, shell_constants::KIND_DATA_OUT};
        left <= length;
      end else begin
        head[15:0] <= {8'd0, send_nak ? shell_constants::KIND_NAK : shell_constants::KIND_STATE};
        left <= '0;
      end
    end else if (state == HEAD) begin
      head <= head >> 8;
      if (step == 2'd0) kind <= head[7:0];
    end else if (in_body && step == 2'd3) begin
      left <= left - 8'd1;
    end
  end

  // Answers wait in the order of their questions; a question that finds no place is lost, and the host asks again.
  wire unused_ready, unused_last;
  wire asks = do_write || do_read;

  stream_fifo #(
      .WIDTH(49),
      .DEPTH(32)
  ) u_answers (
      .clk(clk),
      .rst(rst),
      .s_axis_tvalid(asks),
      .s_axis_tready(unused_ready),
      .s_axis_tdata({do_read, tag, do_read ? {24'd0, value[31:24]} : value, address}),
      .s_axis_tlast(1'b0),
      .m_axis_tvalid(want_answer),
      .m_axis_tready(send_answer),
      .m_axis_tdata({answer_reads, answer_tag, answer}),
      .m_axis_tlast(unused_last)
  );

  always_ff @(posedge clk) begin
    want_nak <= ask_nak || (want_nak && !send_nak);
    want_state <= ask_state || (want_state && !send_state);
    if (rst) begin
      want_nak <= 1'b0;
      want_state <= 1'b1;  // the board tells that it has started
    end
  end

  // Bytes of the body.
  logic [39:0] written;
  wire [7:0] word_at = at - 8'd1;  // place of a byte in the words of REGISTERS, which follow the address
  wire last_of_head = state == HEAD && step == 2'd3;

  always_ff @(posedge clk) begin
    if (begins) written <= answer;
    else if (in_body && step == 2'd3 && kind == shell_constants::KIND_WRITTEN) written <= written >> 8;
    if (begins) index <= answer[7:0];
    else if (in_body && step == 2'd3 && at != 8'd0 && word_at[1:0] == 2'd3) index <= index + 8'd1;
    sample <= in_body && step == 2'd1 && at != 8'd0 && word_at[1:0] == 2'd0;
    put <= state == HEAD || (in_body && step == 2'd3);
    put_last <= (last_of_head && left == 8'd0) || (in_body && step == 2'd3 && left == 8'd1);
    put_counts <= kind == shell_constants::KIND_DATA_OUT;
    if (state == HEAD) put_data <= head[7:0];
    else if (kind == shell_constants::KIND_DATA_OUT) put_data <= data;
    else if (kind == shell_constants::KIND_WRITTEN || at == 8'd0) put_data <= written[7:0];
    else put_data <= word[8*word_at[1:0]+:8];
  end

  always_ff @(posedge clk) begin
    step <= state == IDLE ? '0 : step + 2'd1;
    case (state)
      IDLE: if (begins) state <= HEAD;
      HEAD: if (step == 2'd3) state <= left == 8'd0 ? END : BODY;
      BODY: if (step == 2'd3 && left == 8'd1) state <= END;
      default: if (step == 2'd3) state <= IDLE;  // until `free` is of after this packet
    endcase
    if (begins) at <= '0;
    else if (in_body && step == 2'd3) at <= at + 8'd1;
    if (rst) state <= IDLE;
  end

  wire unused = &{1'b0, word_at[7:2], unused_ready, unused_last};
endmodule

`default_nettype wire
