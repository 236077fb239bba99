"""Device facts: every one with unit, source, date and trust; errors that name what is wrong."""

import re
from pathlib import Path

import pytest

from compare import devices
from compare.devices import FactError, UnknownDeviceError, device, load_facts, local_cpu, share
from compare.provenance import cpu_slug

GOOD = """
slug = "x"
name = "X"
kind = "fpga"
[facts.luts]
value = 10
unit = "1"
source = "s"
date = "2026-01-01"
trust = "read"
"""


def test_the_devices_in_use_are_there() -> None:
    assert set(devices.devices()) >= {"ulx3s-85f", "lfe5u-85f", "nvidia-h200", cpu_slug()}
    assert device("lfe5u-85f").number("luts") == 83640
    assert device("lfe5u-85f").number("brams") == 208
    assert device("lfe5u-85f").number("dsps") == 156
    assert device("nvidia-h200").number("power_limit") == 700


def test_file_names_and_boards_point_right() -> None:
    for path in Path(devices.__file__).with_name("facts").glob("*.toml"):
        found = load_facts(path)
        assert found.slug == path.stem
        assert (found.kind == "board") == bool(found.part)
        assert not found.part or device(found.part).kind == "fpga"
        for name, fact in found.facts.items():
            assert re.fullmatch(r"\d{4}-\d\d(-\d\d)?", fact.date), (path.name, name)
            assert (fact.source == "memory") <= (fact.trust == "unverified"), (path.name, name)


def test_an_unknown_device_lists_the_valid_ones() -> None:
    valid = "nvidia-h200, ulx3s-85f, xc7vx690t, xc7z020, xcvu9p, cpu-"
    with pytest.raises(UnknownDeviceError, match=f"unknown device 'h300'; valid: .*{valid}"):
        device("h300")


def test_share_of_the_part_and_of_the_board() -> None:
    assert share("lfe5u-85f", "luts", 8364) == pytest.approx(0.1)
    assert share("ulx3s-85f", "dsps", 78) == pytest.approx(0.5)
    assert share("nvidia-h200", "luts", 1) is None
    assert share("simulation", "luts", 1) is None


def test_the_local_cpu_leaves_out_what_it_cannot_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local_cpu().number("memory")
    monkeypatch.setattr(devices, "_number", lambda path, key: None)
    found = local_cpu()
    assert "memory" not in found.facts
    assert "clock_maximum" not in found.facts
    assert found.number("memory") is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('trust = "read"', 'trust = "sure"', "luts: trust 'sure'"),
        ("value = 10", "", "luts: neither a value nor a range"),
        ("value = 10", "low = 1", "luts: low and high"),
        ('unit = "1"', "", "luts: .*unit"),
        ('source = "s"', 'source = ""', "luts: source"),
        ('kind = "fpga"', 'kind = "toaster"', "kind 'toaster'"),
        ('name = "X"', "", "name"),
        ('name = "X"', "name = ", "Invalid"),
        ("[facts.luts]", "[other]", "missing 'facts'"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(GOOD)
    assert load_facts(path).number("luts") == 10
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(FactError, match=f"x.toml: .*{message}"):
        load_facts(path)
