"""The files of a comparison: all or nothing, self-contained, drawn without overlap."""

import io
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path

import matplotlib.image
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from synthetic_records import kernel, whole_story
from test_tables import comparison

from compare import outputs, plots
from compare.outputs import write_outputs
from compare.report import _bands

NAMES = {
    "track.md", "track.csv", "track.tex", "track.json", "track.html", "track-embed.svg", "track-embed.png",
    "track-overtaking.csv",
}  # fmt: skip


def test_all_files_are_written_and_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = comparison(tmp_path, whole_story())
    paths = write_outputs(found, out)
    assert {p.name for p in paths} == NAMES == {p.name for p in out.iterdir()}
    before = {p.name: p.read_bytes() for p in paths if p.suffix != ".png"}
    assert {p.name: p.read_bytes() for p in write_outputs(found, out) if p.suffix != ".png"} == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupt_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    out = tmp_path / "out"
    write_outputs(comparison(tmp_path, whole_story()), out)
    before = {p.name: p.read_bytes() for p in out.iterdir()}

    def fail(*_: object) -> bytes:
        raise error

    monkeypatch.setattr(plots, "as_png", fail)
    (tmp_path / "b").mkdir()
    with pytest.raises(error):
        write_outputs(comparison(tmp_path / "b", [kernel(), kernel(batch=4096)]), out)
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before

    monkeypatch.setattr(plots, "as_png", lambda _: b"png")
    monkeypatch.setattr(outputs.Path, "write_bytes", fail)
    (tmp_path / "c").mkdir()
    with pytest.raises(error):
        write_outputs(comparison(tmp_path / "c", [kernel()]), out)
    assert {p.name for p in out.iterdir()} == set(before)


def test_without_rows_there_is_no_figure(tmp_path: Path) -> None:
    paths = write_outputs(comparison(tmp_path, [kernel(workload="md")]), tmp_path / "out")
    assert {p.suffix for p in paths} == {".md", ".csv", ".tex", ".json", ".html"}


