"""VELO-like events: straight tracks with multiple scattering through 52 half-planes of silicon pixels.

A toy of LHCb's vertex detector, not a simulation of it: sizes and rates are of the right order, and every constant is
ours unless a comment names a public source. Lengths are millimetres, momenta GeV/c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: 26 stations of two half-planes each; 52 is the number of VELO planes given in arXiv 2502.02304.
N_STATIONS = 26
#: First and last station along the beam.
Z_FIRST_MM, Z_LAST_MM = -275.0, 740.0
#: Distance between the two half-planes of one station.
HALF_GAP_MM = 12.5
#: Sensitive annulus of a half-plane.
R_MIN_MM, R_MAX_MM = 5.1, 45.0
#: Half-planes overlap by this much at x = 0.
OVERLAP_MM = 1.0
#: Pixel pitch, giving a uniform error of pitch / sqrt(12) in x and y.
PIXEL_MM = 0.055
#: Chance that a plane misses a crossing particle.
INEFFICIENCY = 0.01
#: Noise hits of one event, mean of a Poisson law.
NOISE_HITS = 80.0
#: Visible proton-proton collisions of one event, mean of a Poisson law, at least one.
VERTICES = 6.0
#: Charged particles of one collision that the detector may see, mean of a Poisson law.
TRACKS_PER_VERTEX = 70.0
#: Spread of the collisions along and across the beam.
VERTEX_Z_SIGMA_MM, VERTEX_XY_SIGMA_MM = 53.0, 0.04
#: Share of particles from decays in flight and the mean flight distance.
DISPLACED_SHARE, FLIGHT_MM = 0.05, 8.0
#: Pseudorapidity range, flat; transverse momentum, exponential above a floor.
ETA_MAX = 5.0
PT_MEAN_GEV, PT_MIN_GEV = 0.6, 0.05
#: Thickness of one plane in radiation lengths.
X_OVER_X0 = 0.01
#: Fewest hits by which a particle counts as a track.
MIN_HITS = 3


@dataclass(frozen=True)
class Event:
    """Hits of one event.

    `position` (n, 3): x, y, z in mm. `plane` (n,): 0..51, rising with z; plane // 2 is the station.
    `particle` (n,): index of the particle, -1 for noise.
    """

    position: NDArray[np.float64]
    plane: NDArray[np.int64]
    particle: NDArray[np.int64]


def plane_z() -> NDArray[np.float64]:
    """Positions of the 52 half-planes along the beam, mm, rising."""
    station = np.linspace(Z_FIRST_MM, Z_LAST_MM, N_STATIONS)
    return np.stack([station - HALF_GAP_MM / 2, station + HALF_GAP_MM / 2], 1).ravel()


def _sees(plane: int, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether half-plane `plane` covers the points; even planes look at x > 0, odd ones at x < 0."""
    r = np.hypot(x, y)
    side = x > -OVERLAP_MM if plane % 2 == 0 else x < OVERLAP_MM
    seen: NDArray[np.bool_] = (r > R_MIN_MM) & (r < R_MAX_MM) & side
    return seen


def scattering_angle(p_gev: NDArray[np.float64], cos_theta: NDArray[np.float64]) -> NDArray[np.float64]:
    """RMS plane angle of multiple scattering in one plane, radians, for a pion-like particle with beta = 1.

    Highland's formula as in the Review of Particle Physics, section "Passage of particles through matter":
    13.6 MeV / p sqrt(x / X0) (1 + 0.038 ln(x / X0)), with x / X0 the thickness along the slanted path.
    """
    t = X_OVER_X0 / np.abs(cos_theta)
    angle: NDArray[np.float64] = 13.6e-3 / p_gev * np.sqrt(t) * (1 + 0.038 * np.log(t))
    return angle


def generate(seed: int | np.random.SeedSequence) -> Event:
    """One event, the same for the same seed."""
    rng = np.random.default_rng(seed)
    n_vertices = max(1, rng.poisson(VERTICES))
    per_vertex = rng.poisson(TRACKS_PER_VERTEX, n_vertices)
    vertex = rng.normal(0.0, 1.0, (n_vertices, 3)) * [VERTEX_XY_SIGMA_MM, VERTEX_XY_SIGMA_MM, VERTEX_Z_SIGMA_MM]
    origin = np.repeat(vertex, per_vertex, 0)
    n = len(origin)

    eta = rng.uniform(-ETA_MAX, ETA_MAX, n)
    phi = rng.uniform(-np.pi, np.pi, n)
    pt = PT_MIN_GEV + rng.exponential(PT_MEAN_GEV, n)
    p = pt * np.cosh(eta)
    direction = np.stack([np.cos(phi), np.sin(phi), np.sinh(eta)], 1)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    flight = np.where(rng.random(n) < DISPLACED_SHARE, rng.exponential(FLIGHT_MM, n), 0.0)
    # A decay product leaves at a small angle to its parent's flight.
    start = origin + flight[:, None] * direction
    kick = rng.normal(0.0, 0.1, (n, 3)) * (flight > 0)[:, None]
    direction = direction + kick
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)

    z = plane_z()
    hits = [_propagate(rng, z, start, direction, p, forward) for forward in (True, False)]
    position, plane, particle = (np.concatenate(parts) for parts in zip(*hits, strict=True))
    position, plane, particle = _add_noise(rng, z, position, plane, particle)
    order = np.lexsort((particle, plane))
    return Event(position[order], plane[order], particle[order])


