// The byte FIFO that frames are received into: bytes are written on trial, `commit` keeps those since the last commit and
// counts the frame, `cancel` forgets them. `limit` is the first sequence number that there is no room for; a frame counts
// as 256 bytes, so that no division is needed.
`default_nettype none

module shell_input #(
    // Bytes, a power of two from 512 to 16384.
    parameter int DEPTH = 4096
) (
    input wire clk,
    input wire rst,

    input wire put,
    input wire [7:0] put_data,
    input wire commit,
    input wire cancel,

    output logic [7:0] expected,
    output logic [7:0] limit,
    // A whole frame fits.
    output logic room,

    output logic m_valid,
    input wire m_ready,
    output wire [7:0] m_data
);
  if (DEPTH < 512 || DEPTH > 256 * int'(shell_constants::WINDOW) || (DEPTH & (DEPTH - 1)) != 0) begin : g_depth
    $error("shell_input: DEPTH must be a power of two from 512 to 16384");
  end

  localparam int ADDRESS = $clog2(DEPTH);

  logic [ADDRESS:0] trial, kept, taken, free;
  logic [7:0] counted;  // `expected` beside `free`
  logic [7:0] frames;
  logic some;

  // A byte takes its time, no line is faster: `some` is found, the byte is fetched, moved, handed over.
  logic fetched, moved;
  wire take = some && !fetched && !moved && !m_valid;

  shell_memory #(
      .WIDTH(8),
      .DEPTH(DEPTH)
  ) u_memory (
      .clk(clk),
      .write(put),
      .write_address(trial[ADDRESS-1:0]),
      .write_data(put_data),
      .read(take),
      .read_address(taken[ADDRESS-1:0]),
      .move(1'b1),
      .read_data(m_data)
  );

  always_comb begin
    frames = '0;
    frames[ADDRESS-8:0] = free[ADDRESS:8];
  end

  always_ff @(posedge clk) begin
    if (put) trial <= trial + 1'b1;
    else if (cancel) trial <= kept;
    if (commit) begin
      kept <= trial;
      expected <= expected + 8'd1;
    end
    if (take) taken <= taken + 1'b1;
    some <= kept != taken && !take;
    fetched <= take;
    moved <= fetched;
    if (moved) m_valid <= 1'b1;
    else if (m_ready) m_valid <= 1'b0;
    free <= (ADDRESS + 1)'(DEPTH) - (kept - taken);
    counted <= expected;
    room <= free[ADDRESS:8] != '0;
    limit <= counted + frames;
    if (rst) begin
      trial <= '0;
      kept <= '0;
      taken <= '0;
      expected <= '0;
      counted <= '0;
      free <= (ADDRESS + 1)'(DEPTH);
      limit <= 8'(DEPTH / 256);
      some <= 1'b0;
      fetched <= 1'b0;
      moved <= 1'b0;
      m_valid <= 1'b0;
    end
  end

  wire unused = &{1'b0, free[7:0]};
endmodule

`default_nettype wire
