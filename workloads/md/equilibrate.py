"""Make the equilibrated positions that are shipped: `python -m workloads.md.equilibrate lj864`. Half a minute.

From the lattice at twice the temperature, in float64; velocities are scaled to the temperature of the case every 50
steps of the first 4,000, then 2,000 steps follow at constant energy.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from workloads.md import cases
from workloads.md.forces import temperature
from workloads.md.motion import Moment, run
from workloads.md.system import Reals

SEED = 1


def positions(case: str, scaled: int = 4_000, free: int = 2_000) -> Reals:
    """Equilibrated positions (N, 3) of a case, exact in float32."""
    system = cases.system(case)
    start = cases.state(case, SEED, lattice=True)
    moment = Moment(start.positions, start.velocities * math.sqrt(2))
    for _ in range(scaled // 50):
        *_, moment = run(system, moment, 50, 50)
        factor = math.sqrt(system.temperature / temperature(system, moment.velocities))
        moment = Moment(moment.positions, moment.velocities * factor)
    *_, moment = run(system, moment, free, free)
    print(f"{case}: temperature {temperature(system, moment.velocities):.3f}")
    return moment.positions.astype(np.float32).astype(np.float64)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        cases.STATES.mkdir(exist_ok=True)
        np.savez_compressed(cases.equilibrated(name), positions=positions(name).astype(np.float32))
