"""Transposed convolutions on one engine with two dataflows: RTL, command compiler, benches."""
