"""GPU kernels of the workloads, one folder per workload, and the runtime that measures them."""

#: Public name to module. Each module has CASES, TIER, ARITHMETICS and `verify`; `gpu.measure` measures them.
IMPLEMENTATIONS = {
    "gpu/bcnn/torch": "gpu.bcnn.torch",
    "gpu/track/opencl": "gpu.track.opencl",
    "gpu/track/cuda": "gpu.track.cuda",
    "gpu/track/torch": "gpu.track.torch",
    "gpu/bcnn/opencl": "gpu.bcnn.opencl",
    "gpu/bcnn/cuda": "gpu.bcnn.cuda",
    "gpu/deconv/opencl": "gpu.deconv.opencl",
    "gpu/deconv/cuda": "gpu.deconv.cuda",
    "gpu/deconv/torch": "gpu.deconv.torch",
    "gpu/md/opencl": "gpu.md.opencl",
    "gpu/md/cuda": "gpu.md.cuda",
    "gpu/md/jax_md": "gpu.md.jax_md",
    "gpu/md/openmm": "gpu.md.openmm",
}


def unavailable(implementation: str) -> str:
    """Why this machine cannot run an implementation, or "": a GPU or an outside baseline that is not here."""
    if implementation.endswith("/torch"):
        from importlib.util import find_spec

        return "" if find_spec("torch") else "PyTorch is not installed (pip install 'gatewarp[torch]')"
    if implementation in ("gpu/md/jax_md", "gpu/md/openmm"):
        from importlib import import_module

        return str(import_module(IMPLEMENTATIONS[implementation]).missing())
    if implementation.endswith("/cuda"):
        from gpu.runtime import cuda

        return "" if cuda.devices() else f"no NVIDIA GPU here: {cuda.missing()}"
    return ""
