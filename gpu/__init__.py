"""GPU kernels of the workloads, one folder per workload, and the runtime that measures them."""

#: Public name to module. Each module has CASES, TIER, ARITHMETICS and `verify`; `gpu.measure` measures them.
IMPLEMENTATIONS = {
    "gpu/track/opencl": "gpu.track.opencl",
    "gpu/track/cuda": "gpu.track.cuda",
    "gpu/track/torch": "gpu.track.torch",
}
