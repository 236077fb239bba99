// Looks up an activation for each lane: the result is the table's entry at the input's bits, read as an address.
// One register, a beat a cycle. Two lanes share a memory, which has two read ports as block RAMs have.
// s_axis_tready is combinational from m_axis_tready.
//
// TABLE: 2^IN words of OUT bits for $readmemh; a two's complement input -1 reads the last of them.
`default_nettype none

module activation_table #(
    // Numbers in a beat.
    parameter int LANES = 1,
    // Bits of an input, at most 16.
    parameter int IN = 10,
    // Bits of a result.
    parameter int OUT = 8,
    // Memory image.
    parameter TABLE = ""
) (
    input wire clk,
    input wire rst,

    input wire s_axis_tvalid,
    output wire s_axis_tready,
    input wire [LANES*IN-1:0] s_axis_tdata,

    output logic m_axis_tvalid,
    input wire m_axis_tready,
    output wire [LANES*OUT-1:0] m_axis_tdata
);
  if (LANES < 1 || OUT < 1) begin : g_size
    $error("activation_table: LANES and OUT must be at least 1");
  end
  if (IN < 1 || IN > 16) begin : g_address
    $error("activation_table: IN must be 1 to 16");
  end
  if (TABLE == "") begin : g_table
    $error("activation_table: TABLE must name a file of 2^IN words");
  end

  assign s_axis_tready = !m_axis_tvalid || m_axis_tready;

  always_ff @(posedge clk) begin
    if (s_axis_tready) m_axis_tvalid <= s_axis_tvalid;
    if (rst) m_axis_tvalid <= 1'b0;
  end

  for (genvar i = 0; i < LANES; i += 2) begin : g_pair
    // Asked for: Yosys would take a LUT for every 64 bits on the parts of Xilinx.
    (* rom_style = "block" *) logic [OUT-1:0] entries[1 << IN];
    initial $readmemh(TABLE, entries);

    for (genvar j = i; j < LANES && j < i + 2; j++) begin : g_port
      logic [OUT-1:0] entry;
      always_ff @(posedge clk) if (s_axis_tready) entry <= entries[s_axis_tdata[j*IN+:IN]];
      assign m_axis_tdata[j*OUT+:OUT] = entry;
    end
  end
endmodule

`default_nettype wire
