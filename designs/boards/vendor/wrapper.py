"""Tops of the vendor boards: the core in its shell behind AXI4-Lite, or behind the VC709's serial port and clock.

axil_top()                          module gatewarp_axil: `shelled` for a processor or a PCIe host
port("gatewarp_port", ...)          Verilog around it, with the names that Vivado takes for an interface
vc709(core, vendor, mhz=200)        text of the outer top and of the board top inside it
"""

from __future__ import annotations

from designs.boards import clocking
from designs.boards.shell.top import Items, shell_top
from designs.boards.vendor.clocks import mmcm
from designs.boards.vendor.facts import VendorBoard, clock_hz, plain
from designs.boards.vendor.tcl import TOP
from designs.flow.evidence import Core

#: Signals of AXI4-Lite as a slave sees them: name, bits (0: the width of an address), and whether it is an input.
AXI: tuple[tuple[str, int, bool], ...] = (
    ("awvalid", 1, True), ("awready", 1, False), ("awaddr", 0, True), ("awprot", 3, True),
    ("wvalid", 1, True), ("wready", 1, False), ("wdata", 32, True), ("wstrb", 4, True),
    ("bvalid", 1, False), ("bready", 1, True), ("bresp", 2, False),
    ("arvalid", 1, True), ("arready", 1, False), ("araddr", 0, True), ("arprot", 3, True),
    ("rvalid", 1, False), ("rready", 1, True), ("rdata", 32, False), ("rresp", 2, False),
)  # fmt: skip

#: Bits of an address: a window of 4 KiB.
ADDRESS = 12

#: Bytes of the port's FIFOs, each way: one look at the registers moves as many.
DEPTH = 512


def _ports(prefix: str) -> list[str]:
    """Declarations of the AXI4-Lite ports."""
    declared = []
    for name, bits, into in AXI:
        wide = bits or ADDRESS
        width = f"[{wide - 1}:0] " if wide > 1 else ""
        declared.append(f"{'input' if into else 'output'} wire {width}{prefix}_{name}")
    return declared


def _pins(prefix: str, *, without: tuple[str, ...] = ()) -> str:
    """Connections of s_axi_* of an instance to ports with another prefix."""
    return "".join(f"      .s_axi_{name}({prefix}_{name}),\n" for name, _, _ in AXI if name not in without)


def axil_top() -> str:
    """SystemVerilog of `gatewarp_axil`, which puts the module `shelled` behind the byte port; one clock domain.

    Ports: clk, rst_n, s_axi_* (see AXI), led[3:0]: 0 heartbeat, 1 out of reset, 2 a byte was taken since reset, 3 a
    frame was lost or damaged since reset. `designs.boards.shell.top.shelled` writes the module inside.
    """
    ports = ",\n    ".join(["input wire clk", "input wire rst_n", *_ports("s_axi"), "output wire [3:0] led"])
    return f"""\
// Written by designs.boards.vendor.wrapper: the design behind AXI4-Lite; the byte port carries the frames of the shell.
`default_nettype none

module gatewarp_axil (
    {ports}
);
  logic rst;
  always_ff @(posedge clk) rst <= !rst_n;

  wire rx_valid, rx_ready, tx_valid, tx_ready, trouble;
  wire [7:0] rx_data, tx_data;

  axil_bytes #(
      .DEPTH({DEPTH}),
      .ADDRESS({ADDRESS})
  ) u_port (
      .clk(clk),
      .rst(rst),
{_pins("s_axi", without=("awprot", "arprot", "wstrb"))}\
      .m_axis_tvalid(rx_valid),
      .m_axis_tready(rx_ready),
      .m_axis_tdata(rx_data),
      .s_axis_tvalid(tx_valid),
      .s_axis_tready(tx_ready),
      .s_axis_tdata(tx_data)
  );

  shelled u_shelled (
      .clk(clk),
      .rst(rst),
      .rx_valid(rx_valid),
      .rx_ready(rx_ready),
      .rx_data(rx_data),
      .tx_valid(tx_valid),
      .tx_ready(tx_ready),
      .tx_data(tx_data),
      .frame_error(1'b0),
      .overrun(1'b0),
      .trouble(trouble)
  );

  logic [25:0] heartbeat;
  logic troubled, talked;

  always_ff @(posedge clk) begin
    heartbeat <= rst ? '0 : heartbeat + 1'b1;
    troubled <= !rst && (troubled || trouble);
    talked <= !rst && (talked || (rx_valid && rx_ready));
  end

  assign led = {{troubled, talked, !rst, heartbeat[25]}};

  wire unused = &{{1'b0, s_axi_awprot, s_axi_arprot, s_axi_wstrb}};
endmodule

`default_nettype wire
"""


