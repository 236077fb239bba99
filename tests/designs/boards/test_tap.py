"""The test access port: its states against the standard's table, its registers against a model that goes bit by bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from designs.boards.ecp5 import PARTS
from designs.boards.simulated.chip import Chip, Instruction
from designs.boards.simulated.tap import State, Tap

# IEEE 1149.1, TAP controller state diagram: state, next with TMS 0, next with TMS 1. Written down by itself, not read
# from the code under test.
DIAGRAM = """
TEST_LOGIC_RESET RUN_TEST_IDLE TEST_LOGIC_RESET
RUN_TEST_IDLE    RUN_TEST_IDLE SELECT_DR_SCAN
SELECT_DR_SCAN   CAPTURE_DR    SELECT_IR_SCAN
CAPTURE_DR       SHIFT_DR      EXIT1_DR
SHIFT_DR         SHIFT_DR      EXIT1_DR
EXIT1_DR         PAUSE_DR      UPDATE_DR
PAUSE_DR         PAUSE_DR      EXIT2_DR
EXIT2_DR         SHIFT_DR      UPDATE_DR
UPDATE_DR        RUN_TEST_IDLE SELECT_DR_SCAN
SELECT_IR_SCAN   CAPTURE_IR    TEST_LOGIC_RESET
CAPTURE_IR       SHIFT_IR      EXIT1_IR
SHIFT_IR         SHIFT_IR      EXIT1_IR
EXIT1_IR         PAUSE_IR      UPDATE_IR
PAUSE_IR         PAUSE_IR      EXIT2_IR
EXIT2_IR         SHIFT_IR      UPDATE_IR
UPDATE_IR        RUN_TEST_IDLE SELECT_DR_SCAN
"""
TABLE = {state: (low, high) for state, low, high in (line.split() for line in DIAGRAM.split("\n") if line)}
PART = PARTS["LFE5U-85F"]


def chip() -> Chip:
    return Chip(PART, start=lambda fingerprint: None, stop=lambda: None)


def pack(bits: Sequence[int]) -> bytes:
    return np.packbits(np.array(bits, np.uint8), bitorder="little").tobytes()


def unpack(data: bytes, count: int) -> list[int]:
    return np.unpackbits(np.frombuffer(data, np.uint8), count=count, bitorder="little").tolist()


def clock(tap: Tap, tms: Sequence[int], tdi: Sequence[int] | None = None) -> list[int]:
    """Clock bits in one vector; the bits of TDO."""
    return unpack(tap.shift(pack(tms), pack(tdi or [0] * len(tms)), len(tms)), len(tms))


def way(start: str, end: str) -> list[int]:
    """The shortest way between two states after the table."""
    paths: dict[str, list[int]] = {start: []}
    while end not in paths:
        paths |= {TABLE[s][t]: [*p, t] for s, p in list(paths.items()) for t in (0, 1) if TABLE[s][t] not in paths}
    return paths[end]


def go(tap: Tap, end: str) -> None:
    clock(tap, way(tap.state.name, end))
    assert tap.state.name == end


def instruct(tap: Tap, opcode: int) -> list[int]:
    """Load an instruction and go to Run-Test/Idle; what Capture-IR had loaded."""
    go(tap, "SHIFT_IR")
    seen = clock(tap, [0] * 7 + [1], [opcode >> i & 1 for i in range(8)])
    go(tap, "RUN_TEST_IDLE")
    return seen


def scan(tap: Tap, tdi: Sequence[int]) -> list[int]:
    """Shift bits through the selected register and go to Run-Test/Idle; the bits of TDO."""
    go(tap, "SHIFT_DR")
    seen = clock(tap, [0] * (len(tdi) - 1) + [1], tdi)
    go(tap, "RUN_TEST_IDLE")
    return seen


@pytest.mark.parametrize("state", TABLE)
@pytest.mark.parametrize("tms", [0, 1])
def test_every_transition(state: str, tms: int) -> None:
    tap = Tap(chip())
    go(tap, state)
    clock(tap, [tms])
    assert tap.state.name == TABLE[state][tms]


@pytest.mark.parametrize("state", TABLE)
def test_five_clocks_reset_from_everywhere(state: str) -> None:
    tap = Tap(chip())
    instruct(tap, Instruction.BYPASS)
    go(tap, state)
    clock(tap, [1] * 5)
    assert tap.state is State.TEST_LOGIC_RESET
    # Reset selects the IDCODE, without an instruction.
    go(tap, "SHIFT_DR")
    assert sum(bit << i for i, bit in enumerate(clock(tap, [0] * 32))) == PART.idcode


def test_a_long_walk_in_one_vector_ends_where_the_table_says() -> None:
    rng = np.random.default_rng(7)
    tap, state = Tap(chip()), "TEST_LOGIC_RESET"
    for _ in range(200):
        # Few changes, so that long stays occur.
        tms = np.repeat(rng.integers(0, 2, 40), rng.integers(1, 20, 40)).tolist()
        clock(tap, tms)
        for bit in tms:
            state = TABLE[state][bit]
        assert tap.state.name == state


def test_idcode_usercode_bypass_and_ir() -> None:
    tap = Tap(chip())
    assert instruct(tap, Instruction.IDCODE_PUB)[:2] == [1, 0], "the standard fixes the two lowest bits"
    assert sum(bit << i for i, bit in enumerate(scan(tap, [0] * 32))) == PART.idcode
    instruct(tap, Instruction.USERCODE)
    assert scan(tap, [0] * 32) == [0] * 32
    pattern = [1, 0, 1, 1, 0, 0, 1]
    for opcode in (Instruction.BYPASS, 0x55):  # an unknown opcode selects BYPASS
        instruct(tap, opcode)
        assert scan(tap, pattern) == [0, *pattern[:-1]], "one clock late, and a zero first"


@pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 31, 33, 63, 64, 65, 1000, 8191])
def test_what_goes_in_comes_out_behind_the_register(length: int) -> None:
    tap = Tap(chip())
    rng = np.random.default_rng(length)
    data = rng.integers(0, 2, length).tolist()
    go(tap, "SHIFT_DR")
    pieces = np.sort(rng.integers(0, length + 1, 3)).tolist()
    seen: list[int] = []
    for start, end in zip([0, *pieces], [*pieces, length], strict=True):
        seen += clock(tap, [0] * (end - start), data[start:end])
        # A pause on the way loses nothing.
        clock(tap, [])
    idcode = [PART.idcode >> i & 1 for i in range(32)]
    assert seen == [*idcode, *data][:length]
    assert clock(tap, [0] * 32) == [*idcode, *data][length : length + 32]


def test_pauses_and_second_thoughts_keep_the_register() -> None:
    tap = Tap(chip())
    go(tap, "SHIFT_DR")
    first = clock(tap, [0] * 12 + [1])  # 13 bits, the last on the way out
    clock(tap, [0, 0, 0, 1, 0])  # Pause-DR for a while, Exit2-DR, back
    assert tap.state is State.SHIFT_DR
    rest = clock(tap, [0] * 19)
    assert sum(bit << i for i, bit in enumerate(first + rest)) == PART.idcode


class Naive:
    """A TAP one bit at a time, for one 8-bit instruction register and registers of a given length."""

    def __init__(self, value: int, length: int) -> None:
        self.state, self.value, self.length = "TEST_LOGIC_RESET", value, length
        self.register: list[int] = []

    def clock(self, tms: int, tdi: int) -> int:
        tdo = 1
        if self.state in ("SHIFT_DR", "SHIFT_IR"):
            self.register.append(tdi)
            tdo = self.register.pop(0)
        elif self.state == "CAPTURE_DR":
            self.register = [self.value >> i & 1 for i in range(self.length)]
        elif self.state == "CAPTURE_IR":
            self.register = [1, 0, 0, 0, 0, 0, 0, 0]
        self.state = TABLE[self.state][tms]
        return tdo


def test_against_a_model_bit_by_bit() -> None:
    seed = 11
    rng = np.random.default_rng(seed)
    device = chip()
    tap, naive = Tap(device), Naive(PART.idcode, 32)
    for round_ in range(300):
        count = int(rng.integers(0, 200))
        tms = (rng.random(count) < rng.choice([0.02, 0.2, 0.5])).astype(int).tolist()
        tdi = rng.integers(0, 2, count).tolist()
        expected = []
        for mode, bit in zip(tms, tdi, strict=True):
            expected.append(naive.clock(mode, bit))
            # Whatever instruction was shifted in, keep to the one the model has.
            if naive.state == "UPDATE_IR":
                break
        count = len(expected)
        assert clock(tap, tms[:count], tdi[:count]) == expected, f"seed {seed}, round {round_}"
        device.reset()


def test_vectors_of_the_wrong_length() -> None:
    with pytest.raises(ValueError, match="9 bits need 2 bytes of TMS and TDI, got 1 and 2"):
        Tap(chip()).shift(b"\0", b"\0\0", 9)
