"""The commands of the engine: 32-bit words {opcode[31:24], value[23:0]}, and what their values mean.

    word(Register.SRC_BASE, 128), word(Action.RUN)

This file is the single source of opcodes and fields; a test holds `deconv_commands.sv` to it. A register keeps its
value until it is written again. RUN, LOAD and STORE wait for their unit to be idle and copy the registers, so those of
the next layer may be written while the layer before runs.

Units: a *word* is what a bank of activation memory holds at an address: WIDE = max(TM, TN) channels of one position. A
*fold* is what the multipliers take at a time: TN input channels (TN x TZ of merged layers). A *group* is TM output
channels. Addresses and strides of activation memories are in words. Signed values are two's complement.

Both dataflows read the registers down to BIAS_BASE. `input_oriented` adds TAPS to Q_BLOCKS_C and the table of taps.
`reverse_loop` needs no table: weights lie in raster order of the kernel, tap t = (kz K + kr) K + kc, and the registers
from K_STRIDE_R on say where an output's inputs begin and end. In one dimension, with e = o + padding (less stride x
the first input held, and plus the first output, when a slab is computed), output o takes the inputs from
(e - K + S) div S to e div S, cut to those there are; the highest is h = min(e div S, inputs - 1), which meets kernel
element e - S h. START_HIGH_* is {e - S h, h}, where h must be 0 or more, and START_LOW_* is
{(e - K + S) mod S, (e - K + S) div S}, both at the first output; `starts` makes the two.
"""

from __future__ import annotations

from enum import IntEnum

VALUE_BITS = 24
#: Entries of the table of taps.
TAP_ENTRIES = 256


class Register(IntEnum):
    """Registers by opcode. 0 does nothing."""

    NOTHING = 0x00
    # Of a RUN.
    SRC = 0x01  # memory that is read: 0 A, 1 B; the other one is written
    SRC_BASE = 0x02  # word of position 0
    IN_Z = 0x03  # positions of the input that are held: depth (1 for images), rows, columns
    IN_R = 0x04
    IN_C = 0x05
    IN_BLOCKS_Z = 0x06  # ceil(positions / positions in parallel)
    IN_BLOCKS_R = 0x07
    IN_BLOCKS_C = 0x08
    IN_FOLDS = 0x09  # folds of the input channels
    IN_STRIDE_Z = 0x0A  # words from a block of positions to the next in a bank
    IN_STRIDE_R = 0x0B
    IN_STRIDE_C = 0x0C  # words of a position in a bank
    CHANNELS_IN = 0x0E
    CHANNELS_OUT = 0x0F
    GROUPS = 0x10  # ceil(output channels / TM)
    DST_BASE = 0x11
    OUT_Z = 0x12  # positions of the output that are computed
    OUT_R = 0x13
    OUT_C = 0x14
    OUT_STRIDE_Z = 0x15
    OUT_STRIDE_R = 0x16
    OUT_STRIDE_C = 0x17
    MODE = 0x19  # see `mode`
    STRIDE = 0x1A  # of rows and columns
    STRIDE_Z = 0x1B  # of the depth; 1 for images
    SHIFT = 0x1C  # of the rounding
    WEIGHT_BASE = 0x1D  # word of group 0; 0 where weights are streamed
    WEIGHT_GROUP = 0x1E  # words of a group: taps x folds; where weights are streamed too
    BIAS_BASE = 0x1F  # word of group 0; 0 where weights are streamed
    # Of a RUN of input_oriented.
    TAPS = 0x20
    TAP_BASE = 0x21  # entry of tap 0, so that two tables may alternate
    Q_BLOCKS_Z = 0x22
    Q_BLOCKS_R = 0x23
    Q_BLOCKS_C = 0x24
    # Of a RUN of reverse_loop.
    K_STRIDE_Z = 0x28  # words of weights from kz to kz + 1: K x K x IN_FOLDS
    K_STRIDE_R = 0x29  # K x IN_FOLDS
    K_STRIDE_C = 0x2A  # IN_FOLDS
    K_STEP_Z = 0x2B  # words of weights from an input to the one before: STRIDE_Z x K_STRIDE_Z
    K_STEP_R = 0x2C  # STRIDE x K_STRIDE_R
    K_STEP_C = 0x2D  # STRIDE x K_STRIDE_C
    START_HIGH_Z = 0x30  # see `starts`
    START_HIGH_R = 0x31
    START_HIGH_C = 0x32
    START_LOW_Z = 0x33
    START_LOW_R = 0x34
    START_LOW_C = 0x35
    # Of a LOAD or a STORE.
    IO_MEM = 0x40  # 0 A, 1 B
    IO_BASE = 0x41
    IO_Z = 0x42  # positions
    IO_R = 0x43
    IO_C = 0x44
    IO_WORDS = 0x45  # words of a position in the stream: ceil(channels / WIDE)
    IO_STRIDE_Z = 0x46
    IO_STRIDE_R = 0x47
    IO_STRIDE_C = 0x48
    IO_MERGED = 0x49
    IO_LAST = 0x4B  # 1: tlast on the last beat of a STORE
    # Entry of the table that the next TAP writes.
    TAP_INDEX = 0x50


