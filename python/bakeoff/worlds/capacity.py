"""What this machine carries in real time: packets a second through the emulator, and how late they are."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bakeoff import machine, places
from bakeoff.errors import BakeoffError
from bakeoff.experiment import estimate
from bakeoff.experiment.plan import PlannedRun
from bakeoff.experiment.units import format_rate
from bakeoff.recording import atomic
from bakeoff.scenario import EMULATION, merges
from bakeoff.worlds.outcome import RunInvalid, RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bakeoff.worlds.outcome import Outcome

_RATES_BPS = tuple(step * 10**power for power in (8, 9) for step in (1, 2, 5))
_PACKET_BYTES = 1500
_DURATION_NS = 800_000_000
_DELAY_NS = 2_000_000
# What disturbs a virtual machine for a moment is not its limit.
_TRIES = 3
# Less than this part of the link means that the machine and not the link was the limit; start-up takes some.
_FILLED = 0.8


@dataclass(frozen=True)
class Capacity:
    """What one machine carries.

    Attributes:
        packets_per_second: full packets through one link.
        merged_packets_per_second: the same where packets that are due together are handed over together.
        late_ns: one packet in a hundred was later than this, at the first of these rates.
        machine: what it was measured on.
    """

    packets_per_second: float
    merged_packets_per_second: float
    late_ns: int
    machine: str


def measure(execute: Callable[[PlannedRun], Outcome]) -> Capacity | None:
    """Sends through faster and faster links until packets are late or the link is not filled, and keeps what was found.

    Args:
        execute: runs a scenario in the emulated world.

    Returns:
        What was carried; None if even the slowest link was too much.

    Raises:
        RunFailed: the emulated world is not to be had here.
    """
    single, merged = (_fastest(execute, merge=merge) for merge in (False, True))
    if single is None:
        return None
    (rate_bps, late_ns), (merged_bps, _) = single, merged or single
    found = Capacity(_packets(rate_bps), _packets(max(rate_bps, merged_bps)), late_ns, _machine())
    _keep(found)
    return found


def rate_of(packets_per_second: float, packet_bytes: int = _PACKET_BYTES) -> str:
    """The rate of packets of one size, in words."""
    return format_rate(round(packets_per_second * packet_bytes * 8))


def _packets(rate_bps: int) -> float:
    return rate_bps / 8 / _PACKET_BYTES


def _fastest(execute: Callable[[PlannedRun], Outcome], *, merge: bool) -> tuple[int, int] | None:
    """The fastest link that was carried, and the lateness there."""
    best = None
    for rate_bps in _RATES_BPS:
        scenario = scenario_of(rate_bps, _DURATION_NS) | {EMULATION: {"merge": merge}}
        tries = (_late_ns(execute, scenario, rate_bps) for _ in range(_TRIES))
        late_ns = next((late_ns for late_ns in tries if late_ns is not None), None)
        if late_ns is None:
            break
        best = (rate_bps, late_ns)
    return best


def _late_ns(execute: Callable[[PlannedRun], Outcome], scenario: dict[str, Any], rate_bps: int) -> int | None:
    """How late one packet in a hundred was; None if that is too late, or if the link was not filled."""
    try:
        outcome = execute(PlannedRun("capacity", {}, 1, 1, scenario))
    except RunInvalid:
        return None
    received = outcome.measurements["hops"][0]["delivered"][0]
    is_filled = received * _PACKET_BYTES * 8 >= _FILLED * rate_bps * _DURATION_NS / 1e9
    return outcome.measurements["lateness"]["p99_ns"] if is_filled else None


def known() -> Capacity | None:
    """What was measured of this machine before; None if it was not."""
    try:
        found = Capacity(**json.loads(_place().read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return found if found.machine == _machine() else None


def check(scenario: Mapping[str, Any]) -> None:
    """Compares the rate of a scenario with what was measured of this machine.

    Raises:
        RunStopped: it is beyond that.
    """
    capacity = known()
    for direction in ("forward", "reverse"):
        rate_bps = estimate.peak_rate_bps(scenario[direction])
        # What fills a link is data: acks and probes are few, however fast their link is.
        flows = [flow for flow in scenario["flows"] if flow["direction"] == direction]
        if capacity is None or rate_bps is None or not flows:
            continue
        packet_bytes = max(flow["mss_bytes"] + flow["header_bytes"] for flow in flows)
        carried = capacity.merged_packets_per_second if merges(scenario) else capacity.packets_per_second
        if rate_bps / 8 / packet_bytes > carried:
            merging = "set emulation.merge = true, " if carried < capacity.merged_packets_per_second else ""
            raise RunStopped(
                f"path.{direction}: {format_rate(round(rate_bps))} in {packet_bytes}-byte packets is more than this "
                f"machine carries in real time, {rate_of(carried, packet_bytes)} when `bakeoff doctor` measured it; "
                f"lower the rate, {merging}or let `bakeoff doctor` measure again"
            )


def scenario_of(rate_bps: int, duration_ns: int) -> dict[str, Any]:
    """One flow of the kernel over a link of this rate, with a short round trip and a deep buffer."""
    flow = {
        "scheme": "kernel:reno",
        "parameters": {},
        "traffic": {"kind": "bulk"},
        "start_ns": 0,
        "stop_ns": duration_ns,
        "direction": "forward",
        "extra_delay_ns": 0,
        "mss_bytes": 1448,
        "header_bytes": 52,
        "receive_window_bytes": None,
        "pacing": "auto",
        "burst_packets": 1,
        "ecn": "off",
        "send_jitter_ns": 0,
    }
    queue = {"kind": "fifo", "limit_packets": 10_000}
    return {
        "seed": 1,
        "duration_ns": duration_ns,
        "record": {"level": "summary", "interval_ns": duration_ns},
        "forward": [{"link": {"kind": "constant", "rate_bps": rate_bps}, "queue": queue, "delay_ns": _DELAY_NS}],
        "reverse": [{"link": {"kind": "unlimited"}, "queue": {"kind": "fifo"}, "delay_ns": _DELAY_NS}],
        "flows": [flow],
    }


def _machine() -> str:
    return f"{platform.node()}, {platform.release()}, {machine.processors()} processors"


def _place() -> Path:
    return places.cache() / "emulation.json"


def _keep(capacity: Capacity) -> None:
    try:
        _place().parent.mkdir(parents=True, exist_ok=True)
        atomic.write_file(_place(), json.dumps(asdict(capacity)).encode(), writing="what this machine carries")
    except (OSError, BakeoffError):
        # Only the hint before a run that asks for too much is lost.
        return
