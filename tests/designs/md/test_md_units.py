"""The worker's modules of fixed latency, all in one simulator, against arithmetic worked out here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from worker_dut import SOURCES, Player, pack, play, write_tables

from workloads.md import fixed
from workloads.md.system import Species, System
from workloads.md.tables import Format, Tables, tables

SEED = 23
CYCLES = 400

#: Bits of factors: one piece, two, and four.
PRODUCTS = ((18, 18), (27, 15), (12, 35), (33, 25), (35, 35), (3, 2))

#: Charges and two kinds, so that there are three terms and coefficients; and a format of its own.
SYSTEM = System(
    "units", (Species(charge=0.4), Species(0.7, 1.1, 0.8, -0.4)), (1, 1), (7.5, 7.5, 7.5), 2.4, 0.004, (3, 3, 3),
    switch=2.0, ewald=0.6, closest=0.8,
)  # fmt: skip
FORMAT = Format(position=20, velocity_fraction=9, bins=5, segments=5, delta=11, sums=34)


@dataclass
class Unit:
    """A module with what goes in each cycle, and what must come out, by cycle and port."""

    player: Player
    inputs: dict[str, list[int]] = field(default_factory=dict)
    wanted: dict[str, dict[int, int]] = field(default_factory=dict)

    def drive(self, **values: int) -> int:
        """One more cycle; returns its number."""
        for port in self.player.inputs:
            self.inputs.setdefault(port, []).append(values[port])
        return len(next(iter(self.inputs.values()))) - 1

    def expect(self, port: str, cycle: int, value: int) -> None:
        """What comes out in a cycle."""
        self.wanted.setdefault(port, {})[cycle] = value & ((1 << self.player.outputs[port]) - 1)


def signed(rng: np.random.Generator, bits: int) -> int:
    """A signed number of so many bits, often a small or an extreme one."""
    top = 1 << bits - 1
    corner = rng.random()
    if corner < 0.1:
        return int(rng.choice([-top, -1, 0, top - 1]))
    return int(rng.integers(-top, top)) >> int(rng.integers(bits) if corner < 0.4 else 0)


def product(rng: np.random.Generator, a: int, b: int, ecp5: int) -> Unit:
    parameters = {"A": a, "B": b, "ECP5": ecp5}
    unit = Unit(Player("md_product", parameters, {"a": a, "b": b}, {"product": a + b}, has_reset=False))
    for _ in range(CYCLES):
        x, y = signed(rng, a), signed(rng, b)
        unit.expect("product", unit.drive(a=x, b=y) + 4, x * y)
    return unit


def square(rng: np.random.Generator, bits: int, ecp5: int) -> Unit:
    unit = Unit(Player("md_square", {"BITS": bits, "ECP5": ecp5}, {"a": bits}, {"squared": 2 * bits}, has_reset=False))
    for _ in range(CYCLES):
        x = signed(rng, bits) % (1 << bits)
        unit.expect("squared", unit.drive(a=x) + 3, x * x)
    return unit


def delay(rng: np.random.Generator, stages: int, ring: int) -> Unit:
    """Right from when a ring's counter, which begins anywhere, has been round."""
    parameters = {"WIDTH": 7, "STAGES": stages, "RING": ring}
    unit = Unit(Player("md_delay", parameters, {"in": 7}, {"out": 7}, has_reset=False))
    for number in range(CYCLES):
        word = int(rng.integers(1 << 7))
        cycle = unit.drive(**{"in": word}) + stages
        if number >= 16:
            unit.expect("out", cycle, word)
    return unit


def small_squares(folder: Path) -> Unit:
    """md_filter_square of every width, each of every number, in a module with a clock."""
    widths = range(2, 9)
    parts = [
        f"  md_filter_square #(.BITS({w})) u{w} (.a(a[{w - 1}:0]), .squared(squared[{16 * w - 32}+:{2 * w}]));\n"
        for w in widths
    ]
    (folder / "small_squares.sv").write_text(
        "module small_squares (input wire clk, input wire [7:0] a, output wire [111:0] squared);\n"
        + "".join(parts)
        + "endmodule\n"
    )
    unit = Unit(Player("small_squares", {}, {"a": 8}, {"squared": 112}, has_reset=False))
    for number in range(256):
        squares = sum((number % (1 << w)) ** 2 << 16 * w - 32 for w in widths)
        unit.expect("squared", unit.drive(a=number), squares)
    return unit


