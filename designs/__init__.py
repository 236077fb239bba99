"""FPGA designs in SystemVerilog, and the flow that simulates, synthesises and routes them."""
