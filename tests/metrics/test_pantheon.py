"""Pantheon's definitions against an independent reading of them, in plain Python and one packet at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bakeoff.metrics import pantheon, summarise
from bakeoff.metrics.pantheon import Discarded, PantheonRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.recording import ResultFolder

MS = 1_000_000
Packet = tuple[int, int, int, int | None]
"""Flow, size, sent, received (ns)."""


def frame(packets: list[Packet]) -> pl.DataFrame:
    schema = {"flow": pl.Int64, "size_bytes": pl.Int64, "sent_ns": pl.Int64, "received_ns": pl.Int64}
    return pl.DataFrame(packets, schema=schema, orient="row")


def by_hand(packets: list[Packet]) -> tuple[float, float, float]:
    """Throughput in Mbit/s, delay in ms, loss, of these packets."""
    arrivals = sorted((received, size) for _, size, _, received in packets if received is not None)
    delays = sorted(received - sent for _, _, sent, received in packets if received is not None)
    got = sum(size for _, size in arrivals)
    window_ms = (arrivals[-1][0] - arrivals[0][0]) / 1e6
    exact = 0.95 * (len(delays) - 1)
    low = math.floor(exact)
    # Nearest rank, halves to the even one.
    rank = low + (exact - low > 0.5 or (exact - low == 0.5 and low % 2 == 1))
    throughput = 8 * got / window_ms / 1000 if window_ms else 0.0
    return throughput, delays[rank] / 1e6, 1 - got / sum(size for _, size, _, _ in packets)


packet = st.tuples(
    st.integers(1, 3),
    st.integers(40, 1500),
    st.integers(0, 30_000 * MS),
    st.one_of(st.none(), st.integers(0, 500 * MS)),
)


@given(st.lists(packet, min_size=1, max_size=60))
def test_any_log_gives_the_same_numbers(drawn: list[tuple[int, int, int, int | None]]) -> None:
    packets: list[Packet] = [(f, size, sent, None if d is None else sent + d) for f, size, sent, d in drawn]
    packets += [(flow, 1500, 0, 10) for flow in (1, 2, 3)] + [(1, 1500, 29_000 * MS, 29_500 * MS)]
    found = pantheon.from_packets(frame(packets), 3, 30_000 * MS)
    assert isinstance(found, PantheonRun)
    groups = [[p for p in packets if p[0] == flow] for flow in (1, 2, 3)]
    for metrics, group in zip([*found.flows, found.total], [*groups, packets], strict=True):
        expected = by_hand(group)
        assert (metrics.throughput_mbps, metrics.owd_p95_ms, metrics.loss) == pytest.approx(expected, rel=1e-12)


def test_golden_numbers() -> None:
    # 100 packets of 1500 B, one every 10 ms from 0; packet i is delayed by 50 + i ms; every tenth is lost.
    packets: list[Packet] = [
        (1, 1500, i * 10 * MS, None if i % 10 == 9 else i * 10 * MS + (50 + i) * MS) for i in range(100)
    ]
    found = pantheon.from_packets(frame(packets), 1, 1000 * MS)
    assert isinstance(found, PantheonRun)
    # 90 arrivals from 50 ms to 980 + 148 ms; rank round(0.95 * 89) = 85 of 0..89 is packet 94.
    assert round(found.total.throughput_mbps * 1_000_000) == 90 * 1500 * 8 * 1000 // 1078
    assert round(found.total.owd_p95_ms * 1000) == 144_000
    assert round(found.total.loss * 100) == 10
    assert found.flows == (found.total,)


def test_packets_in_flight_count_as_lost() -> None:
    # A lossless path of 100 ms; the run ends at 1 s, so what was sent in the last 100 ms never arrives.
    packets: list[Packet] = [(1, 1500, t * MS, t * MS + 100 * MS if t < 900 else None) for t in range(1000)]
    found = pantheon.from_packets(frame(packets), 1, 1000 * MS)
    assert isinstance(found, PantheonRun)
    assert found.total.loss == pytest.approx(0.1)


def test_the_total_has_a_window_of_its_own() -> None:
    packets: list[Packet] = [(1, 1000, 0, 0), (1, 1000, 0, 10 * MS), (2, 1000, 0, 20 * MS), (2, 1000, 0, 30 * MS)]
    found = pantheon.from_packets(frame(packets), 2, 30 * MS)
    assert isinstance(found, PantheonRun)
    assert [flow.throughput_mbps for flow in found.flows] == pytest.approx([1.6, 1.6])
    assert found.total.throughput_mbps == pytest.approx(32 / 30)


def test_one_arrival_has_no_throughput() -> None:
    packets: list[Packet] = [(1, 1000, 0, 5), (2, 1000, 0, 0), (2, 1000, 0, 30 * MS)]
    found = pantheon.from_packets(frame(packets), 2, 30 * MS)
    assert isinstance(found, PantheonRun)
    assert found.flows[0].throughput_mbps == 0


@pytest.mark.parametrize(("span", "kept"), [(24_000 * MS, True), (24_000 * MS - 1, False)])
def test_short_runs_are_discarded(span: int, *, kept: bool) -> None:
    found = pantheon.from_packets(frame([(1, 1500, 0, 0), (1, 1500, 0, span)]), 1, 30_000 * MS)
    assert isinstance(found, PantheonRun) is kept


def test_a_starved_flow_discards_the_run() -> None:
    packets: list[Packet] = [(1, 1500, 0, 0), (1, 1500, 0, 30 * MS), (2, 1500, 5, None)]
    found = pantheon.from_packets(frame(packets), 3, 30 * MS)
    assert found == Discarded("nothing of flow 2, 3 arrived")
    assert isinstance(pantheon.from_packets(frame([]), 1, 30 * MS), Discarded)


def test_counters_give_the_same_numbers_as_packets(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    recording = filled(plan_of(("cubic",), 1)).recordings()[0]
    packets, flows = recording.table("packets"), recording.table("flows")
    duration = recording.scenario["duration_ns"]
    assert pantheon.from_packets(packets, 3, duration) == pantheon.from_flows(flows, duration)


def test_in_a_summary_the_quirk_shows(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    total = summarise(filled(plan_of(("cubic",), 1)).recordings()[0]).total
    assert total is not None
    assert total.pantheon is not None
    assert total.loss is not None
    assert total.pantheon.loss > total.loss
