"""What the oracle says of a workload's cases, as records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compare.record import Record, Stage
from compare.samples import REAL, unpack
from compare.store import write_records
from gatewarp import oracle
from workloads.deconv import WORKLOAD
from workloads.deconv.cases import LAYERS


def figures(record: Record) -> dict[str, float]:
    return {m.quantity: m.value for m in record.measurements}


@pytest.mark.parametrize("case", WORKLOAD.cases)
def test_operations_are_two_for_each_multiply_accumulate_in_each_way_to_count(case: str) -> None:
    (record,) = oracle.operations("deconv", case)
    layers = LAYERS[case]
    assert figures(record) == {
        "operations.useful": 2 * sum(layer.macs for layer in layers),
        "operations.kept": 2 * sum(layer.kept_macs for layer in layers),
        "operations.equivalent": 2 * sum(layer.equivalent_macs for layer in layers),
    }
    assert {(m.statistic, m.stage, m.unit) for m in record.measurements} == {("exact", Stage.MODELLED, "op/item")}
    assert "arithmetic" not in record.conditions
    assert set(record.provenance.sources) == set(WORKLOAD.sources(case))


def test_where_nobody_counts_in_another_way_items_say_it_all() -> None:
    assert list(oracle.operations("bcnn", "digits")) == list(oracle.operations("track", "compact")) == []


def test_untrained_parameters_show_the_noise_of_an_arithmetic_and_say_so() -> None:
    found = list(oracle.quality("deconv", "mnist"))
    assert {r.conditions["arithmetic"] for r in found} == set(WORKLOAD.arithmetics)
    for record in found:
        assert record.conditions["parameters"] == "untrained"
        assert set(figures(record)) == {"quality.sqnr"}
        assert record.measurements[0].unit == "dB"
    assert list(oracle.pictures("deconv", "mnist")) == []


def test_digits_are_judged_and_pictured_beside_real_ones() -> None:
    assert WORKLOAD.cases["digits"].trained
    for record in oracle.quality("deconv", "digits"):
        assert set(figures(record)) == {"quality.sqnr", "quality.mmd"}
        assert "parameters" not in record.conditions
    found = {str(r.conditions["arithmetic"]): r for r in oracle.pictures("deconv", "digits")}
    assert set(found) == {REAL, *WORKLOAD.arithmetics}
    drawn = {name: unpack(r.conditions["pixels"], r.conditions["shape"]).astype(int) for name, r in found.items()}
    assert {pixels.shape for pixels in drawn.values()} == {(oracle.PICTURES, 8, 8, 1)}
    assert np.abs(drawn["fixed16"] - drawn["fp32"]).max() <= 4, "the same inputs in each arithmetic"
    assert np.abs(drawn[REAL] - drawn["fp32"]).mean() > 20, "real ones are others"
    for record in found.values():
        assert figures(record) == {"samples": oracle.PICTURES}
        assert "workloads/deconv/samples.py" in record.provenance.sources


def test_what_a_record_of_these_sources_has_is_not_computed_again(tmp_path: Path) -> None:
    made = oracle.records("track", "compact")
    write_records(tmp_path, "verify-track", made[:1])
    (one,) = {str(r.conditions["arithmetic"]) for r in made[:1]}
    known = oracle.known("track", [tmp_path])
    assert ("compact", "quality", one) in known
    again = {str(r.conditions["arithmetic"]) for r in oracle.records("track", "compact", known)}
    assert again == {str(r.conditions["arithmetic"]) for r in made} - {one}


def test_a_stale_record_is_not_known(tmp_path: Path) -> None:
    (first, *_) = oracle.quality("track", "compact")
    write_records(tmp_path, "old", [replace(first, provenance=replace(first.provenance, sources_hash="0" * 64))])
    assert oracle.known("track", [tmp_path]) == oracle.NOTHING
    assert oracle.known("bcnn", [tmp_path]) == oracle.NOTHING
