"""Every implementation of every workload against the oracle: none escapes the one equality test."""

from __future__ import annotations

import pytest

from gatewarp import registry, verify

HITS = 10_000
EXACT = {"fixed", "fixed8", "fixed16", "binary"}


def every_implementation() -> list[tuple[str, str, str]]:
    found = []
    for name in registry.workload_names():
        for implementation in registry.implementations(name):
            module = registry.implementation(implementation)
            # A simulation of a large case takes minutes; its outcome is in the shipped records, which tests of it read.
            found += [(name, implementation, case) for case in getattr(module, "QUICK", module.CASES)]
    return found


def test_every_workload_has_an_fpga_and_a_gpu() -> None:
    for name in registry.workload_names():
        technologies = {i.split("/")[0] for i in registry.implementations(name)}
        assert "gpu" in technologies
        assert technologies & {"hls", "designs"}


@pytest.mark.parametrize(("workload", "implementation", "case"), every_implementation())
def test_equal_to_the_oracle(workload: str, implementation: str, case: str) -> None:
    module = registry.implementation(implementation)
    reason = verify.unavailable(implementation)
    if reason:
        # Only hardware and an outside baseline may be missing; what the `dev` extra installs may not.
        assert module.TIER == "outside baseline" or "GPU" in reason, reason
        pytest.skip(reason)
    # The wide network takes long in a numpy oracle and on a CPU; the others get the full number.
    samples = HITS if registry.workload(workload).operations(case).macs < 100_000 else 300
    # An implementation that is simulated says how many inputs of a case it takes at most.
    samples = min(samples, getattr(module, "LARGEST", {}).get(case, samples))
    seed = 6
    print("seed", seed)
    checks = list(module.verify(case, samples=samples, seed=seed, progress=None))
    assert checks
    for check in checks:
        assert check.passed, check
    # Kernels are proved at a few small batches besides, which take other ways.
    for arithmetic in {check.arithmetic for check in checks}:
        assert max(check.samples for check in checks if check.arithmetic == arithmetic) >= samples
    # Integers are equal or wrong; only what is checked besides, such as a rate, has a tolerance.
    assert {c.arithmetic for c in checks if c.tolerance is None} == {c.arithmetic for c in checks} & EXACT
