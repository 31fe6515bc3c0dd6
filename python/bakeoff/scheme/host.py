"""Takes the messages of a flow to an instance of a class, and its decisions back.

The form of messages and answers is that of the core (`crates/core/src/scheme/external.rs`).
"""

from __future__ import annotations

import math
import random
import struct
from typing import TYPE_CHECKING, Any

from bakeoff.scheme import base, loading
from bakeoff.scheme.events import Ack, Loss, PacketLost, Restart, Sent, Setup, Timeout
from bakeoff.scheme.loading import SchemeProblem
from bakeoff.scheme.patience import Patience

if TYPE_CHECKING:
    from collections.abc import Callable

_HELLO = struct.Struct("<xQQQ")
_ACK = struct.Struct("<xdQQQdddddQQQQQ???B")
_LOSS = struct.Struct("<xdQB?")
_PACKET_LOST = struct.Struct("<xdQ")
_TIMEOUT = struct.Struct("<xdQQ?")
_SENT = struct.Struct("<xdQQ?")
_TIME = struct.Struct("<xd")
_RESTART = struct.Struct("<xddd")
_ANSWER = struct.Struct("<xIIQQH")
_FAILED = b"\1"

_STATES = ("open", "disorder", "cwr", "recovery", "loss")
_CAUSES = ("loss", "ecn", "tail-loss")
# Kinds of messages.
_KINDS = ("__init__", *("on_ack", "on_loss", "on_packet_lost", "on_timeout", "on_sent", "on_recovered", "on_undo"),
          *("on_restart", "on_timer"))  # fmt: skip
_TIMER = _KINDS.index("on_timer")
# A window is not to take the machine's memory: this is half a second of 100 Gbit/s.
_MOST_PACKETS = 2**22
_MOST_THRESHOLD = 2**32 - 1
_MOST_BPS = 10**15
_LATEST_S = 10**9
# More calls of on_timer than this in a span of the run are a loop through next_timer_s: one a microsecond and more.
_MOST_TIMERS = 100_000
_SPAN_S = 0.1


def refusal(sentence: str) -> bytes:
    """The answer of a scheme that cannot go on."""
    # Names of files, which it may quote, need not be text.
    return _FAILED + sentence.encode(errors="backslashreplace")


