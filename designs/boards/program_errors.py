"""What can be wrong when a board is programmed, and how it is said."""

from __future__ import annotations

import re


class ProgramError(RuntimeError):
    """A board was not programmed; the message says why, and the way out."""


class NoBoard(ProgramError):
    """No board of this kind answers."""


class SeveralBoards(ProgramError):
    """More than one board could be meant."""


class Forbidden(ProgramError):
    """The USB device may not be opened by this user."""


class Busy(ProgramError):
    """Another program holds the USB bridge."""


class WrongPart(ProgramError):
    """The bitstream, or the board that answers, has another part."""


class Failed(ProgramError):
    """openFPGALoader failed on the way."""


def udev_rule(usb: str) -> str:
    """The rule of udev that lets users at the machine open a USB device, given as vendor:product."""
    vendor, product = usb.split(":")
    return (
        f'SUBSYSTEM=="usb", ATTR{{idVendor}}=="{vendor}", ATTR{{idProduct}}=="{product}", MODE="0660", TAG+="uaccess"'
    )


def forbidden(title: str, usb: str) -> str:
    """What to say when the USB device `usb` of a board may not be opened."""
    return (
        f"permission denied on the USB device {usb} of {title}; plug the board in again after this command: "
        f"echo '{udev_rule(usb)}' | sudo tee -a /etc/udev/rules.d/70-gatewarp.rules && "
        "sudo udevadm control --reload-rules && sudo udevadm trigger"
    )


def explain(what: str, output: str, limit: int = 4) -> str:
    """One line with the last ones that openFPGALoader printed, without progress bars, dumps of bytes and C++ names."""
    lines = [
        re.sub(r"(?: with)?:? *std::exception$", "", line.strip()) for line in output.replace("\r", "\n").splitlines()
    ]
    telling = [line for line in lines if line and not line.startswith(("Loading:", "received ", "empty")) and any(
        character.isalpha() for character in line) and len(line) < 200]  # fmt: skip
    return f"{what}; openFPGALoader: {'; '.join(telling[-limit:])}" if telling else what
