"""Boards that the vendor's tools build, as generated projects: PYNQ-Z2, VC709, Alveo U50 and U250."""
