// A stand-in for the force worker in tests of the engine: the ports of md_worker, the whole unit worked out in one cycle
// after a random while, and home forces that come with pauses. Its force is simple: K = (RC2 - r^2) >> SHIFT for r^2 < RC2. Not for synthesis.
`default_nettype none

module md_worker_model #(
    parameter int P = 16,
    parameter int SUM = 36,
    parameter logic [63:0] RC2 = 64'h1_0000_0000,
    parameter logic [63:0] RMIN2 = 64'h100,
    parameter int SHIFT = 12,
    parameter int CELLS_X = 3,
    parameter int CELLS_Y = 3,
    parameter int CELLS_Z = 3,
    parameter int CAPACITY = 8,
    parameter int FILTERS = 4,
    parameter int SEED = 1,
    parameter int X = $clog2(CELLS_X),
    parameter int Y = $clog2(CELLS_Y),
    parameter int Z = $clog2(CELLS_Z),
    parameter int CELLS = CELLS_X * CELLS_Y * CELLS_Z,
    parameter int CELL = $clog2(CELLS),
    parameter int SLOT = $clog2(CAPACITY),
    parameter int COUNT = $clog2(CAPACITY + 1),
    parameter int ADDRESS = $clog2(CELLS * CAPACITY),
    parameter int SIZE = $clog2(FILTERS + 1)
) (
    input wire clk,
    input wire rst,
    input wire clear,
    input wire pos_write,
    input wire [ADDRESS-1:0] pos_address,
    input wire [3*P:0] pos_data,
    input wire count_write,
    input wire [CELL-1:0] count_cell,
    input wire [COUNT-1:0] count_value,
    input wire unit_valid,
    output logic unit_ready,
    input wire [X-1:0] unit_x,
    input wire [Y-1:0] unit_y,
    input wire [Z-1:0] unit_z,
    input wire [CELL-1:0] unit_cell,
    input wire [SLOT-1:0] unit_first,
    input wire [SIZE-1:0] unit_count,
    output logic home_valid,
    input wire home_ready,
    output logic [ADDRESS-1:0] home_address,
    output logic [3*SUM-1:0] home_force,
    input wire sum_read,
    input wire [ADDRESS-1:0] sum_address,
    output logic [3*SUM-1:0] sum_force,
    output logic idle,
    output logic close,
    output logic [39:0] pairs,
    output logic [39:0] candidates,
    output logic [39:0] stalled
);
  longint positions[CELLS*CAPACITY][3];
  int counts[CELLS];
  longint sums[CELLS*CAPACITY][3];
  longint homes[FILTERS][3];
  int wait_left, home_left, home_next, home_base;
  logic waiting;
  logic started;  // before the first reset everything is random
  initial started = 1'b0;
  logic [31:0] noise;
  int ux, uy, uz, ucell, ufirst, ucount;

  logic [3*SUM-1:0] read1, read2;
  logic near;
  logic [39:0] pair_count, candidate_count;

  task automatic work();
    for (int n = 0; n < FILTERS; n++) for (int d = 0; d < 3; d++) homes[n][d] = 0;
    for (int dz = 0; dz <= 1; dz++)
      for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
          if (dz * 9 + dy * 3 + dx >= 0) begin
            automatic int cell_index = ((uz + dz) % CELLS_Z * CELLS_Y + (uy + dy + CELLS_Y) % CELLS_Y) * CELLS_X
                + (ux + dx + CELLS_X) % CELLS_X;
            for (int j = 0; j < counts[cell_index]; j++)
              for (int i = 0; i < ucount; i++)
                if (dz != 0 || dy != 0 || dx != 0 || j > ufirst + i) begin
                  automatic longint r2 = 0;
                  automatic longint d[3];
                  automatic int at_i = ucell * CAPACITY + ufirst + i, at_j = cell_index * CAPACITY + j;
                  d[0] = positions[at_j][0] + (longint'(dx) <<< P) - positions[at_i][0];
                  d[1] = positions[at_j][1] + (longint'(dy) <<< P) - positions[at_i][1];
                  d[2] = positions[at_j][2] + (longint'(dz) <<< P) - positions[at_i][2];
                  for (int k = 0; k < 3; k++) r2 += d[k] * d[k];
                  candidate_count = candidate_count + 40'd1;
                  if (r2 < longint'(RC2)) begin
                    pair_count = pair_count + 40'd1;
                    if (r2 < longint'(RMIN2)) near = 1'b1;
                    for (int k = 0; k < 3; k++) begin
                      automatic longint f = ((longint'(RC2) - r2) >>> SHIFT) * d[k];
                      f = (f + (longint'(1) <<< (P - 1)) - (f < 0 ? 1 : 0)) >>> P;
                      sums[at_j][k] = sums[at_j][k] + f;
                      homes[i][k] = homes[i][k] - f;
                    end
                  end
                end
          end
  endtask

  always @(posedge clk) begin
    noise = noise ^ (noise << 13);
    noise = noise ^ (noise >> 17);
    noise = noise ^ (noise << 5);
    near = 1'b0;
    if (clear) begin
      pair_count = '0;
      candidate_count = '0;
      stalled <= 40'd7;
    end
    if (home_valid && home_ready) begin
      home_left = home_left - 1;
      home_next = home_next + 1;
    end else if (waiting) begin
      if (wait_left == 0) begin
        work();
        waiting = 1'b0;
        home_left = ucount;
        home_next = 0;
        home_base = ucell * CAPACITY + ufirst;
      end
      wait_left = wait_left - 1;
    end else if (unit_valid && unit_ready) begin
      ux = int'(unit_x);
      uy = int'(unit_y);
      uz = int'(unit_z);
      ucell = int'(unit_cell);
      ufirst = int'(unit_first);
      ucount = int'(unit_count);
      waiting = 1'b1;
      wait_left = int'(noise[4:0]);
    end
    if (pos_write) for (int k = 0; k < 3; k++) positions[pos_address][k] = longint'(pos_data[k*P+:P]);
    if (count_write) counts[count_cell] = int'(count_value);
    if (started && (pos_write || count_write || sum_read) && !rst && !idle)
      $error("md_worker_model: touched while a unit is worked on");
    sum_force <= read2;
    read2 = read1;
    if (sum_read) begin
      read1 = {SUM'(sums[sum_address][2]), SUM'(sums[sum_address][1]), SUM'(sums[sum_address][0])};
      for (int k = 0; k < 3; k++) sums[sum_address][k] = 0;
    end
    if (rst) begin
      started = 1'b1;
      noise = 32'(SEED) * 32'h9E3779B1 | 32'd1;
      waiting = 1'b0;
      home_left = 0;
    end
    // All outputs at once, of what has just been worked out.
    unit_ready <= !waiting && home_left == 0;
    idle <= !waiting && home_left == 0;
    home_valid <= home_left != 0 && (noise[3] || (home_valid && !home_ready)) && !rst;
    home_address <= ADDRESS'(home_base + home_next);
    home_force <= {SUM'(homes[home_next][2]), SUM'(homes[home_next][1]), SUM'(homes[home_next][0])};
    close <= near;
    pairs <= pair_count;
    candidates <= candidate_count;
  end
endmodule

`default_nettype wire
