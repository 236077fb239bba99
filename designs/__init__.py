"""FPGA designs in SystemVerilog, and the flow that simulates, synthesises and routes them."""

#: Public name -> module; see docs/architecture.md for what a module offers.
IMPLEMENTATIONS = {
    "designs/bcnn/stream": "designs.bcnn.stream",
}
