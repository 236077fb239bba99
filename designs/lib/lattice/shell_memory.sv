// As designs/boards/shell/shell_memory.sv, in block RAM of an ECP5 (DP16KD) with the block's own output register: without
// it a word takes most of the cycle to come out, and synthesis does not find the register by itself.
`default_nettype none

module shell_memory #(
    // Bits of a word.
    parameter int WIDTH = 8,
    // Words, at most 16384.
    parameter int DEPTH = 512,
    // Bits of an address; derived.
    parameter int ADDRESS = $clog2(DEPTH)
) (
    input wire clk,
    input wire write,
    input wire [ADDRESS-1:0] write_address,
    input wire [WIDTH-1:0] write_data,
    input wire read,
    input wire [ADDRESS-1:0] read_address,
    input wire move,
    output wire [WIDTH-1:0] read_data
);
  if (WIDTH < 1 || DEPTH < 2 || DEPTH > 16384) begin : g_size
    $error("shell_memory: WIDTH must be at least 1 and DEPTH from 2 to 16384");
  end

  // A block is as deep as the memory, so that no logic follows it; its lowest address bits are below a word. With words of
  // 18 bits the lowest two enable the bytes that are written.
  localparam int SHIFT = ADDRESS <= 10 ? 4 : 14 - ADDRESS;
  localparam int BITS = ADDRESS <= 10 ? 18 : ADDRESS == 11 ? 9 : 1 << SHIFT;
  localparam int BLOCKS = (WIDTH + BITS - 1) / BITS;

  wire [13:0] to = (14'(write_address) << SHIFT) | (BITS == 18 ? 14'd3 : 14'd0);
  wire [13:0] from = 14'(read_address) << SHIFT;
  wire [BLOCKS*BITS-1:0] padded = (BLOCKS * BITS)'(write_data);
  wire [BLOCKS*BITS-1:0] words;
  assign read_data = words[WIDTH-1:0];

  for (genvar i = 0; i < BLOCKS; i++) begin : g_block
    wire [17:0] in = 18'(padded[i*BITS+:BITS]);
    wire [17:0] out;
    assign words[i*BITS+:BITS] = out[BITS-1:0];

    DP16KD #(
        .DATA_WIDTH_A(BITS),
        .DATA_WIDTH_B(BITS),
        .REGMODE_A("NOREG"),
        .REGMODE_B("OUTREG"),
        .RESETMODE("SYNC"),
        .ASYNC_RESET_RELEASE("SYNC"),
        .CSDECODE_A("0b000"),
        .CSDECODE_B("0b000"),
        .WRITEMODE_A("NORMAL"),
        .WRITEMODE_B("NORMAL"),
        .GSR("AUTO")
    ) u_ram (
          .CLKA(clk), .CEA(1'b1), .OCEA(1'b0), .WEA(write), .RSTA(1'b0), .CSA0(1'b0), .CSA1(1'b0), .CSA2(1'b0),
          .ADA0(to[0]), .ADA1(to[1]), .ADA2(to[2]), .ADA3(to[3]), .ADA4(to[4]), .ADA5(to[5]), .ADA6(to[6]),
          .ADA7(to[7]), .ADA8(to[8]), .ADA9(to[9]), .ADA10(to[10]), .ADA11(to[11]), .ADA12(to[12]), .ADA13(to[13]),
          .DIA0(in[0]), .DIA1(in[1]), .DIA2(in[2]), .DIA3(in[3]), .DIA4(in[4]), .DIA5(in[5]), .DIA6(in[6]),
          .DIA7(in[7]), .DIA8(in[8]), .DIA9(in[9]), .DIA10(in[10]), .DIA11(in[11]), .DIA12(in[12]), .DIA13(in[13]),
          .DIA14(in[14]), .DIA15(in[15]), .DIA16(in[16]), .DIA17(in[17]),
          .CLKB(clk), .CEB(read), .OCEB(move), .WEB(1'b0), .RSTB(1'b0), .CSB0(1'b0), .CSB1(1'b0), .CSB2(1'b0),
          .ADB0(from[0]), .ADB1(from[1]), .ADB2(from[2]), .ADB3(from[3]), .ADB4(from[4]), .ADB5(from[5]),
          .ADB6(from[6]), .ADB7(from[7]), .ADB8(from[8]), .ADB9(from[9]), .ADB10(from[10]), .ADB11(from[11]),
          .ADB12(from[12]), .ADB13(from[13]), .DIB0(1'b0), .DIB1(1'b0), .DIB2(1'b0), .DIB3(1'b0), .DIB4(1'b0),
          .DIB5(1'b0), .DIB6(1'b0), .DIB7(1'b0), .DIB8(1'b0), .DIB9(1'b0), .DIB10(1'b0), .DIB11(1'b0), .DIB12(1'b0),
          .DIB13(1'b0), .DIB14(1'b0), .DIB15(1'b0), .DIB16(1'b0), .DIB17(1'b0), .DOB0(out[0]), .DOB1(out[1]),
          .DOB2(out[2]), .DOB3(out[3]), .DOB4(out[4]), .DOB5(out[5]), .DOB6(out[6]), .DOB7(out[7]), .DOB8(out[8]),
          .DOB9(out[9]), .DOB10(out[10]), .DOB11(out[11]), .DOB12(out[12]), .DOB13(out[13]), .DOB14(out[14]),
          .DOB15(out[15]), .DOB16(out[16]), .DOB17(out[17])
    );

    wire unused = &{1'b0, out};
  end

  wire unused = &{1'b0, words};
endmodule

`default_nettype wire
