"""GPU kernels of the workload `deconv`: reverse loops in OpenCL, tensor cores in CUDA, and PyTorch beside them."""
