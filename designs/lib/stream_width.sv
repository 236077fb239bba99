// Width converter between streams whose words are whole numbers of units: the first unit is in the lowest bits, and
// the order of units does not change. One word a cycle on the narrow side without gaps; IN == OUT is a register stage.
// s_axis_tready does not depend on m_axis_tready within a cycle, m_axis_* are registers, so that this module also cuts
// long chains of ready signals.
//
//   stream_width #(.UNIT(1), .IN(128), .OUT(512)) u_width (.clk, .rst, .s_axis_*, .m_axis_*);
`default_nettype none

module stream_width #(
    // Bits of a unit.
    parameter int UNIT = 8,
    // Units of an input word; IN divides OUT or OUT divides IN.
    parameter int IN = 1,
    // Units of an output word.
    parameter int OUT = 4
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [UNIT*IN-1:0] s_axis_tdata,

    output wire m_axis_tvalid,
    input wire m_axis_tready,
    output wire [UNIT*OUT-1:0] m_axis_tdata
);
  if (UNIT < 1 || IN < 1 || OUT < 1) begin : g_size
    $error("stream_width: UNIT, IN and OUT must be at least 1");
  end else if (IN % OUT != 0 && OUT % IN != 0) begin : g_ratio
    $error("stream_width: IN must divide OUT, or OUT must divide IN");
  end

  wire take = s_axis_tvalid && s_axis_tready;

  if (OUT > IN) begin : g_collect
    localparam int WORDS = OUT / IN;
    localparam int COUNT = $clog2(WORDS);

    logic [UNIT*OUT-1:0] word, result;
    logic [COUNT-1:0] count;  // words taken of the present result
    logic full, valid;  // `word` is complete, `result` is

    wire move = full && (!valid || m_axis_tready);
    assign s_axis_tready = !full || !valid;
    assign m_axis_tvalid = valid;
    assign m_axis_tdata = result;

    always_ff @(posedge clk) begin
      if (take) word <= {s_axis_tdata, word[UNIT*OUT-1:UNIT*IN]};
      if (move) result <= word;
    end

    always_ff @(posedge clk) begin
      if (take) count <= count == COUNT'(WORDS - 1) ? '0 : count + 1'b1;
      full <= (take && count == COUNT'(WORDS - 1)) || (full && !move);
      valid <= move || (valid && !m_axis_tready);
      if (rst) begin
        count <= '0;
        full  <= 1'b0;
        valid <= 1'b0;
      end
    end
  end else begin : g_split
    localparam int WORDS = IN / OUT;
    localparam int COUNT = $clog2(WORDS + 1);

    logic [UNIT*IN-1:0] word, hold;  // what is going out, next lowest; what comes after
    logic [COUNT-1:0] left;  // output words still in `word`
    logic held;

    wire load = left == '0 || (left == COUNT'(1) && m_axis_tready);
    assign s_axis_tready = !held;
    assign m_axis_tvalid = left != '0;
    assign m_axis_tdata = word[UNIT*OUT-1:0];

    always_ff @(posedge clk) begin
      if (load) word <= held ? hold : s_axis_tdata;
      else if (m_axis_tready) word <= word >> (UNIT * OUT);
      if (!held) hold <= s_axis_tdata;
    end

    always_ff @(posedge clk) begin
      if (load) left <= held || take ? COUNT'(WORDS) : '0;
      else if (m_axis_tready) left <= left - 1'b1;
      held <= !load && (held || take);
      if (rst) begin
        left <= '0;
        held <= 1'b0;
      end
    end
  end
endmodule

`default_nettype wire
