// The weights of a whole network, loaded at build and only read: DEPTH words. `data` is the word at `address` three
// cycles before. Word w lies in bank w mod BANKS, and a line of the file FILE ($readmemh) has the words of all banks at
// one address, the lowest one last (designs/deconv/compiler_images.py).
//
// Block RAM is slow, so nothing follows it but a register: as many banks as make each no deeper than one block, and one
// of them is chosen a cycle later. Depths are filled up to a power of two, for blocks side by side need no multiplexer.
`default_nettype none

(* keep_hierarchy *)
module deconv_rom #(
    // Bits of a word.
    parameter int WIDTH = 8,
    // Words.
    parameter int DEPTH = 16,
    // Path of the file, absolute or from where the tool runs.
    parameter FILE = "",
    // Most words of a bank, a power of two. A block of an ECP5 holds so many of 9 bits.
    parameter int BLOCK = 2048,
    // Bits of the address; derived.
    parameter int ADDRESS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input wire clk,
    input wire [ADDRESS-1:0] address,
    output logic [WIDTH-1:0] data
);
  localparam int SELECT = DEPTH > BLOCK ? $clog2((DEPTH + BLOCK - 1) / BLOCK) : 0;
  localparam int BANKS = 1 << SELECT;
  localparam int ROW = ADDRESS - SELECT;
  localparam int ROWS = 1 << ROW;

  if (WIDTH < 1 || DEPTH < 2) begin : g_size
    $error("deconv_rom: WIDTH must be at least 1, DEPTH at least 2");
  end
  if (BLOCK < 2 || (BLOCK & (BLOCK - 1)) != 0) begin : g_block
    $error("deconv_rom: BLOCK must be a power of two of at least 2");
  end
  if (FILE == "") begin : g_file
    $error("deconv_rom: FILE must name a file of DEPTH words");
  end

  (* rom_style = "block" *) logic [BANKS*WIDTH-1:0] memory[ROWS];
  initial $readmemh(FILE, memory);

  logic [BANKS*WIDTH-1:0] read, late;
  always_ff @(posedge clk) begin
    read <= memory[address[ADDRESS-1:SELECT]];
    late <= read;
  end

  if (BANKS == 1) begin : g_one
    always_ff @(posedge clk) data <= late;
  end else begin : g_banks
    logic [SELECT-1:0] bank, bank_late;
    always_ff @(posedge clk) begin
      bank <= address[SELECT-1:0];
      bank_late <= bank;
      data <= late[bank_late*WIDTH+:WIDTH];
    end
  end
endmodule

`default_nettype wire
