// Written by designs.boards.shell.constants out of designs.boards.frames; edit neither here.
`default_nettype none

package shell_constants;
  localparam logic [7:0] KIND_POLL = 8'h00;
  localparam logic [7:0] KIND_DATA_IN = 8'h01;
  localparam logic [7:0] KIND_WRITE = 8'h02;
  localparam logic [7:0] KIND_READ = 8'h03;
  localparam logic [7:0] KIND_RESEND = 8'h04;
  localparam logic [7:0] KIND_STATE = 8'h80;
  localparam logic [7:0] KIND_DATA_OUT = 8'h81;
  localparam logic [7:0] KIND_WRITTEN = 8'h82;
  localparam logic [7:0] KIND_REGISTERS = 8'h83;
  localparam logic [7:0] KIND_NAK = 8'h84;
  localparam logic [5:0] REG_CONTROL = 6'd18;
  localparam logic [5:0] REG_FLAGS = 6'd19;
  localparam logic [5:0] REG_LAST_TAG = 6'd20;
  localparam logic [5:0] REG_FRAMES_OK = 6'd21;
  localparam logic [5:0] REG_FRAMES_BAD = 6'd22;
  localparam logic [5:0] REG_WORDS_IN = 6'd23;
  localparam logic [5:0] REG_WORDS_OUT = 6'd24;
  localparam logic [5:0] REG_ITEMS_IN = 6'd25;
  localparam logic [5:0] REG_ITEMS_OUT = 6'd26;
  localparam logic [5:0] REG_CYCLES_LO = 6'd27;
  localparam logic [5:0] REG_STEADY_LO = 6'd29;
  localparam logic [5:0] REG_LATENCY_MIN = 6'd31;
  localparam logic [5:0] REG_LATENCY_MAX = 6'd32;
  localparam logic [5:0] REG_LATENCY_SUM_LO = 6'd33;
  localparam logic [5:0] REG_STALL_IN = 6'd35;
  localparam logic [5:0] REG_STALL_OUT = 6'd36;
  localparam logic [5:0] REG_LINE_LO = 6'd37;
  localparam logic [7:0] PAYLOAD = 8'd240;
  localparam logic [7:0] READ_WORDS = 8'd58;
  localparam logic [7:0] SLOTS = 8'd8;
  localparam logic [7:0] WINDOW = 8'd64;
endpackage

`default_nettype wire
