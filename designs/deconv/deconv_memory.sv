// An activation memory: a bank for each lane, read by a RUN (the same word of all banks) or a STORE, written by a RUN
// (any part of any word of each bank) or a LOAD (one word of some banks). A RUN comes first; LOAD and STORE wait.
// A read is on `data` three cycles after its address, and so are its banks' whole words for a STORE.
`default_nettype none

module deconv_memory #(
    // Banks.
    parameter int LANES = 1,
    // Words of a bank.
    parameter int WORDS = 64,
    // Parts of a word that a RUN writes.
    parameter int PARTS = 1,
    // Bits of a part.
    parameter int BITS = 32,
    // Words of a LOAD: bank l takes word l mod COLUMNS.
    parameter int COLUMNS = 1,
    // Bits of an address at the ports, at least those that WORDS needs.
    parameter int ADDRESS = 10,
    // Bits of a part's number; derived.
    parameter int PART = PARTS > 1 ? $clog2(PARTS) : 1
) (
    input wire clk,

    input wire run_read,
    input wire [ADDRESS-1:0] run_address,
    input wire [ADDRESS-1:0] store_address,
    output wire store_ready,
    output wire [LANES*PARTS*BITS-1:0] data,

    input wire [LANES-1:0] run_write,
    input wire [LANES*ADDRESS-1:0] run_write_address,
    input wire [LANES*PART-1:0] run_write_part,
    input wire [LANES*BITS-1:0] run_write_data,
    input wire [LANES-1:0] load_write,
    input wire [ADDRESS-1:0] load_address,
    input wire [COLUMNS*PARTS*BITS-1:0] load_data,
    output wire load_ready
);
  localparam int OWN = WORDS > 1 ? $clog2(WORDS) : 1;
  localparam int WORD = PARTS * BITS;

  if (OWN > ADDRESS) begin : g_address
    $error("deconv_memory: ADDRESS is too narrow for WORDS");
  end
  if (COLUMNS < 1 || LANES % (COLUMNS < 1 ? 1 : COLUMNS) != 0) begin : g_columns
    $error("deconv_memory: COLUMNS must divide LANES");
  end

  assign store_ready = !run_read;
  assign load_ready  = run_write == '0;

  logic [OWN-1:0] read_address;
  always_ff @(posedge clk) read_address <= run_read ? run_address[OWN-1:0] : store_address[OWN-1:0];

  for (genvar l = 0; l < LANES; l++) begin : g_lane
    logic [PARTS-1:0] write;
    logic [OWN-1:0] write_address;
    logic [WORD-1:0] write_data;
    wire [PART-1:0] part = run_write_part[l*PART+:PART];

    always_ff @(posedge clk) begin
      for (int p = 0; p < PARTS; p++) begin
        write[p] <= run_write[l] ? PARTS == 1 || part == p[PART-1:0] : load_write[l] && load_ready;
      end
      write_address <= run_write[l] ? run_write_address[l*ADDRESS+:OWN] : load_address[OWN-1:0];
      write_data <= run_write[l] ? {PARTS{run_write_data[l*BITS+:BITS]}} : load_data[(l%COLUMNS)*WORD+:WORD];
    end

    deconv_bank #(
        .WORDS(WORDS),
        .PARTS(PARTS),
        .BITS (BITS)
    ) u_bank (
        .clk(clk),
        .write(write),
        .write_address(write_address),
        .write_data(write_data),
        .read_address(read_address),
        .read_data(data[l*WORD+:WORD])
    );

    if (PARTS == 1) begin : g_whole
      wire unused_part = &{1'b0, part};
    end
    if (ADDRESS > OWN) begin : g_high
      wire unused_address = &{1'b0, run_write_address[l*ADDRESS+OWN+:ADDRESS-OWN]};
    end
  end

  if (ADDRESS > OWN) begin : g_high
    wire unused = &{1'b0, run_address[ADDRESS-1:OWN], store_address[ADDRESS-1:OWN], load_address[ADDRESS-1:OWN]};
  end
endmodule

`default_nettype wire