def _propagate(
    rng: np.random.Generator,
    z: NDArray[np.float64],
    start: NDArray[np.float64],
    direction: NDArray[np.float64],
    p: NDArray[np.float64],
    forward: bool,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Carry the forward (or backward) going particles from plane to plane; return positions, planes, particles."""
    ids = np.flatnonzero((direction[:, 2] > 0) == forward)
    point = start[ids].copy()
    slope = direction[ids, :2] / direction[ids, 2:]
    positions, planes, particles = [], [], []
    for plane in range(len(z)) if forward else range(len(z) - 1, -1, -1):
        step = z[plane] - point[:, 2]
        moves = step > 0 if forward else step < 0
        point[moves, :2] += slope[moves] * step[moves, None]
        point[moves, 2] = z[plane]
        inside = np.flatnonzero(moves & _sees(plane, point[:, 0], point[:, 1]))
        seen = inside[rng.random(len(inside)) >= INEFFICIENCY]
        pixel = rng.uniform(-PIXEL_MM / 2, PIXEL_MM / 2, (len(seen), 2))
        positions.append(np.column_stack([point[seen, :2] + pixel, point[seen, 2]]))
        planes.append(np.full(len(seen), plane))
        particles.append(ids[seen])
        cos_theta = 1 / np.sqrt(1 + (slope[inside] ** 2).sum(1))
        theta = scattering_angle(p[ids[inside]], cos_theta)
        slope[inside] += rng.normal(0.0, 1.0, (len(inside), 2)) * (theta / cos_theta**2)[:, None]
    return np.concatenate(positions), np.concatenate(planes), np.concatenate(particles)


def _add_noise(
    rng: np.random.Generator,
    z: NDArray[np.float64],
    position: NDArray[np.float64],
    plane: NDArray[np.int64],
    particle: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Add noise hits, uniform over the sensitive area."""
    n = rng.poisson(NOISE_HITS)
    where = rng.integers(0, len(z), n)
    r = np.sqrt(rng.uniform(R_MIN_MM**2, R_MAX_MM**2, n))
    phi = rng.uniform(-np.pi / 2, np.pi / 2, n) + np.pi * (where % 2)
    noise = np.column_stack([r * np.cos(phi), r * np.sin(phi), z[where]])
    return (
        np.concatenate([position, noise]),
        np.concatenate([plane, where]),
        np.concatenate([particle, np.full(n, -1)]),
    )


def candidate_pairs(event: Event) -> NDArray[np.int64]:
    """Pairs (m, 2) of hits that an edge may join: in the same station or in neighbouring ones, on different planes."""
    pairs = []
    station = event.plane // 2
    for s in range(N_STATIONS):
        here = np.flatnonzero(station == s)
        there = np.flatnonzero((station == s) | (station == s + 1))
        first, second = np.meshgrid(here, there, indexing="ij")
        later = event.plane[second] > event.plane[first]
        pairs.append(np.stack([first[later], second[later]], 1))
    return np.concatenate(pairs)


def is_true(event: Event, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether both hits of each pair (m, 2) belong to one particle of at least MIN_HITS hits."""
    count = np.bincount(event.particle[event.particle >= 0], minlength=1)
    a, b = event.particle[pairs].T
    same: NDArray[np.bool_] = (a == b) & (a >= 0) & (count[np.maximum(a, 0)] >= MIN_HITS)
    return same


def features(event: Event) -> NDArray[np.float32]:
    """Network inputs (n, 3): r, phi and z of each hit, scaled into [-1, 1)."""
    x, y, z = event.position.T
    centre = (Z_FIRST_MM + Z_LAST_MM) / 2
    half = (Z_LAST_MM - Z_FIRST_MM) / 2 + 2 * HALF_GAP_MM
    scaled = np.stack([np.hypot(x, y) / R_MAX_MM, np.arctan2(y, x) / np.pi, (z - centre) / half], 1)
    return np.clip(scaled.astype(np.float32), np.float32(-1), np.nextafter(np.float32(1), np.float32(0)))
