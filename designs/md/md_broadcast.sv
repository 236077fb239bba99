// Carries a bus to all workers: STAGES registers, of which the last is one for each GROUP of workers where there are more.
// Its copies are kept apart, so that none drives more than a group.
`default_nettype none

module md_broadcast #(
    parameter int WORKERS = 4,
    // Workers that one register drives.
    parameter int GROUP = 8,
    // Bits that the reset clears, lowest: valid bits.
    parameter int FLAGS = 1,
    // All bits.
    parameter int BITS = 32,
    // Registers on the way; derived.
    parameter int STAGES = WORKERS > GROUP ? 2 : 1
) (
    input wire clk,
    input wire rst,
    input wire [BITS-1:0] in,
    // A word for each worker.
    output wire [WORKERS*BITS-1:0] out
);
  if (GROUP < 1 || FLAGS < 0 || FLAGS > BITS) begin : g_size
    $error("md_broadcast: GROUP must be at least 1, and FLAGS at most BITS");
  end

  localparam int GROUPS = (WORKERS + GROUP - 1) / GROUP;
  localparam bit [BITS-1:0] KEPT = ~(BITS'((128'd1 << FLAGS) - 128'd1));

  wire [BITS-1:0] near;

  if (STAGES > 1) begin : g_near
    logic [BITS-1:0] first;
    always_ff @(posedge clk) first <= rst ? in & KEPT : in;
    assign near = first;
  end else begin : g_wire
    assign near = in;
  end

  for (genvar g = 0; g < GROUPS; g++) begin : g_group
    localparam int OWN = g == GROUPS - 1 ? WORKERS - g * GROUP : GROUP;
    (* keep *) logic [BITS-1:0] copy;
    always_ff @(posedge clk) copy <= rst ? near & KEPT : near;
    assign out[g*GROUP*BITS+:OWN*BITS] = {OWN{copy}};
  end
endmodule

`default_nettype wire
