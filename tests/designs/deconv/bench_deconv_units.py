"""cocotb tests of the engine's modules, one a module; expectations are worked out here, from their definitions."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from designs.deconv import commands
from designs.deconv.commands import Action, Register, word
from designs.flow.bench import CLOCK_NS, generator, vectors
from designs.flow.bench import start as start_with_reset


def quiet(dut: Any, *names: str) -> None:
    for name in names:
        getattr(dut, name).value = 0


async def start(dut: Any) -> None:
    """Start the clock, with a reset where there is one."""
    if hasattr(dut, "rst"):
        await start_with_reset(dut)
        return
    cocotb.start_soon(Clock(dut.clk, CLOCK_NS, "ns").start())
    await RisingEdge(dut.clk)


@cocotb.test()
async def deconv_commands(dut: Any) -> None:
    """Random programs against a model that starts units, whose work takes random times."""
    rng = generator("commands")
    quiet(dut, "s_cmd_tvalid", "run_busy", "load_busy", "store_busy")
    await start(dut)
    units = {Action.LOAD: "load", Action.RUN: "run", Action.STORE: "store"}
    runs = {r: r.name.lower() for r in Register if 0 < r < 0x40}
    transfers = {r: r.name.lower()[3:] for r in Register if 0x40 <= r < 0x50}
    held: dict[Register, int] = {}
    program: list[int] = []
    expected: list[tuple[str, dict[str, int]]] = []
    for register in [*runs, *transfers, *rng.choices([*runs, *transfers], k=400)]:
        # Addresses are cut to what the engine has, which is 8 bits here.
        value = rng.randrange(1 << min(commands.BITS.get(register, 24), 8))
        held[register] = value
        program.append(word(register, value))
        if len(held) < len(runs) + len(transfers) or rng.random() < 0.7:
            continue
        kind = rng.choice([*units, Action.WAIT, Action.TAP, Action.END])
        if kind in units:
            program.append(word(kind))
            names = runs if kind == Action.RUN else transfers
            prefix = "" if kind == Action.RUN else f"{units[kind]}_"
            seen = {f"{prefix}{name}": held[r] for r, name in names.items()}
            seen.pop("load_last", None)
            expected.append((units[kind], seen))
        elif kind == Action.WAIT:
            mask = rng.randrange(8)
            program.append(word(kind, mask))
            expected.append(("wait", {"mask": mask}))
        elif kind == Action.TAP:
            base = rng.randrange(250)
            program.append(word(Register.TAP_INDEX, base))
            for entry in range(3):
                value = commands.tap(rng.randrange(64), *(rng.randrange(-32, 32) for _ in range(3)))
                program.append(word(Action.TAP, value))
                expected.append(("tap", {"tap_index": base + entry, "tap_value": value}))
        else:
            program.append(word(kind))
            expected.append(("end", {}))
    program.append(word(Action.WAIT, 7))
    taps = [e for e in expected if e[0] == "tap"]
    ends = sum(e[0] == "end" for e in expected)
    starts = {unit: [e[1] for e in expected if e[0] == unit] for unit in units.values()}
    left = dict.fromkeys(units.values(), 0)
    position, offered, after = 0, False, 0
    while after < 5:
        await RisingEdge(dut.clk)
        if offered and dut.s_cmd_tready.value == 1:
            code, value = program[position] >> 24, program[position] & 0xFFFFFF
            for bit, unit in enumerate(("load", "run", "store")):
                waits = code == Action.WAIT and value >> bit & 1
                begins = code in units and units[Action(code)] == unit
                assert not (waits or begins) or left[unit] == 0, f"{unit} is at work"
            if code in units:
                left[units[Action(code)]] = -1  # until its start is seen
            position, offered = position + 1, False
        for unit in left:
            if getattr(dut, f"{unit}_start").value == 1:
                for name, value in starts[unit].pop(0).items():
                    assert int(getattr(dut, name).value) == value, f"{name} at {unit}"
                left[unit] = rng.randrange(1, 30)
            elif left[unit] > 0:
                left[unit] -= 1
            getattr(dut, f"{unit}_busy").value = int(left[unit] > 0)
        if dut.tap_write.value == 1:
            for name, value in taps.pop(0)[1].items():
                assert int(getattr(dut, name).value) == value
        ends -= int(dut.ended.value)
        if not offered and position < len(program) and rng.random() < 0.8:
            dut.s_cmd_tdata.value = program[position]
            offered = True
        dut.s_cmd_tvalid.value = int(offered)
        after += position == len(program)
    assert not taps
    assert ends == 0
    assert not any(starts.values())
    assert all(count == 0 for count in left.values())


@cocotb.test()
async def deconv_range(dut: Any) -> None:
    """All outputs of layers of one dimension, restarted at random."""
    rng = generator("range")
    quiet(dut, "start", "restart", "advance")
    await start(dut)
    for _ in range(60):
        stride, kernel, inputs = rng.randrange(1, 5), rng.randrange(1, 8), rng.randrange(1, 9)
        padding = rng.randrange(kernel)
        outputs = max(1, (inputs - 1) * stride - 2 * padding + kernel + rng.randrange(stride))
        first = rng.randrange(outputs) if rng.random() < 0.3 else 0
        address, k_stride = rng.randrange(1, 100), rng.randrange(1, 50)
        high, low = commands.starts(first + padding, stride, kernel, inputs)
        for name, value in (
            ("inputs", inputs), ("stride", stride), ("start_high", high), ("start_low", low),
            ("address_stride", address), ("k_stride", k_stride), ("start", 1),
        ):  # fmt: skip
            getattr(dut, name).value = value
        await RisingEdge(dut.clk)
        dut.start.value = 0
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        while dut.ready.value == 0:
            await RisingEdge(dut.clk)
        for _ in range(2):
            dut.restart.value = 1
            await RisingEdge(dut.clk)
            dut.restart.value = 0
            await RisingEdge(dut.clk)
            for output in range(first, outputs):
                dut.advance.value = 1
                await RisingEdge(dut.clk)
                dut.advance.value = 0
                await RisingEdge(dut.clk)
                # Outputs of before the advance.
                e = output + padding
                met = [i for i in range(inputs) if 0 <= e - stride * i < kernel]
                assert int(dut.empty.value) == (not met), f"output {output} of {(stride, kernel, padding, inputs)}"
                if met:
                    assert int(dut.more.value) == len(met) - 1
                    assert int(dut.address.value) == met[-1] * address % (1 << len(dut.address))
                    assert int(dut.weight.value) == (e - stride * met[-1]) * k_stride % (1 << len(dut.weight))


@cocotb.test()
async def deconv_reverse(dut: Any) -> None:
    """Issues of random layers, in order, with weights that come late; and none missing in between without that."""
    rng = generator("reverse")
    quiet(dut, "start")
    dut.group_ready.value = 1
    dut.group_next.value = 1
    await start(dut)
    sources, parts = (int(x) for x in vectors()["parts"])
    for number in range(25):
        late = number % 2 == 1
        expected = arrange(dut, rng, sources, parts)
        dut.start.value = 1
        await RisingEdge(dut.clk)
        dut.start.value = 0
        got: list[tuple[int, ...]] = []
        gaps = cycle = began = 0
        ready = before = 1
        while len(got) < len(expected) and cycle < 20_000:
            ready, before = int(not late or rng.random() < 0.5), ready
            dut.group_ready.value = ready
            dut.group_next.value = ready
            await RisingEdge(dut.clk)
            cycle += 1
            if dut.issue_valid.value == 1:
                names = ("issue_mask", "issue_first", "issue_last", "issue_fold_last", "group_done", "issue_tag")
                values = [int(getattr(dut, name).value) for name in names]
                if values[0]:
                    values += [int(dut.issue_address.value), int(dut.issue_weight.value)]
                assert before or not values[1], "an output was begun without its weights"
                got.append(tuple(values))
                began = began or cycle
                gaps = cycle - began + 1 - len(got)
        wrong = next((i for i, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), None)
        assert got == expected, f"layer {number}: {len(got)} of {len(expected)}, first wrong {wrong}"
        assert late or gaps == 0, f"{gaps} cycles lost"
        for _ in range(4):
            await RisingEdge(dut.clk)
            assert dut.issue_valid.value == 0


def arrange(dut: Any, rng: random.Random, sources: int, parts: int) -> list[tuple[int, ...]]:
    """Set the registers of a random layer; return its issues."""
    dims = []
    for _ in range(3):
        stride, kernel, inputs = rng.randrange(1, 4), rng.randrange(1, 5), rng.randrange(1, 5)
        padding = rng.randrange(kernel)
        outputs = max(1, (inputs - 1) * stride - 2 * padding + kernel + rng.randrange(stride))
        dims.append([stride, kernel, padding, inputs, outputs])
    dims[1][0] = dims[2][0]  # one stride for rows and columns
    for d in dims[1:]:
        d[4] = max(1, (d[3] - 1) * d[0] - 2 * d[2] + d[1])
    folds, groups = rng.randrange(1, 4), rng.randrange(1, 4)
    strides = [rng.randrange(1, 40) for _ in range(3)]
    results = [rng.randrange(1, 40) for _ in range(3)]
    base, target = rng.randrange(100), rng.randrange(100)
    k_strides = [dims[1][1] * dims[2][1] * folds, dims[2][1] * folds, folds]
    registers = {
        "src_base": base, "dst_base": target, "in_folds": folds, "groups": groups, "stride": dims[2][0],
        "stride_z": dims[0][0],
    }  # fmt: skip
    for i, name in enumerate("zrc"):
        stride, kernel, padding, inputs, outputs = dims[i]
        high, low = commands.starts(padding, stride, kernel, inputs)
        registers |= {
            f"in_{name}": inputs, f"out_{name}": outputs, f"in_stride_{name}": strides[i],
            f"out_stride_{name}": results[i], f"k_stride_{name}": k_strides[i],
            f"k_step_{name}": stride * k_strides[i], f"start_high_{name}": high, f"start_low_{name}": low,
        }  # fmt: skip
    for name, value in registers.items():
        getattr(dut, name).value = value
    space, room, weights = (1 << len(getattr(dut, n)) for n in ("issue_address", "issue_tag", "issue_weight"))
    expected = []
    places = [(z, r, c) for z in range(dims[0][4]) for r in range(dims[1][4]) for c in range(dims[2][4])]
    for g in range(groups):
        for place in places:
            final = place == places[-1]
            to = (sum(o * s for o, s in zip(place, results, strict=True)) + target) * parts + g
            tag = to % (room >> 1) | (room >> 1 if final and g == groups - 1 else 0)
            boxes = []
            for (stride, kernel, padding, inputs, _), o in zip(dims, place, strict=True):
                e = o + padding
                boxes.append([(i, e - stride * i) for i in range(inputs - 1, -1, -1) if 0 <= e - stride * i < kernel])
            walk = [(z, r, c, f) for z in boxes[0] for r in boxes[1] for c in boxes[2] for f in range(folds)]
            if not walk:
                expected.append((0, 1, 1, 1, int(final), tag))
            for n, (z, r, c, f) in enumerate(walk):
                last = n == len(walk) - 1
                address = (sum(x[0] * s for x, s in zip((z, r, c), strides, strict=True)) + base) * sources + f
                weight = sum(x[1] * s for x, s in zip((z, r, c), k_strides, strict=True)) + f
                flags = (1, int(n == 0), int(last), int(f == folds - 1), int(last and final), tag)
                expected.append((*flags, address % space, weight % weights))
    return expected


@cocotb.test()
async def deconv_walk(dut: Any) -> None:
    """Address and banks of every step, for tensors of random shape."""
    rng = generator("walk")
    quiet(dut, "start", "step")
    await start(dut)
    tz, tr, tc, columns = (int(x) for x in vectors()["lanes"])
    for number in range(30):
        merged = number % 3 == 0
        sides = [1 if merged else rng.randrange(1, 7), rng.randrange(1, 9), rng.randrange(1, 9)]
        words, base = rng.randrange(1, 6), rng.randrange(50)
        strides = [rng.randrange(1, 60) for _ in range(3)]
        for name, value in (
            ("base", base), ("depth", sides[0]), ("rows", sides[1]), ("columns", sides[2]), ("words", words),
            ("stride_z", strides[0]), ("stride_r", strides[1]), ("stride_c", strides[2]), ("merged", int(merged)),
            ("start", 1),
        ):  # fmt: skip
            getattr(dut, name).value = value
        await RisingEdge(dut.clk)
        dut.start.value = 0
        steps = [
            (z, r, c, w)
            for z in range(sides[0])
            for r in range(sides[1])
            for c in range(0, sides[2], columns)
            for w in range(words)
        ]
        for n, (z, r, c, w) in enumerate(steps):
            dut.step.value = 0
            while rng.random() < 0.3:
                await RisingEdge(dut.clk)
            dut.step.value = 1
            await RisingEdge(dut.clk)
            address = base + z // tz * strides[0] + r // tr * strides[1] + c // tc * strides[2]
            address += w // tz if merged else w
            wanted = (
                address % (1 << len(dut.address)),
                w % tz if merged else (z + z // tz) % tz,
                (r + r // tr) % tr,
                (c + c // tc) % tc,
                int(n == len(steps) - 1),
            )
            got = tuple(int(getattr(dut, x).value) for x in ("address", "bank_z", "bank_r", "bank_c", "last"))
            assert got == wanted, f"step {(z, r, c, w)} of {sides}: {got}, not {wanted}"
        dut.step.value = 0


@cocotb.test()
async def deconv_weights(dut: Any) -> None:
    """A stream of groups: never overwritten while read, biases kept for four groups, group_next says the truth."""
    rng = generator("weights")
    quiet(dut, "start", "group_done", "s_axis_tvalid", "address", "bias_address", "weight_base", "weight_group")
    dut.bias_base.value = 0
    await start(dut)
    half = int(vectors()["half"][0])
    groups = [[rng.getrandbits(32) for _ in range(rng.randrange(1, half + 1))] for _ in range(40)]
    biases = [rng.getrandbits(24) for _ in groups]
    beats = [
        (value, int(n == len(group)))
        for group, bias in zip(groups, biases, strict=True)
        for n, value in enumerate([bias, *group])
    ]
    position, offered = 0, False
    checks: list[tuple[int, str, int]] = []  # cycle, port, value
    cycle = present = 0
    done = False
    while present < len(groups) or checks:
        await RisingEdge(dut.clk)
        cycle += 1
        if offered and dut.s_axis_tready.value == 1:
            position, offered = position + 1, False
        for _, port, value in [check for check in checks if check[0] == cycle]:
            assert int(getattr(dut, port).value) == value, f"{port} of group {present}"
        checks = [check for check in checks if check[0] > cycle]
        if not offered and position < len(beats) and rng.random() < 0.7:
            dut.s_axis_tdata.value, dut.s_axis_tlast.value = beats[position]
            offered = True
        dut.s_axis_tvalid.value = int(offered)
        # `done` was high at this edge: the next group is the present one from now on.
        ready = int(dut.group_next.value if done else dut.group_ready.value)
        done = False
        if present < len(groups):
            complete = sum(len(group) + 1 for group in groups[: present + 1])
            assert not ready or position >= complete, "ready before it is complete"
        if ready and present < len(groups):
            n = rng.randrange(len(groups[present]))
            dut.address.value = n
            checks.append((cycle + 5, "weights", groups[present][n]))
            old = max(0, present - rng.randrange(3))
            dut.bias_address.value = old % 4
            checks.append((cycle + 3, "bias", biases[old]))
            done = rng.random() < 0.3
            present += done
        dut.group_done.value = int(done)


@cocotb.test()
async def deconv_memory(dut: Any) -> None:
    """Random reads and writes of all ports against lists."""
    rng = generator("memory")
    lanes, words, parts, bits, columns = (int(x) for x in vectors()["shape"])
    quiet(dut, "run_read", "run_write", "load_write")
    await start(dut)
    address_bits, part_bits = len(dut.run_address), len(dut.run_write_part) // lanes
    held = [[[0] * parts for _ in range(words)] for _ in range(lanes)]
    written: list[tuple[int, int, int, list[tuple[int, int]]]] = []

    def packed(numbers: list[int], width: int) -> int:
        return sum(number << (i * width) for i, number in enumerate(numbers))

    # All words once by LOAD, then anything.
    fill = [(address, bank) for address in range(words) for bank in range(0, lanes, columns)]
    checks: dict[int, int] = {}
    for cycle in range(len(fill) + 600):
        write, load, where, part, data = 0, 0, [], [], []
        for lane in range(lanes):
            write |= int(cycle >= len(fill) + 2 and rng.random() < 0.3) << lane
            where.append(rng.randrange(words))
            part.append(rng.randrange(parts))
            data.append(rng.getrandbits(bits))
        address = rng.randrange(words)
        beat = [rng.getrandbits(bits * parts) for _ in range(columns)]
        if cycle < len(fill):
            address, bank = fill[cycle]
            load = ((1 << columns) - 1) << bank
        elif rng.random() < 0.5:
            load = rng.getrandbits(lanes)
        run_read, run_at, store_at = rng.randrange(2), rng.randrange(words), rng.randrange(words)
        for name, value in (
            ("run_write", write), ("run_write_address", packed(where, address_bits)),
            ("run_write_part", packed(part, part_bits)), ("run_write_data", packed(data, bits)), ("load_write", load),
            ("load_address", address), ("load_data", packed(beat, bits * parts)), ("run_read", run_read),
            ("run_address", run_at), ("store_address", store_at),
        ):  # fmt: skip
            getattr(dut, name).value = value
        await RisingEdge(dut.clk)
        assert int(dut.store_ready.value) == 1 - run_read
        assert int(dut.load_ready.value) == int(write == 0)
        if cycle in checks:
            assert int(dut.data.value) == checks.pop(cycle), f"cycle {cycle}"
        # A read comes one cycle after its address, as a write does: it sees the writes of the cycles before.
        for lane, at, _, values in [w for w in written if w[2] < cycle]:
            for p, value in values:
                held[lane][at][p] = value
        written = [w for w in written if w[2] >= cycle]
        at = run_at if run_read else store_at
        if cycle > len(fill) + 2:
            word_of = [packed(held[lane][at], bits) for lane in range(lanes)]
            checks[cycle + 3] = packed(word_of, bits * parts)
        for lane in range(lanes):
            if write >> lane & 1:
                written.append((lane, where[lane], cycle, [(part[lane], data[lane])]))
            elif write == 0 and load >> lane & 1:
                value = beat[lane % columns]
                mask = (1 << bits) - 1
                written.append((lane, address, cycle, [(p, value >> (p * bits) & mask) for p in range(parts)]))
