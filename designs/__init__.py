"""FPGA designs in SystemVerilog, and the flow that simulates, synthesises and routes them."""

#: Public name to module. Each module has CASES, TIER, ARITHMETICS and `verify`, and `build` where it goes on a board.
IMPLEMENTATIONS = {
    "designs/bcnn/stream": "designs.bcnn.stream",
    "designs/deconv/input_oriented": "designs.deconv.input_oriented",
    "designs/deconv/reverse_loop": "designs.deconv.reverse_loop",
    "designs/md/range_limited": "designs.md.range_limited",
    "designs/track/folded": "designs.track.folded",
}
