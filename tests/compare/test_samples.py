"""Pictures in records: they come back as they went in, and what does not fit is named."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest
from deconv_records import pictured
from hypothesis import given
from hypothesis import strategies as st
from synthetic_records import rows

from compare.drawings import COLUMNS, draw_sheets, montage
from compare.plots import as_png, as_svg
from compare.samples import BYTES_AT_MOST, PixelError, pack, sheets_of, unpack


@given(st.integers(1, 5), st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 3]), st.integers(0, 2**32 - 1))
def test_pictures_come_back_as_they_went_in(n: int, height: int, width: int, channels: int, seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (n, height, width, channels)).astype(np.uint8)
    packed = pack(pixels)
    assert np.array_equal(unpack(packed["pixels"], packed["shape"]), pixels)


@pytest.mark.parametrize(("shape", "kind"), [((1, 8, 8, 1), np.int16), ((8, 8), np.uint8), ((1, 2, 2, 4), np.uint8)])
def test_only_pictures_are_packed(shape: tuple[int, ...], kind: type[np.generic]) -> None:
    with pytest.raises(PixelError, match="pictures must be uint8"):
        pack(np.zeros(shape, kind))  # type: ignore[arg-type]


def packed(count: int) -> str:
    return base64.b64encode(zlib.compress(bytes(count))).decode()


@pytest.mark.parametrize(
    ("pixels", "shape", "message"),
    [
        (packed(63), "1x8x8x1", "63 bytes of pixels of the shape 1x8x8x1, but 64 are stated"),
        (packed(65), "1x8x8x1", "65 bytes of pixels"),
        (packed(64), "1x8x8", "no shape '1x8x8'"),
        (packed(64), "0x8x8x1", "no shape"),
        (packed(64), "1x8x8x2", "no shape"),
        (packed(64), "many", "many"),
        (packed(64), None, "invalid literal"),
        ("no base 64!", "1x8x8x1", "base64"),
        (base64.b64encode(b"not deflated").decode(), "1x8x8x1", "header"),
        (packed(64)[:12], "1x8x8x1", "64"),
        (packed(BYTES_AT_MOST * 4), f"1x{BYTES_AT_MOST}x4x1", "no shape"),
        (packed(BYTES_AT_MOST + 1), f"1x{BYTES_AT_MOST}x1x1", f"{BYTES_AT_MOST + 1}"),
    ],
)
def test_what_does_not_fit_is_refused(pixels: str, shape: str | None, message: str) -> None:
    assert unpack(packed(64), "1x8x8x1").shape == (1, 8, 8, 1)
    with pytest.raises(PixelError, match=message):
        unpack(pixels, shape)


def test_sheets_are_in_order_and_a_broken_one_is_a_problem() -> None:
    made = [pictured("digits", name) for name in ("real", "fixed8", "fp16", "fixed16", "fp32")]
    found, problems = sheets_of(rows(*made, pictured("digits", "fp64", pixels="?")))
    assert [sheet.name for sheet in found] == ["fp32", "fp16", "fixed16", "fixed8", "real"]
    (problem,) = problems
    assert str(problem).startswith("workloads/deconv: pictures of digits skipped: ")


def test_a_montage_has_each_picture_once() -> None:
    pixels = np.arange(30, dtype=np.uint8)[:, None, None, None] * np.ones((1, 2, 3, 1), np.uint8)
    strip = montage(pixels)
    assert strip.shape == (2 * 3 - 1, COLUMNS * 4 - 1)
    assert [int((strip == i).sum()) for i in range(30)] == [6] * 30
    assert montage(np.zeros((1, 2, 2, 3), np.uint8)).shape[-1] == 3


def test_a_sheet_says_what_speaks_against_it_and_draws_the_same_bytes_again() -> None:
    (sheet,), _ = sheets_of(rows(pictured("dcgan", "fp16", parameters="untrained")))
    canvas = draw_sheets("deconv · dcgan", [sheet])
    assert "fp16\nuntrained\nSTALE" in [t.get_text() for t in canvas.texts]
    assert as_svg(canvas) == as_svg(draw_sheets("deconv · dcgan", [sheet]))
    assert as_png(canvas).startswith(b"\x89PNG")
