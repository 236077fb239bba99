"""GPU kernels of the workload `bcnn`: popcount in OpenCL, binary tensor cores in CUDA."""
