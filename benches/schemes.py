"""Measures schemes in Python: user CPU of a run, as a multiple of that of Reno in the core right before it."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff import _core
from bakeoff.scheme.host import Host
from bakeoff.scheme.loading import Place
from bakeoff.worlds.capacity import scenario_of
from run import warn_if_busy

if TYPE_CHECKING:
    from collections.abc import Callable

_RATE_BPS = 50_000_000
_SECONDS = 20
_ROUNDS = 7
_CLASS = """
from bakeoff.scheme import Scheme

class Still(Scheme):
    def on_ack(self, ack):
        self.cwnd = {packets} * self.mss

    def on_loss(self, loss):
        pass
{more}
"""
_ON_SENT = "\n    def on_sent(self, sent):\n        pass\n"


class _Counted:
    """Counts what goes to a host."""

    def __init__(self, host: Callable[[bytes], bytes]) -> None:
        self._host = host
        self.calls = 0

    def __call__(self, message: bytes) -> bytes:
        self.calls += 1
        return self._host(message)


def _user_s(scenario: str, schemes: dict[int, Callable[[bytes], bytes]] | None) -> float:
    begun = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    _core.run(scenario, schemes)
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - begun


def _ratio(scenario: str, place: Place) -> float:
    """User CPU with a class over that with the core's scheme, one right after the other."""
    alone = _user_s(scenario, None)
    return _user_s(scenario, {0: Host(place)}) / alone


def main() -> int:
    """Measures, prints a table."""
    warn_if_busy()
    print(f"{'scheme':32}{'callbacks':>11}{'CPU, core = 1':>15}")
    scenario = scenario_of(_RATE_BPS, _SECONDS * 10**9)
    scenario["record"]["level"] = "summary"
    scenario["flows"][0]["scheme"] = "reno"
    text = json.dumps(scenario)
    with tempfile.TemporaryDirectory() as folder:
        for title, more in (("on_ack", ""), ("on_ack and on_sent", _ON_SENT)):
            file = Path(folder) / f"{title.replace(' ', '_')}.py"
            file.write_text(_CLASS.format(packets=200, more=more), encoding="utf-8")
            place = Place(str(file), "Still")
            counted = _Counted(Host(place))
            _core.run(text, {0: counted})
            ratio = statistics.median(_ratio(text, place) for _ in range(_ROUNDS))
            print(f"{f'a class with {title}':32}{counted.calls:11}{ratio:15.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
