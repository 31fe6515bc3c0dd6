"""Whether a run in real time can be trusted: were packets on time, and is every one of them accounted for?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.scenario import base_rtt_ns

if TYPE_CHECKING:
    from collections.abc import Mapping

# Late packets change a result where they change a round trip noticeably.
_LATEST_NS = 1_000_000
_LATEST_PART = 0.02


def problem(scenario: Mapping[str, Any], report: Mapping[str, Any]) -> str | None:
    """Why a run cannot be trusted; None if it can.

    Args:
        scenario: what was run.
        report: what the emulator said of its own work.
    """
    return _lateness(scenario, report) or _accounting(report)


def _lateness(scenario: Mapping[str, Any], report: Mapping[str, Any]) -> str | None:
    allowed = max(_LATEST_NS, _LATEST_PART * base_rtt_ns(scenario))
    late = report["lateness"]["p99_ns"]
    if late <= allowed:
        return None
    return (
        f"one packet in a hundred reached its host {late / 1e6:.1f} ms late or later, and {allowed / 1e6:.1f} ms are "
        "allowed: this machine was too busy for this rate; run nothing else beside it, or lower the rate"
    )


def _accounting(report: Mapping[str, Any]) -> str | None:
    for number, interface in enumerate(report["interfaces"]):
        host = f"{'right' if number % 2 else 'left'} host {number // 2 + 1}"
        kernel = interface["kernel"]
        if unread := kernel["sent_dropped"]:
            return (
                f"{unread} packets that the {host} sent were lost before the emulator could read them: this machine "
                "was too busy for what it sends; run nothing else beside it, or send less"
            )
        sides = {
            "were read by the emulator but not counted by the kernel": interface["read"] - kernel["sent"],
            "were refused by the kernel": interface["refused"],
            "were handed over but not counted by the kernel": interface["written"] - kernel["received"],
            "were handed over and thrown away by the kernel": kernel["received_dropped"],
        }
        for what, packets in sides.items():
            if packets:
                return f"packets do not add up: {packets} at the {host} {what}"
    return None