def force(rng: np.random.Generator) -> Unit:
    """Rounding to nearest, halves away from zero: half of the products are near a half."""
    p, k, total = 20, 31, 36
    inputs = {"k": k, "difference": p + 1}
    unit = Unit(Player("md_force", {"P": p, "K": k, "SUM": total}, inputs, {"force_out": total}, has_reset=False))
    for _ in range(CYCLES):
        x, d = signed(rng, k), signed(rng, p + 1)
        if rng.random() < 0.5:
            x, d = (2 * signed(rng, 10) + 1) << int(rng.integers(5)), int(rng.choice([-1, 1])) << p - 1
        wanted = (abs(x * d) + (1 << p - 1) >> p) * (1 if x * d > 0 else -1)
        unit.expect("force_out", unit.drive(k=x, difference=d) + 6, wanted)
    return unit


def normalise(rng: np.random.Generator, form: Format) -> Unit:
    p = form.position
    address = math.ceil(math.log2(form.entries))
    parameters = {"P": p, "B": form.bins, "S": form.segments, "D": form.delta}
    outputs = {"address": address, "delta": form.delta}
    unit = Unit(Player("md_normalise", parameters, {"square": 2 * p}, outputs, has_reset=False))
    for _ in range(CYCLES):
        r2 = int(rng.integers(1 << 2 * p)) >> int(rng.integers(2 * p))
        where, place = fixed.lookup(form, np.array([r2]))
        cycle = unit.drive(square=r2) + 2
        unit.expect("address", cycle, int(where[0]))
        unit.expect("delta", cycle, int(place[0]))
    return unit


def table(rng: np.random.Generator, made: Tables, files: dict[str, str]) -> Unit:
    form = made.format
    address = math.ceil(math.log2(form.entries))
    value, slope = made.value_bits, made.slope_bits
    parameters = {"WORDS": form.entries, "D": form.delta, "VALUE": value, "SLOPE": slope, "FILE": files["TABLE_1"]}
    inputs = {"address": address, "delta": form.delta}
    unit = Unit(Player("md_table", parameters, inputs, {"value": value}, has_reset=False))
    for _ in range(CYCLES):
        where, place = int(rng.integers(form.entries)), int(rng.integers(1 << form.delta))
        wanted = int(made.base[1, where] + (made.slope[1, where] * place >> form.delta))
        unit.expect("value", unit.drive(address=where, delta=place) + 6, wanted)
    return unit


def terms(rng: np.random.Generator, made: Tables, files: dict[str, str], number: int, weighted: bool) -> Unit:
    form = made.format
    address = math.ceil(math.log2(form.entries))
    k = made.value_bits + math.ceil(math.log2(number))
    parameters = {
        "TERMS": number, "KINDS": 2 if weighted else 1, "WORDS": form.entries, "D": form.delta,
        "VALUE": made.value_bits, "SLOPE": made.slope_bits,
        **{f"TABLE_{t}": files[f"TABLE_{t}"] for t in range(number)},
        **({"COEFS": files["COEFS"]} if weighted else {}),
    }  # fmt: skip
    inputs = {"address": address, "delta": form.delta, "kinds": 2}
    unit = Unit(Player("md_terms", parameters, inputs, {"k": k}, has_reset=False))
    for _ in range(CYCLES):
        where, place = int(rng.integers(form.entries)), int(rng.integers(1 << form.delta))
        kinds = int(rng.integers(4))
        values = made.base[:number, where] + (made.slope[:number, where] * place >> form.delta)
        if weighted:
            assert made.coefficients is not None
            values = values * made.coefficients[:, kinds >> 1, kinds & 1] >> 17
        cycle = unit.drive(address=where, delta=place, kinds=kinds)
        unit.expect("k", cycle + (10 if weighted else 6), int(values.sum()))
    return unit


