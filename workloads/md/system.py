"""What is simulated: species, box, cutoff, step. No positions, no arithmetic.

Two sets of units. `reduced`: sigma, epsilon and mass of argon-like particles are 1. `molar`: angstrom, picosecond,
g/mol, kJ/mol (1 kJ/mol is 100 g/mol A^2/ps^2), elementary charges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

#: Coulomb constant in kJ/mol A / e^2 (CODATA 2018: e^2 / (4 pi eps0) times Avogadro's number).
COULOMB = 1389.35458
#: Force over mass to acceleration: 1, and 1 kJ/mol/A over 1 g/mol in A/ps^2.
ACCELERATION = {"reduced": 1.0, "molar": 100.0}
#: Boltzmann's constant: 1, and in kJ/mol/K.
BOLTZMANN = {"reduced": 1.0, "molar": 0.00831446262}
#: The unit of time in picoseconds. Reduced units become seconds by taking the particles to be argon:
#: sigma 3.405 A, epsilon 119.8 K k_B, mass 39.948 g/mol.
PICOSECONDS = {"reduced": 2.15635, "molar": 1.0}
#: A cell edge that is the cutoff may come out a rounding below it.
EXACT = 1 - 1e-12


@dataclass(frozen=True)
class Species:
    """A kind of particle: mass, Lennard-Jones sigma and epsilon, charge."""

    mass: float = 1.0
    sigma: float = 1.0
    epsilon: float = 1.0
    charge: float = 0.0


@dataclass(frozen=True)
class System:
    """A periodic box of particles with range-limited forces.

    `counts` of each species; `cells` a side in x, y, z for cell lists and for hardware. `switch`: where the
    Lennard-Jones potential begins to be switched off; None: it is cut at the cutoff, without a shift. `ewald`: the
    coefficient of the real-space Ewald term in 1/length; None: no charges. `closest`: no two particles of a healthy
    run come nearer; tables of hardware end there. `temperature` of the start states.
    Errors: ValueError that names the system, the value and the limit, also for values of a species.
    """

    name: str
    species: tuple[Species, ...]
    counts: tuple[int, ...]
    box: tuple[float, float, float]
    cutoff: float
    step: float
    cells: tuple[int, int, int]
    switch: float | None = None
    ewald: float | None = None
    units: Literal["reduced", "molar"] = "reduced"
    closest: float = 0.75
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if len(self.box) != 3 or len(self.cells) != 3:
            raise ValueError(f"{self.name}: a box of {self.box} with cells {self.cells}, but each has three sides")
        self._check_numbers()
        if not all(isinstance(n, Integral) and n >= 1 for n in self.cells):
            raise ValueError(f"{self.name}: cells {self.cells}, but each side takes a whole number from 1 on")
        whole = all(isinstance(n, Integral) and n >= 0 for n in self.counts)
        if len(self.species) != len(self.counts) or not whole or not self.n:
            raise ValueError(f"{self.name}: {len(self.species)} species with counts {self.counts}")
        if self.cutoff > min(self.box) / 2:
            raise ValueError(
                f"{self.name}: a cutoff of {self.cutoff:g}, but half the shortest side of the box is "
                f"{min(self.box) / 2:g}"
            )
        if self.switch is not None and self.switch >= self.cutoff:
            raise ValueError(f"{self.name}: switching from {self.switch:g}, but the cutoff is {self.cutoff:g}")
        if self.ewald is None and any(s.charge for s in self.species):
            raise ValueError(f"{self.name}: charges need an Ewald coefficient")
        if self.cells_hold_the_cutoff and min(self.cell_edges) < self.cutoff * EXACT:
            raise ValueError(f"{self.name}: a cell edge of {min(self.cell_edges):g}, but the cutoff is {self.cutoff:g}")

    def _check_numbers(self) -> None:
        above = {f"side {axis} of the box": side for axis, side in zip("xyz", self.box, strict=True)}
        above |= {name: getattr(self, name) for name in ("cutoff", "step", "closest", "temperature")}
        least: dict[str, float] = {}
        if self.switch is not None:
            above["switch"] = self.switch
        if self.ewald is not None:
            least["ewald"] = self.ewald
        for kind, species in enumerate(self.species):
            above[f"mass of species {kind}"] = species.mass
            least[f"sigma of species {kind}"] = species.sigma
            least[f"epsilon of species {kind}"] = species.epsilon
            if not math.isfinite(species.charge):
                raise ValueError(f"{self.name}: charge of species {kind} is {species.charge}, but must be finite")
        for name, value in above.items():
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{self.name}: {name} is {value}, but must be finite and above 0")
        for name, value in least.items():
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{self.name}: {name} is {value}, but must be finite and at least 0")

    @property
    def n(self) -> int:
        """Number of particles."""
        return sum(self.counts)

    @property
    def cell_edges(self) -> tuple[float, float, float]:
        """Edges of a cell in x, y, z."""
        x, y, z = (side / count for side, count in zip(self.box, self.cells, strict=True))
        return x, y, z

    @property
    def volume(self) -> float:
        """Of the box."""
        return math.prod(self.box)

    @property
    def cells_hold_the_cutoff(self) -> bool:
        """True when cells are to be used at all: at least three a side. Smaller boxes take all pairs."""
        return min(self.cells) >= 3

    @property
    def acceleration(self) -> float:
        """Force over mass to acceleration."""
        return ACCELERATION[self.units]

    @property
    def boltzmann(self) -> float:
        """Boltzmann's constant in the units of the system."""
        return BOLTZMANN[self.units]

    @property
    def nanoseconds(self) -> float:
        """One step in nanoseconds; of reduced units with the particles taken to be argon."""
        return self.step * PICOSECONDS[self.units] / 1000

    def kinds(self) -> NDArray[np.uint8]:
        """Index of the species of each particle (N,), in the order of the species."""
        return np.repeat(np.arange(len(self.species), dtype=np.uint8), self.counts)

    def masses(self) -> Reals:
        """Mass of each particle (N,)."""
        each = np.array([s.mass for s in self.species])
        return np.repeat(each, self.counts)

    def sigma(self) -> Reals:
        """(kinds, kinds): the mean of the two, Lorentz's rule."""
        each = np.array([s.sigma for s in self.species])
        mixed: Reals = (each[:, None] + each) / 2
        return mixed

    def epsilon(self) -> Reals:
        """(kinds, kinds): the geometric mean of the two, Berthelot's rule."""
        each = np.array([s.epsilon for s in self.species])
        mixed: Reals = np.sqrt(each[:, None] * each)
        return mixed

    def charges(self) -> Reals:
        """(kinds, kinds): Coulomb's constant times the product of the charges."""
        each = np.array([s.charge for s in self.species])
        products: Reals = COULOMB * each[:, None] * each
        return products


