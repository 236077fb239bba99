// Sums of the forces on the home particles, in two sets for two units: pairs of one are still added while the sums of the
// other go out, in the order of the particles. A unit's sums go out when its last pair was added (`add_last`); its set is
// free again (`freed`, a pulse) when all have been taken. Each sum goes out with the opposite sign of what was added.
//
// After a reset all sums are made zero, and `ready` is low until then.
`default_nettype none

module md_home_sums #(
    // Home particles of a unit, at most.
    parameter int FILTERS = 8,
    // Bits of a sum; a force has three.
    parameter int SUM = 36,
    // Bits of a particle's address.
    parameter int ADDRESS = 11,
    // Derived.
    parameter int INDEX = FILTERS > 1 ? $clog2(FILTERS) : 1,
    parameter int SIZE = $clog2(FILTERS + 1)
) (
    input wire clk,
    input wire rst,
    output logic ready,

    input wire begin_valid,
    input wire begin_set,
    input wire [ADDRESS-1:0] begin_address,
    input wire [SIZE-1:0] begin_count,

    input wire add,
    input wire add_last,
    input wire add_set,
    input wire [INDEX-1:0] add_index,
    input wire [3*SUM-1:0] add_force,

    output logic home_valid,
    input wire home_ready,
    output logic [ADDRESS-1:0] home_address,
    output logic [3*SUM-1:0] home_force,
    output logic [1:0] freed
);
  // Where the two units' particles lie, and how many they are.
  logic [ADDRESS-1:0] first0, first1;
  logic [SIZE-1:0] count0, count1;

  always_ff @(posedge clk) begin
    if (begin_valid && !begin_set) {first0, count0} <= {begin_address, begin_count};
    if (begin_valid && begin_set) {first1, count1} <= {begin_address, begin_count};
  end

  // The last additions of a set take four cycles.
  logic [3:0] last_line, set_line;
  logic [1:0] full;
  logic set, sweep, active;
  logic [SIZE-1:0] left;
  logic [INDEX-1:0] index;
  logic [ADDRESS-1:0] address;
  logic take, take_set, take1, take2;
  logic [INDEX-1:0] take_index;
  wire [3*SUM-1:0] taken;

  // A sum is asked for, is there three cycles later, and waits as `home_force` until it is taken.
  wire ask = active && !take && !take1 && !take2 && !home_valid;

  always_ff @(posedge clk) begin
    last_line <= {last_line[2:0], add_last};
    set_line <= {set_line[2:0], add_set};
    freed <= '0;
    take <= sweep || ask;
    take_set <= set;
    take_index <= index;
    take1 <= take && active;
    take2 <= take1;

    if (sweep) begin
      index <= index + 1'b1;
      set <= set ^ (index == '1);
      if (index == '1 && set) begin
        sweep <= 1'b0;
        ready <= 1'b1;
      end
    end else if (!active) begin
      index <= '0;
      address <= set ? first1 : first0;
      left <= set ? count1 : count0;
      active <= full[set];
    end else if (home_valid && home_ready) begin
      index <= index + 1'b1;
      address <= address + 1'b1;
      left <= left - 1'b1;
      if (left == SIZE'(1)) begin
        active <= 1'b0;
        full[set] <= 1'b0;
        freed[set] <= 1'b1;
        set <= !set;
      end
    end
    if (last_line[3]) full[set_line[3]] <= 1'b1;

    if (take2) begin
      home_valid <= 1'b1;
      home_address <= address;
    end else if (home_ready) begin
      home_valid <= 1'b0;
    end

    if (rst) begin
      sweep <= 1'b1;
      ready <= 1'b0;
      index <= '0;
      set <= 1'b0;
      active <= 1'b0;
      full <= '0;
      freed <= '0;
      last_line <= '0;
      take <= 1'b0;
      take1 <= 1'b0;
      take2 <= 1'b0;
      home_valid <= 1'b0;
    end
  end

  for (genvar i = 0; i < 3; i++) begin : g_axis
    always_ff @(posedge clk) if (take2) home_force[i*SUM+:SUM] <= -taken[i*SUM+:SUM];
  end

  md_sums #(
      .WORDS(1 << INDEX),
      .SUM  (SUM),
      .SETS (2)
  ) u_sums (
      .clk(clk),
      .rst(rst),
      .add(add),
      .add_set(add_set),
      .address(add_index),
      .addends(add_force),
      .take(take),
      .take_set(take_set),
      .take_address(take_index),
      .taken(taken)
  );
endmodule

`default_nettype wire
