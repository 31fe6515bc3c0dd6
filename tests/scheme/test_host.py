"""What a class is told, and which of its decisions are taken, without a run."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from bakeoff.scheme.host import Host
from bakeoff.scheme.loading import Place

MSS = 1000
HELLO = struct.pack("<BQQQ", 0, MSS, 1052, 1)


def ack(now_s: float = 1.0, rtt_s: float = 0.1, one_way_s: float = 0.05, rate_bps: float = 1e6) -> bytes:
    """The message of an acknowledgement; NaN stands for what is not known."""
    times = (rtt_s, 0.11, 0.09, one_way_s, rate_bps)
    flags = (False, True, False)
    return struct.pack("<BdQQQdddddQQQQQ???B", 1, now_s, 2000, 0, 5000, *times, 9000, 7000, 4000, 9500, 1000, *flags, 1)


def timeout(*, is_first: bool) -> bytes:
    return struct.pack("<BdQQ?", 4, 2.0, 8000, 3000, is_first)


def timer(now_s: float) -> bytes:
    return struct.pack("<Bd", 9, now_s)


class Plain:
    """A scheme that keeps what it is told, and sets what it is to set."""

    def __init__(self, **decided: Any) -> None:
        self.told: list[Any] = []
        for name, value in decided.items():
            setattr(self, name, value)

    def on_ack(self, event: Any) -> None:
        self.told.append(event)

    def on_loss(self, event: Any) -> None:
        self.told.append(event)


class Timed(Plain):
    """One with timers, the next of which is so much later."""

    step_s = 1e-6

    def on_timer(self, now_s: float) -> None:
        self.next_timer_s = now_s + self.step_s


def begun(kind: type = Plain, **decided: Any) -> tuple[Host, bytes]:
    """A host whose flow has begun, and the answer to that."""
    host = Host(Place("own.py", kind.__name__, decided), kind)
    return host, host(HELLO)


def decision(answer: bytes) -> tuple[int, int, int, int]:
    """Window and threshold in packets, rate in bit/s, and the time of the next timer in ns."""
    assert answer[0] == 0, answer
    packets, threshold, bps, due, _ = struct.unpack("<xIIQQH", answer)
    return packets, threshold, bps, due


def refused(answer: bytes) -> str:
    assert answer[0] == 1, answer
    return answer[1:].decode()


def test_what_is_not_known_is_none() -> None:
    host, _ = begun()
    host(ack())
    host(ack(rtt_s=math.nan, one_way_s=math.nan, rate_bps=math.nan))
    known, unknown = host._scheme.told
    assert (known.rtt_s, known.one_way_delay_s, known.delivery_rate_bps) == (0.1, 0.05, 1e6)
    assert (unknown.rtt_s, unknown.one_way_delay_s, unknown.delivery_rate_bps) == (None, None, None)
    assert (known.srtt_s, known.min_rtt_s) == (0.11, 0.09)
    assert (known.delivered_bytes, known.prior_delivered_bytes) == (9000, 7000)
    assert (known.acked_bytes, known.in_flight_bytes) == (2000, 5000)
    assert (known.snd_una_bytes, known.snd_nxt_bytes, known.marked_bytes) == (4000, 9500, 1000)
    assert (known.is_cwnd_limited, known.state) == (True, "disorder")


def test_the_first_timeout_of_a_window_is_a_loss_of_all_that_was_in_flight() -> None:
    host, _ = begun()
    host(timeout(is_first=False))
    assert host._scheme.told == []
    host(timeout(is_first=True))
    (loss,) = host._scheme.told
    assert (loss.now_s, loss.in_flight_bytes, loss.cause) == (2.0, 8000, "timeout")


def test_a_class_that_says_nothing_has_a_window_of_ten_packets() -> None:
    assert decision(begun()[1]) == (10, 0, 0, 0)


@pytest.mark.parametrize(
    ("decided", "taken"),
    [
        ({"cwnd": MSS}, (1, 0, 0, 0)),
        ({"cwnd": 2999.9}, (2, 0, 0, 0)),
        ({"cwnd": 2**22 * MSS}, (2**22, 0, 0, 0)),
        ({"pacing_rate": 1}, (10, 0, 1, 0)),
        ({"pacing_rate": 1e15}, (10, 0, 10**15, 0)),
        ({"ssthresh": MSS}, (10, 1, 0, 0)),
        ({"ssthresh": math.inf}, (10, 2**32 - 1, 0, 0)),
    ],
)
def test_decisions_at_their_bounds(decided: dict[str, Any], taken: tuple[int, ...]) -> None:
    assert decision(begun(**decided)[1]) == taken


@pytest.mark.parametrize(
    ("decided", "sentence"),
    [
        ({"cwnd": MSS - 1}, "cwnd is 999 afterwards, and must be a number of bytes, at least one segment (1000)"),
        ({"cwnd": 2**22 * MSS + 1}, "cwnd is 4194304001 afterwards"),
        ({"pacing_rate": 0.9}, "pacing_rate is 0.9 afterwards, and must be a rate of at least 1 bit/s"),
        ({"pacing_rate": True}, "pacing_rate is True afterwards"),
        ({"pacing_rate": 1.1e15}, "pacing_rate is 1100000000000000.0 afterwards"),
        ({"ssthresh": MSS - 1}, "ssthresh is 999 afterwards"),
        ({"next_timer_s": 1.0}, "next_timer_s is 1.0 afterwards, and the class has no on_timer"),
    ],
)
def test_decisions_beyond_their_bounds_are_refused(decided: dict[str, Any], sentence: str) -> None:
    assert sentence in refused(begun(**decided)[1])


def test_a_timer_is_at_least_a_nanosecond_ahead() -> None:
    # 0 ns would be no timer at all.
    assert decision(begun(Timed, next_timer_s=0.0)[1])[3] == 1
    host, _ = begun(Timed, step_s=1e-9)
    assert decision(host(timer(1.0)))[3] == 1_000_000_001
    host, _ = begun(Timed, step_s=4e-10)
    assert "which is not later than now in whole nanoseconds" in refused(host(timer(1.0)))


def test_timers_one_after_the_other_are_a_loop_and_over_a_long_time_are_not() -> None:
    host, _ = begun(Timed)
    for count in range(150_000):
        assert host(timer(count * 2e-6))[0] == 0
    host, _ = begun(Timed)
    for _ in range(100_000):
        assert host(timer(1.0))[0] == 0
    assert "on_timer was called more than 100,000 times within 0.1 s of the run" in refused(host(timer(1.0)))
