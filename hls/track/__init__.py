"""`track` by high-level synthesis: through da4ml to Verilog, and through hls4ml to HLS C++."""

import os

# TensorFlow is used to read a model only: no GPU, and no word about its choice of CPU kernels.
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