def near(rng: np.random.Generator, p: int, reach: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A home particle, and the place and cell of another at a distance of about `reach`, (3,) each."""
    while True:
        here = rng.integers(1 << p, size=3)
        way = rng.normal(size=3) * rng.choice([1, 1, 0.001], 3)
        far = reach * rng.choice([rng.random(), 1, 1.01, 1.1])
        there = here + np.round(way / np.linalg.norm(way) * far).astype(np.int64) + rng.integers(-2, 3, 3)
        shift = there >> p
        if shift.min() >= -1 and shift.max() <= 1 and shift[2] >= 0:
            return here, there & (1 << p) - 1, shift


def shift_word(shift: np.ndarray) -> int:
    """{dz, dy, dx}."""
    dx, dy, dz = (int(value) & 3 for value in shift)
    return dx | dy << 2 | dz << 4


def distance(rng: np.random.Generator, p: int, limit: int, closest: int) -> Unit:
    inputs = {"valid": 1, "here": 3 * p, "there": 3 * p, "shift": 5}
    outputs = {"difference": 3 * (p + 1), "square": 2 * p, "counts": 1, "close": 1}
    parameters = {"P": p, "RC2": f"64'd{limit}", "RMIN2": f"64'd{closest}"}
    unit = Unit(Player("md_distance", parameters, inputs, outputs))
    for number in range(CYCLES):
        here, there, shift = near(rng, p, math.sqrt(limit if number % 3 else closest))
        valid = int(rng.integers(4) > 0)
        cycle = unit.drive(valid=valid, here=pack(here, p), there=pack(there, p), shift=shift_word(shift))
        d = there - here + (shift << p)
        r2 = int((d * d).sum())
        unit.expect("counts", cycle + 9, int(valid and r2 < limit))
        unit.expect("close", cycle + 9, int(valid and r2 < closest))
        if r2 < limit:
            unit.expect("difference", cycle + 2, pack(d, p + 1))
            unit.expect("square", cycle + 7, r2)
    return unit


def pairs(rng: np.random.Generator, made: Tables, files: dict[str, str], own: int) -> Unit:
    """Forces of pairs, of all kinds, against those of the model."""
    form = made.format
    p = form.position
    parameters = {
        "P": p, "B": form.bins, "S": form.segments, "D": form.delta, "VALUE": made.value_bits,
        "SLOPE": made.slope_bits, "SUM": form.sums, "TERMS": 3, "KINDS": 2, "RC2": f"64'd{made.cutoff2}",
        "RMIN2": f"64'd{made.close2}", "TAG": 9, "ECP5": own, "RINGS": own, **files,
    }  # fmt: skip
    inputs = {"valid": 1, "here": 3 * p, "there": 3 * p, "shift": 5, "kinds": 2, "tag": 9}
    outputs = {"force_valid": 1, "force_out": 3 * form.sums, "tag_out": 9, "counts": 1}
    unit = Unit(Player("md_pairs", parameters, inputs, outputs))
    for _ in range(CYCLES):
        here, there, shift = near(rng, p, math.sqrt(made.cutoff2))
        kinds = rng.integers(2, size=2).astype(np.uint8)
        valid, tag = int(rng.integers(4) > 0), int(rng.integers(512))
        cycle = unit.drive(
            valid=valid, here=pack(here, p), there=pack(there, p), shift=shift_word(shift),
            kinds=int(kinds[0]) << 1 | int(kinds[1]), tag=tag,
        )  # fmt: skip
        d = there - here + (shift << p)
        r2 = int((d * d).sum())
        counts = int(valid and r2 < made.cutoff2)
        unit.expect("counts", cycle + 9, counts)
        unit.expect("force_valid", cycle + 25, counts)
        unit.expect("tag_out", cycle + 25, tag)
        if counts:
            k = int(fixed.strength(made, np.array([r2]), kinds[:1], kinds[1:])[0])
            unit.expect("force_out", cycle + 25, pack(fixed.round_odd(k * d, p), form.sums))
    return unit


def filters(rng: np.random.Generator, p: int, bits: int, limit: int) -> Unit:
    """Masks of a bank of three. Nothing within the cutoff is lost; what passes is what the rule says."""
    number = 3
    inputs = {"particle": 3 * p, "shift": 5, "load": number, "meets": number, "info": 6}
    parameters = {"FILTERS": number, "P": p, "BITS": bits, "RC2": f"64'd{limit}", "INFO": 6}
    unit = Unit(Player("md_filters", parameters, inputs, {"mask": number, "info_out": 6}, has_reset=False))
    step = 1 << p - bits
    reach = math.isqrt(limit - 1) + 1 + 7 * step // 4
    threshold = reach * reach // (4 * step) ** 2
    home: dict[int, np.ndarray] = {}
    passed = within = 0
    for cycle in range(CYCLES):
        here, there, shift = near(rng, p, math.sqrt(limit))
        load = cycle % 5 == 0
        place = int(rng.integers(number))
        if load:
            there = here
        elif place in home:
            # As far from that filter's particle as the pair found was apart, where that is possible.
            to = home[place] + there + (shift << p) - here
            if (to >> p).min() >= -1 and (to >> p).max() <= 1 and (to >> p)[2] >= 0:
                there, shift = to & (1 << p) - 1, to >> p
        meets = 0 if load else sum(1 << f for f in home)
        unit.drive(
            particle=pack(there, p), shift=shift_word(shift), load=int(load) << place, meets=meets, info=cycle & 63
        )
        mask = 0
        for f, at in home.items():
            if meets >> f & 1:
                d = there - at + (shift << p)
                cut = (there >> p - bits) - (at >> p - bits) + (shift << bits)
                short = np.where(cut < 0, ~cut, cut) >> 2
                top = 1 << bits - 2
                passes = short.max() <= top and int((np.minimum(short, top - 1) ** 2).sum()) <= threshold
                assert passes or (d * d).sum() >= limit
                mask |= int(passes) << f
                passed += passes
                within += int((d * d).sum() < limit)
        unit.expect("mask", cycle + 5, mask)
        unit.expect("info_out", cycle + 5, cycle & 63)
        if load:
            home[place] = there
    assert 0 < within < passed
    return unit


def homes(rng: np.random.Generator) -> Unit:
    inputs = {"load": 5, "load_set": 1, "particle": 40, "read_set": 1, "read_index": 3}
    unit = Unit(Player("md_homes", {"FILTERS": 5, "BITS": 40}, inputs, {"read_data": 40}, has_reset=False))
    held: dict[tuple[int, int], int] = {}
    for _ in range(CYCLES):
        place, index = (int(rng.integers(2)), int(rng.integers(5))), (int(rng.integers(2)), int(rng.integers(5)))
        load, word = int(rng.integers(2)), int(rng.integers(1 << 40))
        cycle = unit.drive(
            load=load << place[1], load_set=place[0], particle=word, read_set=index[0], read_index=index[1]
        )
        if index in held:
            unit.expect("read_data", cycle + 1, held[index])
        if load:
            held[place] = word
    return unit


def sums(rng: np.random.Generator, module: str, words: int, sets: int) -> Unit:
    """Additions to few words, so that the same comes at every distance; taking in turn, with cleared words after it."""
    bits, address = 34, max(1, math.ceil(math.log2(words)))
    if module == "md_sums":
        parameters = {"WORDS": words, "SUM": bits, "SETS": sets}
        add = {"add": 1, "add_set": 1, "address": address, "addends": 3 * bits}
        inputs = {**add, "take": 1, "take_set": 1, "take_address": address}
        unit, late, out = Unit(Player(module, parameters, inputs, {"taken": 3 * bits})), 2, "taken"
    else:
        inputs = {"add": 1, "address": address, "add_force": 3 * bits, "read": 1, "read_address": address}
        outputs = {"read_force": 3 * bits}
        unit, late, out = Unit(Player(module, {"WORDS": words, "SUM": bits}, inputs, outputs)), 3, "read_force"
    held = np.zeros((sets, words, 3), object)

    def cycle(add: tuple[int, int] | None, take: tuple[int, int] | None) -> None:
        addend = rng.integers(-(1 << bits - 1), 1 << bits - 1, 3).astype(object)
        to, of = add or (int(rng.integers(sets)), int(rng.integers(words))), take or (0, 0)
        if module == "md_sums":
            now = unit.drive(
                add=int(add is not None), add_set=to[0], address=to[1], addends=pack(addend, bits),
                take=int(take is not None), take_set=of[0], take_address=of[1],
            )  # fmt: skip
        else:
            now = unit.drive(
                add=int(add is not None), address=to[1], add_force=pack(addend, bits),
                read=int(take is not None), read_address=of[1],
            )  # fmt: skip
        if add is not None:
            held[to] = (held[to] + addend) % (1 << bits)
        if take is not None:
            if now > 2 * words + 8:  # of the first round nothing is known
                unit.expect(out, now + late, pack(held[of], bits))
            held[of] = 0

    def wait(cycles: int) -> None:
        for _ in range(cycles):
            cycle(None, None)

    for number in range(sets):
        for word in range(words):
            cycle(None, (number, word))
    wait(8)
    active = 0
    while len(unit.inputs["add"]) < CYCLES - 2 * words - 20:
        taken = [(active ^ 1, word) for word in rng.permutation(words).tolist()] if sets == 2 else []
        for _ in range(int(rng.integers(20, 60))):
            add = (active, int(rng.integers(min(words, 3)))) if rng.random() < 0.8 else None
            cycle(add, taken.pop() if taken and rng.random() < 0.7 else None)
        for place in taken:
            cycle(None, place)
        wait(4)
        if sets == 1:
            for word in rng.permutation(words).tolist():
                cycle(None, (0, word))
            wait(2)
        active ^= sets - 1
    wait(CYCLES - len(unit.inputs["add"]))
    return unit


def test_units(tmp_path: Path) -> None:
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    made = tables(SYSTEM, FORMAT)
    files = write_tables(made, tmp_path)
    makers: Sequence[Callable[[], Unit]] = [
        *(lambda a=a, b=b, own=own: product(rng, a, b, own) for a, b in PRODUCTS for own in (0, 1)),
        *(lambda bits=bits, own=own: square(rng, bits, own) for bits in (1, 17, 18, 24, 34) for own in (0, 1)),
        *(lambda stages=stages, ring=ring: delay(rng, stages, ring) for stages in (0, 4, 5, 16, 29) for ring in (0, 1)),
        lambda: small_squares(tmp_path),
        lambda: force(rng),
        lambda: normalise(rng, FORMAT),
        lambda: normalise(rng, Format(segments=1)),
        lambda: normalise(rng, Format(position=12, segments=4, bins=6, delta=14)),
        lambda: table(rng, made, files),
        lambda: terms(rng, made, files, 1, False),
        lambda: terms(rng, made, files, 2, False),
        lambda: terms(rng, made, files, 3, True),
        lambda: distance(rng, 24, 277158070202394, 24944226318215),
        lambda: distance(rng, 16, 1 << 32, 1 << 28),
        *(lambda own=own: pairs(rng, made, files, own) for own in (0, 1)),
        lambda: filters(rng, 24, 9, 277158070202394),
        lambda: filters(rng, 24, 10, 1 << 48),
        lambda: filters(rng, 20, 4, 1 << 40),
        lambda: homes(rng),
        lambda: sums(rng, "md_sums", 16, 1),
        lambda: sums(rng, "md_sums", 5, 2),
        lambda: sums(rng, "md_neighbour_sums", 11, 1),
    ]
    units = [make() for make in makers]
    for unit in units:
        for values in unit.inputs.values():
            values += [0] * (CYCLES + 30 - len(values))
    seen = play(
        [unit.player for unit in units],
        [unit.inputs for unit in units],
        sources=[*SOURCES, tmp_path / "small_squares.sv"],
        results=tmp_path,
        seed=SEED,
    )
    for unit, answer in zip(units, seen, strict=True):
        for port, wanted in unit.wanted.items():
            wrong = [(c, answer[port][c], value) for c, value in wanted.items() if answer[port][c] != value]
            assert not wrong, f"{unit.player.module} {unit.player.parameters} {port}: cycle, got, wanted {wrong[:3]}"
