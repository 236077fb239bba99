"""GPU kernels of the workload `md`: a whole time-step loop on the device, and outside baselines beside it."""