class Host:
    """A scheme of a flow. Called with a message it returns the answer, and never raises.

    Args:
        place: the class, and how it is made.
        kind: the class if it is loaded already.
        patience: ends callbacks that take too long; None: nothing does.
    """

    def __init__(self, place: loading.Place, kind: type | None = None, patience: Patience | None = None) -> None:
        self._place = place
        self._kind = kind
        self._patience = patience or Patience(0)
        self._scheme: Any = None
        self._mss = 1
        self._wanted = 0
        self._callback = ""
        self._timers = 0
        self._timers_since_s = -_SPAN_S
        self._handlers: tuple[Callable[[bytes], Any], ...] = ()

    def __call__(self, message: bytes) -> bytes:
        """The answer to a message."""
        number = message[0]
        self._callback = _KINDS[number]
        self._patience.begin()
        try:
            if number:
                self._handlers[number](message)
            else:
                self._start(message)
            return self._decision(message, number)
        except SchemeProblem as problem:
            return refusal(str(problem))
        except BaseException as error:  # noqa: BLE001 - also SystemExit: it ends this run, and only this one
            return refusal(loading.explain(error, self._place, self._callback, self._kind))
        finally:
            self._patience.end()

    def _start(self, message: bytes) -> None:
        mss, packet, seed = _HELLO.unpack(message)
        kind = self._kind = self._kind or loading.load(self._place)
        setup = Setup(mss, packet, random.Random(seed))  # noqa: S311 - a simulation, not a secret
        given = loading.arguments(kind, self._place, setup)
        self._scheme = scheme = kind(*given, **self._place.parameters)
        self._mss = mss
        if not hasattr(scheme, "cwnd"):
            scheme.cwnd = base.INITIAL_WINDOW * mss
        for name in ("pacing_rate", "ssthresh", "next_timer_s"):
            if not hasattr(scheme, name):
                setattr(scheme, name, None)
        own = [index for index, name in enumerate(_KINDS) if index and self._has(name)]
        self._wanted = sum(1 << index for index in own)
        self._handlers = self._handlers_of(scheme)

    def _has(self, callback: str) -> bool:
        """Whether the class has this callback, or the instance has been given one."""
        return base.has(type(self._scheme), callback) or callable(getattr(self._scheme, "__dict__", {}).get(callback))

    def _handlers_of(self, scheme: Any) -> tuple[Callable[[bytes], Any], ...]:
        def on_ack(message: bytes) -> None:
            # fmt: off
            (
                now, acked, lost, flight, rtt, srtt, least, one_way, rate, delivered, prior, una, nxt, marked,
                app, limited, ecn, state,
            ) = _ACK.unpack(message)
            # fmt: on
            scheme.on_ack(
                # A number that is not equal to itself stands for none.
                Ack(
                    now,
                    acked,
                    lost,
                    flight,
                    rtt if rtt == rtt else None,  # noqa: PLR0124
                    srtt,
                    least,
                    one_way if one_way == one_way else None,  # noqa: PLR0124
                    rate if rate == rate else None,  # noqa: PLR0124
                    delivered,
                    prior,
                    una,
                    nxt,
                    marked,
                    app,
                    limited,
                    ecn,
                    _STATES[state],
                )
            )

        def on_loss(message: bytes) -> None:
            now, flight, cause, is_timer = _LOSS.unpack(message)
            scheme.on_loss(Loss(now, flight, _CAUSES[cause], is_timer))

        def on_timeout(message: bytes) -> None:
            timeout = Timeout(*_TIMEOUT.unpack(message))
            if has_timeout:
                scheme.on_timeout(timeout)
            elif timeout.is_first:
                self._callback = "on_loss"
                scheme.on_loss(Loss(timeout.now_s, timeout.prior_in_flight_bytes, "timeout", is_timer=True))

        has_timeout = self._has("on_timeout")
        return (
            self._start,
            on_ack,
            on_loss,
            lambda message: scheme.on_packet_lost(PacketLost(*_PACKET_LOST.unpack(message))),
            on_timeout,
            lambda message: scheme.on_sent(Sent(*_SENT.unpack(message))),
            lambda message: scheme.on_recovered(*_TIME.unpack(message)),
            lambda message: scheme.on_undo(*_TIME.unpack(message)),
            lambda message: scheme.on_restart(Restart(*_RESTART.unpack(message))),
            self._on_timer,
        )

    def _on_timer(self, message: bytes) -> None:
        (now_s,) = _TIME.unpack(message)
        if now_s - self._timers_since_s >= _SPAN_S:
            self._timers, self._timers_since_s = 0, now_s
        self._timers += 1
        if self._timers > _MOST_TIMERS:
            often = f"and on_timer was called more than {_MOST_TIMERS:,} times within {_SPAN_S:g} s of the run"
            raise self._wrong("next_timer_s", self._scheme.next_timer_s, f"{often}; set it farther ahead")
        self._scheme.on_timer(now_s)

    def _decision(self, message: bytes, number: int) -> bytes:
        scheme, mss = self._scheme, self._mss
        cwnd, rate, ssthresh, timer = scheme.cwnd, scheme.pacing_rate, scheme.ssthresh, scheme.next_timer_s
        try:
            packets = int(cwnd // mss) if mss <= cwnd <= _MOST_PACKETS * mss else 0
            bps = 0 if rate is None else int(rate) if 1 <= rate <= _MOST_BPS and rate is not True else -1
            high = 0 if ssthresh is None else min(ssthresh, _MOST_THRESHOLD * mss)
            threshold = 0 if ssthresh is None else int(high // mss) if high >= mss else -1
            is_time = timer is not None and timer.__class__ is not bool and 0 <= timer <= _LATEST_S
            due = max(round(float(timer) * 1e9), 1) if is_time else 0 if timer is None else -1
        except (TypeError, ValueError, ArithmeticError):
            packets = bps = threshold = due = -2
        if packets <= 0:
            bounds = f"at least one segment ({mss}), at most {_MOST_PACKETS:,} of them ({_MOST_PACKETS * mss:,})"
            self._check("cwnd", cwnd, mss, _MOST_PACKETS * mss, f"a number of bytes, {bounds}")
        if bps < 0:
            self._check("pacing_rate", rate, 1, _MOST_BPS, "a rate of at least 1 bit/s, at most 1e15, or None")
        if threshold < 0:
            self._check(
                "ssthresh", ssthresh, mss, math.inf, f"a number of bytes, at least one segment ({mss}), or None"
            )
        if due < 0:
            self._check("next_timer_s", timer, 0, _LATEST_S, "a time in seconds, or None")
        if due and not self._wanted >> _TIMER & 1:
            raise self._wrong("next_timer_s", timer, "and the class has no on_timer; write one, or leave it None")
        if number == _TIMER and due and due <= round(_TIME.unpack(message)[0] * 1e9):
            late = "which is not later than now in whole nanoseconds; set it ahead, or to None"
            raise self._wrong("next_timer_s", timer, late)
        return _ANSWER.pack(packets, threshold, bps, due, self._wanted)

    def _check(self, name: str, value: Any, least: float, most: float, right: str) -> None:
        """Raises what is to be said of a value that is not right."""
        if value is None and name != "cwnd":
            return
        try:
            if float(value) == value and least <= value <= most and not isinstance(value, bool):
                return
        except (TypeError, ValueError, ArithmeticError):
            pass
        raise self._wrong(name, value, f"and must be {right}")

    def _wrong(self, name: str, value: Any, sentence: str) -> SchemeProblem:
        line = loading.line_of(type(self._scheme), self._callback, self._place)
        where = f"{self._place.title}:{line}" if line else self._place.title
        shown = loading.shortened(repr(value), 60)
        return SchemeProblem(f"{where}: {self._place.name}.{self._callback}: {name} is {shown} afterwards, {sentence}")
