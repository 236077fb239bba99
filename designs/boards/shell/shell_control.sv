// The register CONTROL and the tag of the last WRITE: a WRITE that comes again with the same tag is answered, not done.
`default_nettype none

module shell_control #(
    // Cycles of a reset by the host.
    parameter int CYCLES = 16
) (
    input wire clk,
    input wire rst,

    input wire do_write,
    input wire [7:0] tag,
    input wire [7:0] address,
    input wire [31:0] value,

    output logic resetting,
    // From the WRITE that resets to the end of the reset: nothing is answered, so that answers are of after it.
    output logic settling,
    output logic hold,
    output logic clear,
    // A WRITE was done since configuration, and its tag.
    output logic written,
    output logic [7:0] last_tag
);
  localparam int COUNT = $clog2(CYCLES + 1);
  localparam int RESET = 0, HOLD = 1, CLEAR = 2;

  logic [COUNT-1:0] left;
  logic is_new, is_control;  // the fields are there long before `do_write`
  wire writes = do_write && is_new;
  wire controls = do_write && is_new && is_control;

  always_ff @(posedge clk) begin
    is_new <= !(written && tag == last_tag);
    is_control <= address == {2'b0, shell_constants::REG_CONTROL};
    if (writes) begin
      written <= 1'b1;
      last_tag <= tag;
    end
    if (controls) hold <= value[HOLD];
    clear <= controls && value[CLEAR];
    if (controls && value[RESET]) left <= COUNT'(CYCLES);
    else if (left != '0) left <= left - 1'b1;
    resetting <= left != '0;
    settling <= (controls && value[RESET]) || left != '0 || resetting;
    if (rst) begin
      written <= 1'b0;
      last_tag <= '0;
      hold <= 1'b0;
      left <= '0;
      resetting <= 1'b1;
      settling <= 1'b1;
    end
  end

  wire unused = &{1'b0, value[31:3]};
endmodule

`default_nettype wire