class Reader(HTMLParser):
    """Collects what a page asks for from outside, and whether its tags close."""

    void = frozenset({"meta", "link", "img", "br", "input", "hr", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.titles: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.void:
            self.open.append(tag)
        self.outside += [
            f"{k}={v}"
            for k, v in attrs
            if k in ("src", "href", "xlink:href") and not (v or "").startswith(("#", "data:image/png;base64,"))
        ]
        if tag in ("script", "link", "img", "iframe"):
            self.outside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.titles.append(data)


def test_the_report_is_one_self_contained_file(tmp_path: Path) -> None:
    write_outputs(comparison(tmp_path, [*whole_story(), kernel(launch="graph", sources=("gone",))]), tmp_path / "out")
    page = (tmp_path / "out" / "track.html").read_text(encoding="utf-8")
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.outside == []
    assert not re.search(r"url\((?!#)", page)
    assert {"Refused", "The method in short", "Stale records", "Where the records come from"} <= set(reader.titles)
    assert "prefers-color-scheme: dark" in page
    assert page.count("<svg") == 1
    assert "FPGA power is not known; no record carries it" in page
    assert "2<sup>20</sup>" in page


def test_names_in_the_report_are_escaped(tmp_path: Path) -> None:
    made = [kernel(batch, implementation="gpu/track/<script>x</script>", case="a/<script>") for batch in (1, 64)]
    paths = write_outputs(comparison(tmp_path, made), tmp_path / "out")
    assert "track-a__script_.svg" in {p.name for p in paths}
    page = (tmp_path / "out" / "track.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_the_evidence_of_a_wide_table_stands_under_each_row(tmp_path: Path) -> None:
    write_outputs(comparison(tmp_path, [*whole_story()]), tmp_path / "out")
    page = (tmp_path / "out" / "track.html").read_text(encoding="utf-8")
    _, _, rest = page.partition("<h2>FPGA designs: cycles, clock and resources</h2>")
    shown, _, _ = rest.partition("</table>")
    head = re.findall(r"<th[^>]*>([^<]*)</th>", shown)
    assert head[-1] == "DSP"  # seen without scrolling: no column of sentences squeezes it out
    under = re.findall(r'<tr class="ground"><td colspan="(\d+)">([^<]*)</td>', shown)
    assert {int(span) for span, _ in under} == {len(head)}
    assert len(under) == shown.count("<tbody") == shown.count('class="row"') > 0
    assert any("simulated × post-route" in said for _, said in under)


def test_numbers_break_before_their_band_only() -> None:
    assert _bands(Markup("125 MHz [116–134]")) == (
        '<span class="one">125 MHz</span> <span class="one">[116–134]</span>'
    )
    assert _bands(Markup("4,183 (7.9 %)")) == '4,183 <span class="one">(7.9 %)</span>'
    assert _bands(Markup("2<sup>20</sup>")) == "2<sup>20</sup>"


@pytest.mark.parametrize("spread", [1.0, 1.01, 3.0])
def test_labels_do_not_overlap_and_stay_inside(tmp_path: Path, spread: float) -> None:
    """Eight lines that nearly coincide still get eight readable names."""
    many = [
        kernel(
            batch,
            batch * 1e4 * spread**n,
            int(5000 + batch / 100 * spread**n),
            implementation=f"gpu/track/kernel{n}",
            arithmetic="fp32",
        )
        for n in range(10)
        for batch in (1, 4096, 2**20)
    ]
    found = comparison(tmp_path, [*whole_story(), *many])
    canvas = plots.figures(found)["embed"]
    canvas.canvas.draw()
    whole = canvas.bbox
    for axes in canvas.axes:
        assert len(axes.texts) == plots.SERIES_AT_MOST
        assert len({label.get_text() for label in axes.texts}) == plots.SERIES_AT_MOST
        assert any("\nahead of FPGA from " in label.get_text() for label in axes.texts)
        for one, other in itertools.combinations([text_box(label) for label in axes.texts], 2):
            assert not one.overlaps(other)
        for label in axes.texts:
            box = text_box(label)
            assert whole.x0 <= box.x0
            assert box.x1 <= whole.x1
            assert whole.y0 <= box.y0
            assert box.y1 <= whole.y1
    left, right = (axes.get_tightbbox() for axes in canvas.axes)
    assert left.x1 <= right.x0, "the labels of the left panel reach into the right one"


@given(st.lists(st.floats(0, 100), min_size=1, max_size=10))
def test_names_move_apart_and_stay_between_bottom_and_top(places: list[float]) -> None:
    moved = plots.apart(sorted(places), 10, 100)
    assert all(b - a >= 10 - 1e-9 for a, b in itertools.pairwise(moved))
    assert min(moved) >= 0
    assert max(moved) <= 100


def text_box(label: Text) -> Bbox:
    """The box of the words alone: an annotation's own box takes its arrow in."""
    return Text.get_window_extent(label)


def test_the_fpga_is_a_level_line_with_its_band_and_comes_first(tmp_path: Path) -> None:
    canvas = plots.figures(comparison(tmp_path, whole_story()))["embed"]
    throughput = canvas.axes[0]
    line = throughput.lines[0]
    assert set(line.get_ydata()) == {125e6}
    assert line.get_color() == plots.PALETTE[0]
    low, high = throughput.collections[0].get_datalim(throughput.transData).intervaly
    assert (low, high) == pytest.approx((120e6, 130e6))


def test_the_png_is_large_enough_for_a_slide(tmp_path: Path) -> None:
    canvas = plots.figures(comparison(tmp_path, whole_story()))["embed"]
    pixels = matplotlib.image.imread(io.BytesIO(plots.as_png(canvas)))
    assert pixels.shape[1] >= 1920
    assert pixels[..., :3].std() > 0.05
