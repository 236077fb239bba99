"""`track` by high-level synthesis: through da4ml to Verilog, and through hls4ml to HLS C++."""
