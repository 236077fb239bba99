"""Points of several subjects, a baseline that chooses its launch mode, and runs that go on after a failure."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from compare.store import read_store
from gpu import measure as module
from gpu.api import Prepared
from gpu.points import Point, points
from gpu.runtime import loop, null
from gpu.runtime.device import DeviceError
from gpu.session import Session, WrongResultError
from workloads.api import Case, UnknownNameError

BUDGET = loop.Budget(launches=200, seconds=0.02, rounds=3, round_seconds=0.001, warmup=5, warmup_seconds=0.0)


class Adder:
    """A subject whose outputs are its inputs plus one; `wrong` is added to what a launch gives."""

    tier, max_sets = "outside baseline", 4

    def __init__(self, name="gpu/x/torch", arithmetics=("fp16", "int8"), modes=("eager", "graph"), chooses=True):
        self.name, self.arithmetics, self.modes, self.chooses = name, arithmetics, modes, chooses
        self.asked: list[tuple[str, tuple[str, ...], int]] = []
        self.referenced: list[int] = []
        self.wrong = 0

    def item_bytes(self, arithmetic):
        return 8

    def prepare(self, arithmetic, modes, inputs, sets):
        self.asked.append((arithmetic, tuple(modes), sets))
        device = null.Null()
        launches = [device.bind("", "x", (object(),), 1, 1) for _ in range(sets)]
        ins = [np.roll(inputs, -i, axis=0) for i in range(sets)]
        outs = [(x + 1 + self.wrong).view(np.uint8).reshape(-1) for x in ins]
        runner = loop.DeviceRunner(
            device, len(inputs), launches, [np.empty(0)] * sets, outs, ins, np.empty_like(inputs), lambda: None
        )
        runner.round_trip = lambda index: None
        return Prepared(runner, {"setting": "graph"}, ("workloads/api.py",), {"x": "1"})

    def reference(self, arithmetic, inputs):
        self.referenced.append(len(inputs))
        return inputs + 1

    def tolerance(self, arithmetic, inputs):
        return 0.0


def session(offered=None) -> Session:
    work = SimpleNamespace(
        name="track",
        cases={"c": Case("c", "", False)},
        inputs=lambda case, n, seed: np.arange(n, dtype=np.int64).reshape(n, 1),
    )
    offer = SimpleNamespace(DISTINCT=10, CHECKED=1000)
    return Session(work, "c", offer, SimpleNamespace(api="x", slug="d"), BUDGET, 1, "c")


def test_a_subject_that_chooses_gets_all_its_modes_at_once():
    ours = Adder("gpu/x/cuda", ("binary",), ("queue", "graph"), chooses=False)
    theirs = Adder(modes=("eager", "graph", "compile"))
    found = [(p.subject.name, p.batch, p.arithmetic, p.modes) for p in points("d", [ours, theirs], (1, 8), None, None)]
    every = ("eager", "graph", "compile")
    one = [("gpu/x/cuda", "binary", ("queue",)), ("gpu/x/cuda", "binary", ("graph",))]
    one += [("gpu/x/torch", "fp16", every), ("gpu/x/torch", "int8", every)]
    assert found == [(name, batch, arithmetic, modes) for batch in (1, 8) for name, arithmetic, modes in one]
    some = points("d", [ours, theirs], (1,), None, ["graph", "eager"])
    assert [p.modes for p in some] == [("graph",), ("eager", "graph"), ("eager", "graph")]
    assert [p.subject for p in points("d", [ours, theirs], (1,), None, ["queue"])] == [ours]
    with pytest.raises(UnknownNameError, match="'wait'; valid: queue, graph, eager, compile"):
        points("d", [ours, theirs], (1,), None, ["wait"])
    with pytest.raises(DeviceError, match="measured for compile"):
        points("d", [ours, theirs], (1,), ["binary"], ["graph", "compile"])


def test_the_record_of_a_choice_says_so():
    subject = Adder()
    record = session().record(Point(subject, 4, "int8", ("eager", "graph")), energy=False)
    assert record.conditions["launch_mode"] == "best"
    assert record.conditions["setting"] == "graph"
    assert record.provenance.tier == "outside baseline"
    assert subject.asked == [("int8", ("eager", "graph"), 4)], "no more sets than it may have"
    single = Adder(modes=("queue",), chooses=False)
    assert session().record(Point(single, 4, "int8", ("queue",)), energy=False).conditions["launch_mode"] == "queue"


def test_every_output_is_checked_against_the_inputs_that_its_set_held():
    subject, run = Adder(), session()
    for batch in (1, 3, 25, 25):
        conditions = run.record(Point(subject, batch, "int8", ("eager",)), energy=False).conditions
        assert conditions["checked_items"] == 4 * batch
        assert conditions["distinct_inputs"] == min(batch, 10)
    assert subject.referenced == [1, 2, 7], "the oracle sees each distinct input once"
    subject.wrong = 1
    with pytest.raises(WrongResultError, match="differ from the oracle by 1, allowed 0"):
        run.record(Point(subject, 25, "int8", ("eager",)), energy=False)


WORDS = ["track", "--device", "null", "--batch", "1", "2", "4", "--arithmetic", "fp32", "--seconds", "0.02"]


@pytest.fixture
def failing(monkeypatch):
    """A session whose second point fails with the error that is set here."""
    record, state = Session.record, SimpleNamespace(error=WrongResultError("two\nlines"))

    def second_fails(self, point, energy):
        if point.batch == 2:
            raise state.error
        return record(self, point, energy)

    monkeypatch.setattr(Session, "record", second_fails)
    return state


def test_a_run_goes_on_after_a_failure_when_told_to(tmp_path, capsys, failing):
    words = [*WORDS, "--launches", "100", "--out", str(tmp_path)]
    assert module.main(words) == 1
    assert list(tmp_path.iterdir()) == []
    assert module.main([*words, "--keep-going"]) == 1
    records, problems = read_store(tmp_path)
    assert [r.conditions["batch"] for r in records] == [1, 4]
    assert not problems
    assert "--keep-going" not in records[0].provenance.command
    failed = "failed: gpu/track/null batch 2 fp32 queue: WrongResultError: two\n"
    assert failed in capsys.readouterr().err


def test_a_run_in_which_all_fails_writes_nothing(tmp_path, capsys, failing):
    words = ["track", "--device", "null", "--batch", "2", "--keep-going", "--out", str(tmp_path / "none")]
    assert module.main(words) == 1
    assert "error: all 2 points failed" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_an_interrupt_keeps_what_there_is_when_told_to(tmp_path, failing):
    failing.error = KeyboardInterrupt()
    words = [*WORDS, "--launches", "100", "--out", str(tmp_path)]
    with pytest.raises(KeyboardInterrupt):
        module.main(words)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        module.main([*words, "--keep-going"])
    assert [r.conditions["batch"] for r in read_store(tmp_path)[0]] == [1]
    assert [path.suffix for path in tmp_path.iterdir()] == [".jsonl"]


def test_a_refusal_is_no_failure_to_go_on_after(tmp_path, capsys):
    assert module.main([*WORDS, "--mode", "graph", "--keep-going", "--out", str(tmp_path / "none")]) == 2
    assert "'graph'; valid: queue" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
