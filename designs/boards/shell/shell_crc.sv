// CRC-32 of IEEE 802.3 (reflected, 0xEDB88320, starts with ones), a byte a cycle. `crc` is the register before the final
// inversion: after a packet and its own CRC, lowest byte first, it is RESIDUE.
`default_nettype none

module shell_crc (
    input wire clk,
    input wire clear,
    input wire step,
    input wire [7:0] data,
    output logic [31:0] crc
);
  function automatic logic [31:0] after(input logic [31:0] state, input logic [7:0] added);
    logic [31:0] value;
    value = state ^ {24'b0, added};
    for (int i = 0; i < 8; i++) value = value[0] ? (value >> 1) ^ 32'hEDB88320 : value >> 1;
    after = value;
  endfunction

  always_ff @(posedge clk) begin
    if (clear) crc <= '1;
    else if (step) crc <= after(crc, data);
  end
endmodule

`default_nettype wire