def port(module: str, prefix: str, clock: str, reset: str, *, leds: bool) -> str:
    """Plain Verilog of `module`: `gatewarp_axil` with port names (and hints) from which Vivado infers AXI4-Lite.

    Vivado takes no SystemVerilog for a module of a block design; the attributes are those of UG994.
    """
    bus = f"xilinx.com:interface:aximm:1.0 {prefix}"
    hints = {name: f'(* X_INTERFACE_INFO = "{bus} {name.upper()}" *)' for name, _, _ in AXI}
    declared = [
        f'(* X_INTERFACE_INFO = "xilinx.com:signal:clock:1.0 {clock} CLK" *)\n'
        f'    (* X_INTERFACE_PARAMETER = "ASSOCIATED_BUSIF {prefix}, ASSOCIATED_RESET {reset}" *)\n'
        f"    input wire {clock}",
        f'(* X_INTERFACE_INFO = "xilinx.com:signal:reset:1.0 {reset} RST" *)\n'
        '    (* X_INTERFACE_PARAMETER = "POLARITY ACTIVE_LOW" *)\n'
        f"    input wire {reset}",
        *(f"{hints[name]}\n    {text}" for (name, _, _), text in zip(AXI, _ports(prefix), strict=True)),
    ]
    declared += ["output wire [3:0] led"] if leds else []
    inside = "" if leds else "  wire [3:0] led;\n  wire unused = &{1'b0, led};\n"
    ports = ",\n    ".join(declared)
    return f"""\
// Written by designs.boards.vendor.wrapper: gatewarp_axil under the names that Vivado takes for AXI4-Lite.
`default_nettype none

module {module} (
    {ports}
);
{inside}  gatewarp_axil u_design (
      .clk({clock}),
      .rst_n({reset}),
{_pins(prefix)}      .led(led)
  );
endmodule

`default_nettype wire
"""


def vc709(
    core: Core, vendor: VendorBoard, *, mhz: float, baud: int | None = None, items: Items | None = None
) -> tuple[str, str]:
    """Text of the VC709's top, and of `board_top` in it, which knows only a single-ended clock.

    The button of the inner top is also pressed while the clock is not locked. Errors: PllError, BoardError for a rate.
    """
    board, settings = vendor.board, mmcm(vendor.board.clock_hz, mhz * 1e6)
    frequency = clock_hz(vendor, mhz)
    inner = plain(vendor, frequency)
    pressed = board.reset_button if board.reset_pressed else f"!{board.reset_button}"
    made = clocking.Clocking(
        frequency_hz=frequency,
        text="  wire locked = 1'b1;\n",
        sources=(),
        simulated_sources=(),
        how="MMCM outside of this module",
    )
    parameters = ", ".join(f".{name}({value})" for name, value in settings.parameters.items())
    outer = f"""\
// Written by designs.boards.vendor.wrapper for {board.name}: {core.top} at {frequency / 1e6:g} MHz.
`default_nettype none

module {TOP} (
    input wire sysclk_p,
    input wire sysclk_n,
    input wire {board.reset_button},
    input wire {board.uart_receive},
    output wire {board.uart_transmit},
    output wire [{board.led_count - 1}:0] {board.leds}
);
  wire clk, locked;

  vc709_clock #({parameters}) u_clock (
      .sysclk_p(sysclk_p),
      .sysclk_n(sysclk_n),
      .clk(clk),
      .locked(locked)
  );

  board_top u_board (
      .clk(clk),
      .reset({pressed} || !locked),
      .{board.uart_receive}({board.uart_receive}),
      .{board.uart_transmit}({board.uart_transmit}),
      .{board.leds}({board.leds})
  );
endmodule

`default_nettype wire
"""
    return outer, shell_top(core, inner, made, baud, items=items)