class Action(IntEnum):
    """What is done at once, by opcode."""

    TAP = 0x80  # write an entry of the table, see `tap`, and go to the next entry
    RUN = 0x81  # compute a layer or a slab of it
    LOAD = 0x82  # stream into activation memory
    STORE = 0x83  # activation memory into the stream
    WAIT = 0x84  # until all units in the mask are idle
    END = 0x85  # of the program: it begins again


class Unit(IntEnum):
    """Bits of WAIT's mask."""

    LOAD = 1
    RUN = 2
    STORE = 4


#: Activations by their number in MODE.
ACTIVATION_LINEAR, ACTIVATION_CLIP, ACTIVATION_TABLE = range(3)

#: Bits of a value by its register; what is not here has all 24. Sides have SIDE_BITS, channels and their parts
#: CHANNEL_BITS. The rest of the values must be 0.
SIDE_BITS = 10
CHANNEL_BITS = 12
BITS: dict[Register, int] = {
    Register.SRC: 1,
    **dict.fromkeys((Register.IN_Z, Register.IN_R, Register.IN_C), SIDE_BITS),
    **dict.fromkeys((Register.IN_BLOCKS_Z, Register.IN_BLOCKS_R, Register.IN_BLOCKS_C), SIDE_BITS),
    **dict.fromkeys((Register.OUT_Z, Register.OUT_R, Register.OUT_C), SIDE_BITS),
    **dict.fromkeys((Register.Q_BLOCKS_Z, Register.Q_BLOCKS_R, Register.Q_BLOCKS_C), SIDE_BITS),
    **dict.fromkeys((Register.IO_Z, Register.IO_R, Register.IO_C), SIDE_BITS),
    **dict.fromkeys((Register.IN_FOLDS, Register.GROUPS, Register.IO_WORDS), CHANNEL_BITS),
    **dict.fromkeys((Register.CHANNELS_IN, Register.CHANNELS_OUT), CHANNEL_BITS),
    Register.MODE: 4,
    Register.STRIDE: 3,
    Register.STRIDE_Z: 3,
    Register.SHIFT: 6,
    Register.TAPS: 9,
    Register.TAP_BASE: 8,
    Register.TAP_INDEX: 8,
    **dict.fromkeys((Register.IO_MEM, Register.IO_MERGED, Register.IO_LAST), 1),
}


def word(code: Register | Action, value: int = 0) -> int:
    """The 32 bits of a command. Errors: ValueError naming it for a value that does not fit."""
    bits = VALUE_BITS if isinstance(code, Action) else BITS.get(code, VALUE_BITS)
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{code.name}: a value of {value}, but it holds {bits} bits")
    return code << VALUE_BITS | value


def mode(*, merged_in: bool = False, merged_out: bool = False, activation: int = ACTIVATION_LINEAR) -> int:
    """Value of MODE: bit 0 merged input, bit 1 merged output, bits 3:2 activation."""
    return int(merged_in) | int(merged_out) << 1 | activation << 2


def tap(phase: int, dz: int, dr: int, dc: int) -> int:
    """Value of TAP: {phase[5:0], dz, dr, dc}, each of the latter 6 bits, signed; phase = (fz S + fr) S + fc.

    Errors: ValueError for what does not fit.
    """
    if not 0 <= phase < 64:
        raise ValueError(f"TAP: a phase of {phase}; there are 64")
    return phase << 18 | _signed("TAP", dz, 6) << 12 | _signed("TAP", dr, 6) << 6 | _signed("TAP", dc, 6)


def starts(e: int, stride: int, kernel: int, inputs: int) -> tuple[int, int]:
    """Values of START_HIGH_* and START_LOW_*: {offset [23:16], input [15:0] signed} for e of the first output.

    Errors: ValueError for an output that lies before the first input.
    """
    if e < 0:
        raise ValueError(f"START_HIGH: the first output is {-e} positions before the first input that is held")
    high = min(e // stride, inputs - 1)
    low, low_offset = divmod(e - kernel + stride, stride)
    if e - stride * high > 255:
        raise ValueError(f"START_HIGH: the first output is {e - stride * high} positions behind the last input held")
    return (e - stride * high) << 16 | high, low_offset << 16 | _signed("START_LOW", low, 16)


def _signed(name: str, value: int, bits: int) -> int:
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"{name}: a value of {value}, but a field holds {bits} signed bits")
    return value & ((1 << bits) - 1)
