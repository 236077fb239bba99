"""A JTAG test access port: the state machine of IEEE 1149.1 and the registers that a device puts behind it.

    tap = Tap(device)
    tdo = tap.shift(tms, tdi, bits)

Vectors hold one bit a clock, lowest bit of the first byte first, as in the Xilinx Virtual Cable. TDO of a clock is what
the register shows before that clock's rising edge. Only clocks at which the state may change are stepped; the long
stays in between (shifting, pausing, idling) are done at once, so that megabytes take a second.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint8]


class State(IntEnum):
    """The sixteen states of the controller, as IEEE 1149.1 names them."""

    TEST_LOGIC_RESET = 0
    RUN_TEST_IDLE = 1
    SELECT_DR_SCAN = 2
    CAPTURE_DR = 3
    SHIFT_DR = 4
    EXIT1_DR = 5
    PAUSE_DR = 6
    EXIT2_DR = 7
    UPDATE_DR = 8
    SELECT_IR_SCAN = 9
    CAPTURE_IR = 10
    SHIFT_IR = 11
    EXIT1_IR = 12
    PAUSE_IR = 13
    EXIT2_IR = 14
    UPDATE_IR = 15


S = State

#: Next state for TMS = 0 and TMS = 1 (IEEE 1149.1, figure of the TAP controller).
NEXT: dict[State, tuple[State, State]] = {
    S.TEST_LOGIC_RESET: (S.RUN_TEST_IDLE, S.TEST_LOGIC_RESET),
    S.RUN_TEST_IDLE: (S.RUN_TEST_IDLE, S.SELECT_DR_SCAN),
    S.SELECT_DR_SCAN: (S.CAPTURE_DR, S.SELECT_IR_SCAN),
    S.CAPTURE_DR: (S.SHIFT_DR, S.EXIT1_DR),
    S.SHIFT_DR: (S.SHIFT_DR, S.EXIT1_DR),
    S.EXIT1_DR: (S.PAUSE_DR, S.UPDATE_DR),
    S.PAUSE_DR: (S.PAUSE_DR, S.EXIT2_DR),
    S.EXIT2_DR: (S.SHIFT_DR, S.UPDATE_DR),
    S.UPDATE_DR: (S.RUN_TEST_IDLE, S.SELECT_DR_SCAN),
    S.SELECT_IR_SCAN: (S.CAPTURE_IR, S.TEST_LOGIC_RESET),
    S.CAPTURE_IR: (S.SHIFT_IR, S.EXIT1_IR),
    S.SHIFT_IR: (S.SHIFT_IR, S.EXIT1_IR),
    S.EXIT1_IR: (S.PAUSE_IR, S.UPDATE_IR),
    S.PAUSE_IR: (S.PAUSE_IR, S.EXIT2_IR),
    S.EXIT2_IR: (S.SHIFT_IR, S.UPDATE_IR),
    S.UPDATE_IR: (S.RUN_TEST_IDLE, S.SELECT_DR_SCAN),
}

_SHIFTING = (S.SHIFT_DR, S.SHIFT_IR)


class Device(Protocol):
    """What stands behind the port. Registers are arrays of bits, the one next to TDO first."""

    def reset(self) -> None:
        """Test-Logic-Reset was entered."""

    def capture_ir(self) -> Bits:
        """What Capture-IR loads into the instruction register."""

    def update_ir(self, bits: Bits) -> None:
        """The instruction register was updated."""

    def capture_dr(self) -> Bits:
        """What Capture-DR loads into the register that the instruction selects; its length is the register's."""

    def shifted_dr(self, bits: Bits) -> None:
        """Bits from TDI that were shifted into the selected register, as they come."""

    def update_dr(self, bits: Bits) -> None:
        """The selected register was updated."""

    def idle(self, clocks: int) -> None:
        """Clocks that were spent in Run-Test/Idle."""


class Tap:
    """The controller of one device; `state` is where it is, at power-up Test-Logic-Reset."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.state = State.TEST_LOGIC_RESET
        self._register: Bits = np.zeros(0, np.uint8)
        device.reset()

    def shift(self, tms: bytes, tdi: bytes, bits: int) -> bytes:
        """Clock `bits` bits of TMS and TDI; return TDO, padded with zeros to whole bytes.

        TDO reads one where the port does not drive it (outside Shift-DR and Shift-IR): cables pull it up.
        Errors: ValueError when a vector is not as long as `bits` says.
        """
        size = -(-bits // 8)
        if bits < 0 or len(tms) != size or len(tdi) != size:
            raise ValueError(f"{bits} bits need {size} bytes of TMS and TDI, got {len(tms)} and {len(tdi)}")
        modes = np.unpackbits(np.frombuffer(tms, np.uint8), count=bits, bitorder="little").tobytes()
        data = np.unpackbits(np.frombuffer(tdi, np.uint8), count=bits, bitorder="little")
        tdo = np.ones(bits, np.uint8)
        at = 0
        while at < bits:
            # The clocks in which this state is left or, where it can be kept, all those until then.
            stay = 1 if self.state is S.TEST_LOGIC_RESET else 0
            last = at
            if NEXT[self.state][stay] is self.state:
                last = modes.find(1 - stay, at)
                last = bits - 1 if last < 0 else last
            end = last + 1
            self._clock(data[at:end], tdo[at:end])
            self._enter(NEXT[self.state][modes[last]])
            at = end
        return np.packbits(tdo, bitorder="little").tobytes()

    def _clock(self, data: Bits, tdo: Bits) -> None:
        """Rising edges in the present state, one for each bit of `data`; `tdo` receives what the port showed."""
        if self.state in _SHIFTING:
            line = np.concatenate([self._register, data])
            tdo[:] = line[: data.size]
            self._register = line[data.size :]
            if self.state is S.SHIFT_DR:
                self.device.shifted_dr(data)
        elif self.state is S.CAPTURE_DR:
            self._register = self.device.capture_dr()
        elif self.state is S.CAPTURE_IR:
            self._register = self.device.capture_ir()
        elif self.state is S.RUN_TEST_IDLE:
            self.device.idle(data.size)

    def _enter(self, state: State) -> None:
        """Go to a state; updates and the reset happen on the falling edge that follows."""
        if state is self.state:
            return
        self.state = state
        if state is S.UPDATE_DR:
            self.device.update_dr(self._register)
        elif state is S.UPDATE_IR:
            self.device.update_ir(self._register)
        elif state is S.TEST_LOGIC_RESET:
            self.device.reset()
