"""What the shell's registers say, as named values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from designs.boards.frames import MAGIC, SHELL_VERSION, Flag, Register
from designs.boards.line_errors import OtherShell


@dataclass(frozen=True)
class Identity:
    """What is on the board: first 32 hex digits of the design's SHA-256, "workload/case", clock, shapes in bytes."""

    shell_version: int
    design: str
    name: str
    clock_hz: int
    in_bytes: int
    in_words: int
    out_bytes: int
    out_words: int
    in_fifo: int
    out_fifo: int

    @property
    def item_in(self) -> int:
        """Bytes of input an item; 0 when items have no fixed length."""
        return self.in_bytes * self.in_words

    @property
    def item_out(self) -> int:
        """Bytes of output an item; 0 when items have no fixed length."""
        return self.out_bytes * self.out_words


def identity(words: Sequence[int]) -> Identity:
    """From registers 0 to 17; OtherShell when they are not those of a shell of this version."""
    if words[Register.MAGIC] != MAGIC:
        raise OtherShell(
            f"the board's first register is 0x{words[0]:08x}, not 0x{MAGIC:08x} (GATE): no shell of this project; "
            "program the board again"
        )
    version = words[Register.SHELL_VERSION]
    if version != SHELL_VERSION:
        raise OtherShell(
            f"the board has shell version {version}, this program speaks version {SHELL_VERSION}; "
            "build and program the bitstream again"
        )
    name = b"".join(word.to_bytes(4, "little") for word in words[Register.NAME : Register.CLOCK_HZ])
    halves = [half for word in words[Register.IN : Register.FIFO + 1] for half in (word & 0xFFFF, word >> 16)]
    return Identity(
        version,
        "".join(f"{word:08x}" for word in words[Register.DESIGN : Register.NAME]),
        name.rstrip(b"\0").decode("ascii", "replace"),
        words[Register.CLOCK_HZ],
        *halves,
    )


@dataclass(frozen=True)
class Counters:
    """Registers 19 to 38, the pairs joined; cycles are those of the core's clock. See `frames.Register`."""

    flags: Flag
    last_tag: int
    frames_ok: int
    frames_bad: int
    words_in: int
    words_out: int
    items_in: int
    items_out: int
    cycles: int
    steady: int
    latency_min: int
    latency_max: int
    latency_sum: int
    stall_in: int
    stall_out: int
    line: int

    @property
    def interval(self) -> float | None:
        """Mean cycles from one item out to the next; None with fewer than two items."""
        return self.steady / (self.items_out - 1) if self.items_out > 1 else None

    @property
    def latency(self) -> float | None:
        """Mean cycles of an item from its first word in to its last word out; None without items."""
        return self.latency_sum / self.items_out if self.items_out else None


#: Where `counters` starts to read.
COUNTERS_FROM = Register.FLAGS


def counters(words: Sequence[int]) -> Counters:
    """From registers 19 to 38."""
    values = []
    for register in Register:
        if register >= COUNTERS_FROM:
            at = register - COUNTERS_FROM
            values.append(words[at] | words[at + 1] << 32 if register.name.endswith("_LO") else words[at])
    return Counters(Flag(values[0]), *values[1:])
