// Flags and counters of the engine: what went wrong, how many particles there are, how many cycles it took. The flags stay
// until `clear`.
`default_nettype none

module md_account (
    input wire clk,
    input wire clear,

    input wire forcing,
    input wire moving,
    input wire step_done,
    // A particle from the stream was placed, or was not valid; in a step one was dropped, or some were dropped on loading.
    input wire loaded,
    input wire invalid,
    input wire load_dropped,
    input wire move_dropped,
    input wire unknown,
    input wire close,
    input wire fast,

    // OVERFLOW, CLOSE, FAST, INVALID from bit 0 up.
    output logic [7:0] flags,
    output logic [31:0] steps,
    output logic [47:0] force_cycles,
    output logic [47:0] run_cycles,
    output logic [31:0] particles,
    output logic [31:0] lost
);
  // Additions in a cycle of their own: nothing here is urgent.
  logic forcing1, running1, step1, more1, less1, lost1;
  logic [3:0] seen;

  always_ff @(posedge clk) begin
    forcing1 <= forcing;
    running1 <= forcing || moving;
    step1 <= step_done;
    more1 <= loaded;
    less1 <= move_dropped;
    lost1 <= load_dropped || move_dropped || invalid;
    seen <= {invalid || unknown, fast, close, load_dropped || move_dropped};

    flags <= flags | {4'd0, seen};
    steps <= steps + 32'(step1);
    force_cycles <= force_cycles + 48'(forcing1);
    run_cycles <= run_cycles + 48'(running1);
    if (more1 != less1) particles <= particles + {{31{less1}}, 1'b1};
    lost <= lost + 32'(lost1);
    if (clear) begin
      seen <= '0;
      flags <= '0;
      steps <= '0;
      force_cycles <= '0;
      run_cycles <= '0;
      particles <= '0;
      lost <= '0;
    end
  end
endmodule

`default_nettype wire
