// Takes vectors of BEATS words and reads each REPEATS times, one word a cycle without gaps: the next vector comes in
// while one is read. Vectors that are read once need no memory, and vectors of one word no more than two registers.
// The reading side has no back-pressure but `allow`: a pass over a vector begins only in a cycle with `allow`. In a
// cycle with `step` a word is read, which is on `data` in the next cycle; `first` and `last` say its place in the pass.
// s_axis_tready is combinational from `allow` only where REPEATS == 1.
`default_nettype none

module replay_buffer #(
    // Bits of a word.
    parameter int WIDTH = 8,
    // Words of a vector.
    parameter int BEATS = 4,
    // Passes over a vector.
    parameter int REPEATS = 4
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [WIDTH-1:0] s_axis_tdata,

    input wire allow,
    output wire step,
    output wire first,
    output wire last,
    output logic [WIDTH-1:0] data
);
  if (WIDTH < 1 || BEATS < 1 || REPEATS < 1) begin : g_size
    $error("replay_buffer: WIDTH, BEATS and REPEATS must be at least 1");
  end

  localparam int BEAT = BEATS > 1 ? $clog2(BEATS) : 1;
  localparam int PASS = REPEATS > 1 ? $clog2(REPEATS) : 1;

  logic [BEAT-1:0] beat;
  logic [PASS-1:0] pass;
  logic first_pass, last_pass;

  assign first = beat == '0;
  assign last  = beat == BEAT'(BEATS - 1);

  always_ff @(posedge clk) begin
    if (step) begin
      beat <= last ? '0 : beat + 1'b1;
      if (last) begin
        pass <= last_pass ? '0 : pass + 1'b1;
        first_pass <= last_pass;
        last_pass <= last_pass ? REPEATS == 1 : pass == PASS'(REPEATS - 2);
      end
    end
    if (rst) begin
      beat <= '0;
      pass <= '0;
      first_pass <= 1'b1;
      last_pass <= REPEATS == 1;
    end
  end

  if (REPEATS == 1) begin : g_direct
    assign s_axis_tready = !first || allow;
    assign step = s_axis_tvalid && s_axis_tready;

    always_ff @(posedge clk) data <= s_axis_tdata;

    wire unused = &{1'b0, first_pass, last_pass};
  end else if (BEATS == 1) begin : g_registers
    logic [WIDTH-1:0] next;
    logic full;

    assign s_axis_tready = !full;
    assign step = allow && (full || !first_pass);

    always_ff @(posedge clk) begin
      if (s_axis_tready) next <= s_axis_tdata;
      if (step && first_pass) data <= next;
      full <= full ? !(step && first_pass) : s_axis_tvalid;
      if (rst) full <= 1'b0;
    end
  end else begin : g_memory
    // Two halves of BEATS words; `lead` words wait for their first reading, `room` places are free.
    localparam int LEVEL = $clog2(2 * BEATS + 1);

    (* no_rw_check *) logic [WIDTH-1:0] memory[2*BEATS];
    logic [BEAT:0] write_address;
    logic [BEAT:0] read_address;  // goes back to the begin of its half at the end of a pass
    logic [LEVEL-1:0] lead, room;
    logic ready;

    wire take = s_axis_tvalid && ready;
    wire fresh = step && first_pass;
    wire free = step && last_pass;
    assign s_axis_tready = ready;
    assign step = (!first || allow) && (!first_pass || lead != '0);

    function automatic [BEAT:0] after(input [BEAT:0] address);
      after = address == (BEAT + 1)'(2 * BEATS - 1) ? '0 : address + 1'b1;
    endfunction

    logic half;

    always_ff @(posedge clk) begin
      if (take) memory[write_address] <= s_axis_tdata;
      if (step) data <= memory[read_address];
    end

    always_ff @(posedge clk) begin
      if (take) write_address <= after(write_address);
      if (step) begin
        read_address <= after(read_address);
        if (last && !last_pass) read_address <= half ? (BEAT + 1)'(BEATS) : '0;
        if (last && last_pass) half <= !half;
      end
      if (take != fresh) lead <= lead + {{(LEVEL - 1) {!take}}, 1'b1};  // plus or minus one with one adder
      if (take != free) room <= room + {{(LEVEL - 1) {take}}, 1'b1};
      ready <= room > LEVEL'(1) || (room == LEVEL'(1) && !take);
      if (rst) begin
        write_address <= '0;
        read_address <= '0;
        half <= 1'b0;
        lead <= '0;
        room <= LEVEL'(2 * BEATS);
        ready <= 1'b0;
      end
    end
  end
endmodule

`default_nettype wire
