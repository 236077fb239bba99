"""FPGA by high-level synthesis."""

#: Public name -> module; see docs/architecture.md for what a module offers.
IMPLEMENTATIONS = {
    "hls/track/da4ml": "hls.track.da4ml",
    "hls/track/hls4ml": "hls.track.hls4ml",
}
