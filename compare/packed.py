"""Bytes in a condition of a record, which must be a scalar: deflated, in base 64."""

from __future__ import annotations

import base64
import binascii
import zlib

from compare.record import Scalar


def pack(raw: bytes) -> str:
    """Return bytes as text."""
    return base64.b64encode(zlib.compress(raw, 9)).decode("ascii")


def unpack(packed: Scalar, size: int, what: str) -> bytes:
    """Return the `size` bytes that `pack` packed. Errors: ValueError for anything else, naming `what` they are."""
    try:
        inflate = zlib.decompressobj()
        raw = inflate.decompress(base64.b64decode("" if packed is None else str(packed), validate=True), size + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(str(error)) from None
    if len(raw) != size or not inflate.eof:
        raise ValueError(f"{len(raw)}{'' if inflate.eof else ' or more'} bytes of {what}, but {size} are stated")
    return raw
