"""Loads PoCL before anything else does.

OpenCL's loader takes a platform that cannot be loaded for one that is not there, and once: behind TensorFlow and other
large libraries in one process PoCL was once not found, for whatever they had used up.
"""

from __future__ import annotations

from gpu.runtime import opencl


def pytest_configure() -> None:
    """Look for OpenCL devices while the process is young; forget it if there are none, so that tests look again."""
    if not opencl.devices():
        opencl._found.cache_clear()
