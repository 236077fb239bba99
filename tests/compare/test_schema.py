"""The JSON Schema and the dataclasses are one contract."""

import copy
import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from synthetic_records import measurement, record

from compare import record as r
from compare.store import parse, schema_path

SCHEMA = json.loads(schema_path().read_text())
VALIDATOR = Draft202012Validator(SCHEMA)


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    ("type_", "part"),
    [
        (r.Record, SCHEMA),
        (r.Provenance, SCHEMA["$defs"]["provenance"]),
        (r.Measurement, SCHEMA["$defs"]["measurement"]),
    ],
)
def test_fields_are_the_same(type_: Any, part: dict[str, Any]) -> None:
    names = {f.name for f in fields(type_)}
    assert set(part["properties"]) == names
    assert set(part["required"]) == names


def test_vocabularies_are_the_same() -> None:
    m = SCHEMA["$defs"]["measurement"]["properties"]
    assert m["stage"]["enum"] == list(r.Stage)
    assert m["boundary"]["enum"] == list(r.Boundary)
    assert m["quantity"]["anyOf"][0]["enum"] == list(r.UNITS)
    assert set(m["unit"]["enum"]) == set(r.UNITS.values()) | {r.unit_of("quality.x"), r.unit_of("bandwidth.x")}
    assert m["statistic"]["anyOf"][0]["enum"] == list(r.STATISTICS)
    assert SCHEMA["properties"]["schema"]["const"] == r.SCHEMA_VERSION


numbers = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), numbers, st.text(max_size=8))


@st.composite
def records(draw: st.DrawFn) -> r.Record:
    quantity = draw(st.sampled_from([*r.UNITS, "quality.x", "bandwidth.x"]))
    low, value, high = sorted(draw(st.tuples(*[st.integers(0, 10**12)] * 3)))
    made = measurement(
        quantity,
        value,
        statistic=draw(st.sampled_from([*r.STATISTICS, "p50", "p99", "p99.9"])),
        samples=draw(st.integers(1, 10**9)),
        stage=draw(st.sampled_from(r.Stage)),
        boundary=draw(st.sampled_from(r.Boundary)),
        band=(low, high) if draw(st.booleans()) else None,
    )
    return record(
        made, conditions=draw(st.dictionaries(st.text(max_size=8).filter(lambda k: k != "batch"), scalars, max_size=4))
    )


@given(records())
def test_every_record_fits_the_schema_and_comes_back(made: r.Record) -> None:
    line = made.to_json()
    VALIDATOR.validate(json.loads(line))
    assert parse(line) == made
    assert parse(line).id == made.id


BASE = json.loads(record(measurement("latency", 5, band=(4, 6)), conditions={"batch": 1}).to_json())


def _damaged(path: tuple[str | int, ...], value: Any) -> str:
    data = copy.deepcopy(BASE)
    at: Any = data
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("measurements", 0, "quantity"), "speed", "speed"),
        (("measurements", 0, "stage"), "guessed", "guessed"),
        (("measurements", 0, "value"), -1, "minimum"),
        (("measurements", 0, "value"), 1e308, "maximum"),
        (("conditions", "batch"), "lots", "'lots'"),
        (("conditions", "batch"), 2.5, "2.5"),
        (("conditions", "batch"), True, "True"),
        (("conditions", "batch"), 0, "0"),
        (("measurements", 0, "boundary"), ..., "boundary"),
        (("measurements", 0, "value"), True, "True"),
        (("measurements", 0, "value"), float("nan"), "NaN"),
        (("measurements", 0, "value"), 9, "outside its own band"),
        (("measurements", 0, "unit"), "s", "unit"),
        (("measurements", 0, "unit"), "W", "expected 'ns'"),
        (("measurements", 0, "samples"), 1.5, "1.5"),
        (("measurements", 0, "extra"), 1, "extra"),
        (("measurements",), [], "measurements"),
        (("provenance", "tier"), "own", "own"),
        (("provenance", "time"), "yesterday", "yesterday"),
        (("conditions", "batch"), [1], "batch"),
        (("workload",), "", "workload"),
        (("schema",), 2, "schema 2, this version reads 1"),
        (("schema",), ..., "schema None"),
    ],
)
def test_a_damaged_record_is_refused_and_the_field_named(path: tuple[str | int, ...], value: Any, named: str) -> None:
    parse(json.dumps(BASE))
    with pytest.raises(r.RecordError) as caught:
        parse(_damaged(path, value))
    assert named in str(caught.value)
