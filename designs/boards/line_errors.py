"""What can go wrong between a host and a board's shell; every message names the way out."""

from __future__ import annotations


class LinkError(RuntimeError):
    """The exchange with a board failed; the subclass says how."""


class PortError(LinkError):
    """A serial port that cannot be opened."""


class NoPort(PortError):
    """The port does not exist."""


class PortForbidden(PortError):
    """The user may not open the port."""


class PortBusy(PortError):
    """Another program has the port."""


class LinkLost(LinkError):
    """The port went away while it was in use, as when a board is unplugged."""


class NoAnswer(LinkError):
    """No good frame came from the board for as long as patience allows."""


class OtherProtocol(NoAnswer):
    """Bytes come, but they are not frames of a shell."""


class OtherShell(LinkError):
    """The board answers in frames, but its registers are not those that this version knows."""


class Stalled(LinkError):
    """The line is alive, but the design takes no input and gives no output."""


class TooNoisy(LinkError):
    """Frames come, but so many are damaged that nothing gets through."""


class BoardReset(LinkError):
    """The board forgot the sequence numbers of this run: it was reset or configured again."""
