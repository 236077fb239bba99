"""The shell of a design on a board: frames over a byte stream, FIFOs, identification, counters; see `top`."""
