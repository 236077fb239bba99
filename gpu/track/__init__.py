"""The fused kernels of `track`, one file per device API, and the outside baseline."""
