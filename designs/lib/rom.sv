// Memory that is loaded at build and only read: DEPTH words of the hexadecimal file FILE ($readmemh, a word a line).
// `data` is the word at `address` of REGISTERS cycles before. Memories of more than 64 words, which a LUT of six inputs
// holds, ask for block RAM, for Yosys would take four and more LUTs a bit on Xilinx; smaller ones are the tool's to choose.
//
//   rom #(.WIDTH(256), .DEPTH(512), .FILE("layer1.hex")) u_weights (.clk, .address, .data);
//
// The module is kept apart in synthesis: mapped together with slower logic, words of LUTs became chains of LUTs.
`default_nettype none

(* keep_hierarchy *)
module rom #(
    // Bits of a word.
    parameter int WIDTH = 8,
    // Words.
    parameter int DEPTH = 16,
    // Path of the file, absolute or from where the tool runs.
    parameter FILE = "",
    // Cycles of a read, at least 1; block RAM needs 2 to be quick.
    parameter int REGISTERS = 1,
    // Bits of the address; derived.
    parameter int ADDRESS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input wire clk,
    input wire [ADDRESS-1:0] address,
    output wire [WIDTH-1:0] data
);
  if (WIDTH < 1 || DEPTH < 1) begin : g_size
    $error("rom: WIDTH and DEPTH must be at least 1");
  end
  if (REGISTERS < 1) begin : g_registers
    $error("rom: REGISTERS must be at least 1");
  end
  if (FILE == "") begin : g_file
    $error("rom: FILE must name a file of DEPTH words");
  end

  logic [WIDTH-1:0] read;

  if (DEPTH > 64 && WIDTH * DEPTH >= 2048) begin : g_block
    (* rom_style = "block" *) logic [WIDTH-1:0] memory[DEPTH];
    initial $readmemh(FILE, memory);
    always_ff @(posedge clk) read <= memory[address];
  end else begin : g_free
    logic [WIDTH-1:0] memory[DEPTH];
    initial $readmemh(FILE, memory);
    always_ff @(posedge clk) read <= memory[address];
  end

  delay #(
      .WIDTH (WIDTH),
      .STAGES(REGISTERS - 1)
  ) u_delay (
      .clk(clk),
      .in (read),
      .out(data)
  );
endmodule

`default_nettype wire