def check_positions(system: System, positions: NDArray[np.floating]) -> None:
    """Errors: ValueError naming the system for a wrong shape, and the particle for a coordinate that is not finite."""
    _check_vectors(system, positions, "positions", "coordinate")


def check_velocities(system: System, velocities: NDArray[np.floating]) -> None:
    """Errors: ValueError naming the system for a wrong shape, and the particle for a velocity that is not finite."""
    _check_vectors(system, velocities, "velocities", "velocity")


def check_kinds(system: System, kinds: NDArray[np.integer]) -> None:
    """Errors: ValueError naming the system for a wrong shape or type, and the particle for a kind that there is not."""
    if kinds.shape != (system.n,) or kinds.dtype.kind not in "iu":
        raise ValueError(
            f"{system.name}: kinds of shape {kinds.shape} and type {kinds.dtype}, expected ({system.n},) of integers"
        )
    last = len(system.species) - 1
    if int(kinds.max()) > last or int(kinds.min()) < 0:
        bad = int(((kinds > last) | (kinds < 0)).argmax())
        raise ValueError(f"{system.name}: particle {bad} is of kind {int(kinds[bad])}, but kinds are 0 to {last}")


def _check_vectors(system: System, values: NDArray[np.floating], name: str, part: str) -> None:
    if values.shape != (system.n, 3):
        raise ValueError(f"{system.name}: {name} of shape {values.shape}, expected ({system.n}, 3)")
    finite = np.isfinite(values).all(1)
    if not finite.all():
        bad = int(finite.argmin())
        raise ValueError(f"{system.name}: particle {bad} has a {part} that is not finite: {values[bad].tolist()}")
