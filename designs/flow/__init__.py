"""The FPGA flow: one file a tool.

`verilator` simulates, `yosys` synthesises, `nextpnr` places and routes, `seeds` does so over seeds, `ecppack` packs a
bitstream, `harness` wraps a bare core for its Fmax. All builds go through `cache`; all tools are found by `tools`.
"""
