"""A pitfall of Yosys in our own SystemVerilog."""

from __future__ import annotations

import re

from compare.provenance import repo_root
from designs.lib import FOLDER

#: Yosys 0.70 reads -N'(x) as (-N)'(x), without a warning unless N is negative then; Verilator reads it as the standard.
UNARY_BEFORE_CAST = re.compile(
    r"(?:^|[=(,?:{&|^!~<>]|\b(?:return|case))\s*[-~!&|^+]\s*(?:\w+|\([^()]*\))'\(", re.MULTILINE
)


def test_no_unary_operator_stands_before_a_cast() -> None:
    files = [*FOLDER.rglob("*.sv"), *(repo_root() / "designs").rglob("*.py"), *(repo_root() / "hls").rglob("*.py")]
    found = []
    for path in files:
        for line in UNARY_BEFORE_CAST.finditer(text := path.read_text()):
            found.append(f"{path.name}:{text.count(chr(10), 0, line.end()) + 1}")
    assert not found, f"write N'(-x): {', '.join(found)}"


def test_the_pattern_finds_them() -> None:
    for bad in ("a <= -W'(b);", "x = ~W'({A{1'b1}});", "y = p | ~W'(q)", "if (!W'(q))", "-(A + 1)'(b)", "f(-32'(c))"):
        assert UNARY_BEFORE_CAST.search(bad), bad
    for good in (
        "a - W'(b)",
        "x <= a == W'(b - 1)",
        "W'(-b)",
        "~(W'(b))",
        "p | W'(q)",
        "wide - 32'(c != 0)",
        "a & W'(b)",
    ):
        assert not UNARY_BEFORE_CAST.search(good), good
