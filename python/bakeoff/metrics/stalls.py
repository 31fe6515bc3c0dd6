"""Flows of which much arrived, and little was handed to the application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.scenario import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# A flow that ends while its last losses are repaired still has most of what arrived in order.
_LEAST_SHARE = 0.5
_LEAST_PACKETS = 100


def check(rows: Mapping[int, Mapping[str, Any]], scenario: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each flow whose goodput is no half of its throughput, which headers do not explain.

    Args:
        rows: of the table `flows`, by number.
        scenario: the scenario of the run, for the headers of packets.
    """
    programs = scenario.get(PROGRAMS, {})
    return tuple(
        sentence
        for number, flow in enumerate(scenario["flows"], 1)
        # What headers programs have, nobody knows.
        if flow["scheme"].rpartition(":")[2] not in programs
        for sentence in _check(rows[number], flow)
    )


def _check(row: Mapping[str, Any], flow: Mapping[str, Any]) -> Iterator[str]:
    arrived = row["received_bytes"] - row["received_packets"] * flow["header_bytes"]
    handed = row["goodput_bytes"]
    if row["received_packets"] >= _LEAST_PACKETS and handed < _LEAST_SHARE * arrived:
        yield (
            f"flow {row['flow']} has much less goodput than throughput: its application got {handed / arrived:.1%} of "
            "the payload that arrived; the rest came again, or waits for what did not come"
        )
