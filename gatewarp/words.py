"""Small words for messages."""

from __future__ import annotations


def with_article(noun: str) -> str:
    """A noun with `a` or `an`."""
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
