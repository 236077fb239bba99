"""The state of both directions, step by step: credit, wrap-around, and which signs of loss are believed."""

from __future__ import annotations

import pytest

from designs.boards.pace import CEILING, FIRST, FLOOR, Pace
from designs.boards.window import Fence, Incoming, Outgoing


def loaded(frames: int, credit: int = 64) -> Outgoing:
    out = Outgoing(payload=2)
    out.load(bytes(2 * frames))
    out.heard(0, credit)
    return out


def send(out: Outgoing, count: int) -> None:
    for _ in range(count):
        assert out.sendable
        out.take()


def fence(out: Outgoing) -> Fence:
    return Fence(0.0, out.next, out.epoch, 0)


def test_credit_and_pieces() -> None:
    out = Outgoing(payload=4)
    out.load(b"abcdefghi")
    assert not out.sendable, "no credit yet"
    out.heard(0, 2)
    assert out.take() == (0, b"abcd", False)
    assert out.take() == (1, b"efgh", False)
    assert not out.sendable
    assert out.heard(1, 3) is True
    assert out.take() == (2, b"i", True), "a fence follows the last frame"
    assert out.heard(1, 3) is False
    assert not out.done
    assert out.heard(3, 9) is True
    assert out.done


def test_impossible_numbers_change_nothing() -> None:
    out = loaded(10)
    send(out, 5)
    assert out.heard(6, 70) is None
    assert out.heard(255, 10) is None
    assert (out.base, out.next, out.limit) == (0, 5, 64)
    assert out.heard(0, 200) is False
    assert out.limit == 64, "a credit of 200 frames cannot be"


def test_numbers_wrap_around() -> None:
    out = loaded(1000)
    for number in range(600):
        send(out, 1)
        assert out.heard(number + 1 & 255, number + 65 & 255) is True
    assert (out.base, out.next, out.limit) == (600, 600, 664)


def test_a_nak_is_believed_once() -> None:
    out = loaded(20)
    send(out, 8)
    out.heard(3, 67)
    assert out.nak()
    out.back()
    start = fence(out)
    assert (out.next, out.high) == (3, 8)
    assert not out.nak(), "about frames of before"
    send(out, 3)
    assert not out.answered(start), "all that was sent before it is there"
    assert out.nak(), "asked again for the frame we went back to: lost again"
    out.heard(5, 69)
    assert not out.nak(), "may be about one that came twice"
    send(out, 2)
    end = fence(out)
    assert out.answered(end), "frames 5 to 7 went before it and are not there"
    assert out.nak(), "from here on all are about frames of this round"


def test_nothing_is_lost_when_nothing_is_under_way() -> None:
    out = loaded(20)
    assert not out.nak()
    send(out, 4)
    out.heard(4, 68)
    assert not out.nak()


def test_a_fence_of_an_earlier_round_says_nothing() -> None:
    out = loaded(20)
    send(out, 8)
    old = fence(out)
    out.heard(3, 67)
    out.back()
    assert not out.answered(old)
    assert not out.nak()


def test_frames_of_before_may_still_be_acknowledged_after_going_back() -> None:
    out = loaded(20)
    send(out, 8)
    out.back()
    assert out.heard(8, 72) is True
    assert out.next == 8
    send(out, 2)
    assert out.heard(10, 74) is True


def test_going_back_twice_forgets_no_frame_that_was_sent() -> None:
    out = loaded(20)
    send(out, 8)
    out.back()
    send(out, 2)
    out.back()
    assert out.high == 8
    assert out.heard(8, 72) is True


def test_a_second_exchange_starts_where_the_first_ended() -> None:
    out = loaded(2)
    send(out, 1)
    with pytest.raises(ValueError, match="under way"):
        out.load(b"")
    send(out, 1)
    out.heard(2, 66)
    out.load(b"xy")
    assert out.take() == (2, b"xy", True)


def test_output_in_order() -> None:
    inp = Incoming()
    assert inp.heard(0, b"a") is True
    assert inp.heard(2, b"c") is None
    assert inp.heard(0, b"a") is False, "again"
    assert inp.heard(1, b"b") is True
    assert len(inp) == inp.unacknowledged == 2
    assert inp.take(1) + inp.take(5) == b"ab"
    for number in range(2, 600):
        assert inp.heard(number & 255, b"") is True
        assert inp.heard(number & 255, b"") is False
        assert inp.heard(number + 7 & 255, b"") is None or inp.expected != number + 1


def test_a_request_to_send_again_is_under_way_until_its_fence_is_answered() -> None:
    inp = Incoming()
    inp.ask()
    first = Fence(0.0, 0, 0, inp.resends)
    inp.ask()
    inp.answered(first)
    assert inp.asking, "that was the earlier one"
    inp.answered(Fence(0.0, 0, 0, inp.resends))
    assert not inp.asking


def test_pace_follows_rfc_6298() -> None:
    pace = Pace()
    assert pace.timeout == FIRST
    pace.measured(0.1)
    assert pace.smoothed == 0.1
    assert pace.timeout == pytest.approx(0.1 + 4 * 0.05)
    pace.measured(0.2)
    assert pace.smoothed == pytest.approx(7 / 8 * 0.1 + 1 / 8 * 0.2)
    assert pace.timeout == pytest.approx(pace.smoothed + 4 * (3 / 4 * 0.05 + 1 / 4 * 0.1))
    before = pace.timeout
    pace.backoff()
    assert pace.timeout == pytest.approx(2 * before)
    for _ in range(20):
        pace.backoff()
    assert pace.timeout == CEILING
    pace.measured(0.2)
    assert pace.timeout < CEILING
    for _ in range(200):
        pace.measured(0.001)
    assert pace.timeout == FLOOR
    for _ in range(200):
        pace.measured(30.0)
    assert pace.timeout > 30, "a long round trip is no reason to ask sooner"
    pace.backoff()
    assert pace.timeout > 30
