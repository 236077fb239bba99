// The pins of a gigabit PHY (RGMII) as bytes: both edges of the clock carry half a byte, and on the control pins valid,
// then valid xor error. Everything runs in the clock that the PHY gives, the sending side too, as it leaves for the PHY
// again. Only 1 Gb/s: at a lower rate frames are not understood. The PHY is reset for RESET cycles of `clk`; MDIO is left
// alone, so that the PHY works as its straps say.
`default_nettype none

module eth_rgmii #(
    // Delays in taps of 25 ps, where neither the PHY nor the board delays: of the clock out, and of all pins in.
    parameter int TX_DELAY = 0,
    parameter int RX_DELAY = 0,
    // Cycles of reset, a power of two.
    parameter int RESET = 32768
) (
    input wire clk,
    input wire rst,
    output logic phy_rst_n,

    input wire rgmii_rx_clk,
    input wire rgmii_rx_ctl,
    input wire [3:0] rgmii_rxd,
    output wire rgmii_tx_clk,
    output wire rgmii_tx_ctl,
    output wire [3:0] rgmii_txd,

    output wire eth_clk,
    output logic rx_valid,
    output logic rx_error,
    output logic [7:0] rx_data,
    input wire tx_valid,
    input wire [7:0] tx_data
);
  assign eth_clk = rgmii_rx_clk;

  logic [$clog2(RESET):0] waited;

  always_ff @(posedge clk) begin
    phy_rst_n <= waited[$clog2(RESET)];
    if (rst) waited <= '0;
    else if (!waited[$clog2(RESET)]) waited <= waited + 1'b1;
  end

  wire rise_ctl, fall_ctl;
  wire [3:0] rise, fall;

  ddr_in #(
      .WIDTH(5),
      .DELAY(RX_DELAY)
  ) u_in (
      .clk(eth_clk),
      .d({rgmii_rx_ctl, rgmii_rxd}),
      .rise({rise_ctl, rise}),
      .fall({fall_ctl, fall})
  );

  always_ff @(posedge eth_clk) begin
    rx_valid <= rise_ctl;
    rx_error <= rise_ctl != fall_ctl;
    rx_data  <= {fall, rise};
  end

  ddr_out #(
      .WIDTH(5)
  ) u_out (
      .clk(eth_clk),
      .rise({tx_valid, tx_data[3:0]}),
      .fall({tx_valid, tx_data[7:4]}),
      .q({rgmii_tx_ctl, rgmii_txd})
  );

  ddr_out #(
      .DELAY(TX_DELAY)
  ) u_clock (
      .clk(eth_clk),
      .rise(1'b1),
      .fall(1'b0),
      .q(rgmii_tx_clk)
  );
endmodule

`default_nettype wire
