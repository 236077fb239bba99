"""A serial port as the byte stream that `Link` wants, with pyserial.

with open_serial("/dev/ttyUSB0", 3_000_000) as stream:
    link = Link(stream)
"""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import Protocol, Self

import serial
from serial.tools import list_ports

from designs.boards.line_errors import LinkLost, NoPort, PortBusy, PortError, PortForbidden

#: Seconds that a read waits for a first byte: a link looks at its timers at least that often.
WAIT = 0.005
#: Seconds after which a port that takes no bytes counts as blocked; the frame is lost then and sent again.
BLOCKED = 1.0

UDEV_RULE = 'SUBSYSTEM=="tty", ATTRS{idVendor}=="%s", MODE="0660", TAG+="uaccess"'


class Stream(Protocol):
    """Bytes in order, with whatever damage the line does to them."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes that are there; waits a few milliseconds for the first, then returns none.

        Errors: LinkLost.
        """

    def write(self, data: bytes, /) -> int:
        """Send bytes; returns how many were taken. Errors: LinkLost."""


class SerialStream:
    """A serial port opened by `open_serial`; also a context manager."""

    def __init__(self, port: serial.Serial) -> None:
        self.port = port

    def read(self, size: int, /) -> bytes:
        """See `Stream.read`."""
        try:
            first = self.port.read(1)
            more = min(self.port.in_waiting, size - 1) if first else 0
            return bytes(first + self.port.read(more) if more else first)
        except (OSError, TypeError) as error:  # pyserial's own error is an OSError; a closed port gives a TypeError
            raise self._lost(error) from error

    def write(self, data: bytes, /) -> int:
        """See `Stream.write`."""
        try:
            self.port.write(data)
        except serial.SerialTimeoutException:
            pass  # a part may be out already, so these bytes count as sent and damaged
        except (OSError, TypeError) as error:
            raise self._lost(error) from error
        return len(data)

    def _lost(self, error: Exception) -> LinkLost:
        return LinkLost(
            f"serial port {self.port.port} went away in mid-run ({error}); was the board unplugged? Plug it in, "
            "program it again and repeat the run"
        )

    def close(self) -> None:
        """Close the port; what is not sent yet is dropped, so that closing a blocked port does not hang."""
        with contextlib.suppress(Exception):  # termios.error of a port that is gone is no OSError
            if self.port.is_open:
                self.port.reset_output_buffer()
        self.port.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ports() -> list[str]:
    """Serial ports that the machine has, with what is known of each."""
    return sorted(f"{port.device} ({port.description})" for port in list_ports.comports())


def _vendor(path: str) -> str:
    found = [port.vid for port in list_ports.comports() if port.device == path and port.vid is not None]
    return f"{found[0]:04x}" if found else "0403"


def _way_out(path: str, baud: int, error: Exception) -> PortError:
    """The error that names what to do, from what the operating system said."""
    code = getattr(error, "errno", None)
    text = str(error).lower()
    if code == errno.ENOENT or "no such file" in text or "filenotfound" in text:
        there = ", ".join(ports()) or "none: plug the board in, and check that its cable carries data"
        return NoPort(f"no serial port {path}; ports here: {there}")
    if code in (errno.EACCES, errno.EPERM) and Path(path).exists():
        rule = UDEV_RULE % _vendor(path)
        return PortForbidden(
            f"no permission to open {path}; put the user into its group (sudo usermod -aG dialout $USER, then log in "
            f"again), or add the line {rule} to /etc/udev/rules.d/70-gatewarp.rules and plug the board in again"
        )
    if code in (errno.EBUSY, errno.EAGAIN) or "exclusively lock" in text or "resource busy" in text:
        return PortBusy(
            f"{path} is in use by another program (a terminal, another run?); `fuser {path}` names it, end it"
        )
    if code == errno.ENOTTY or "inappropriate ioctl" in text:
        return NoPort(f"{path} is no serial port; ports here: {', '.join(ports()) or 'none'}")
    if isinstance(error, ValueError) or code == errno.EINVAL:
        return PortError(f"{path} does not do {baud} baud ({error}); use a lower rate that the board's adapter knows")
    return PortError(f"cannot open {path} at {baud} baud: {error}")


def open_serial(port: str, baud: int) -> SerialStream:
    """Open a serial port for one program alone, 8 bits, no parity, no flow control; pyserial forgets what lay in it.

    Errors: NoPort, PortForbidden, PortBusy, PortError.
    """
    try:
        opened = serial.Serial(port, baud, timeout=WAIT, write_timeout=BLOCKED, exclusive=True)
        with contextlib.suppress(Exception):  # only FTDI's driver knows it: hand short answers on at once, not in 16 ms
            opened.set_low_latency_mode(True)
    except Exception as error:  # SerialException, ValueError, and termios.error, which only some systems have
        raise _way_out(port, baud, error) from error
    return SerialStream(opened)
