"""The emulators of the Pantheon are those of its scenario list, number for number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bakeoff import experiment, suites
from bakeoff.references.pantheon import SCHEME_KEYS
from bakeoff.reports import looks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Hop = Mapping[str, Any]
    Hops = Callable[[str], tuple[Hop, Hop]]


# Rate in Mbit/s, kind of link, one-way delay in ms, packets of queue, loss, seconds of slow beginning of the published
# trace.
CALIBRATED: dict[str, tuple[float, str, int, int, float, int | None]] = {
    "nepal-aws-india": (0.57, "poisson", 28, 14, 0.0477, 1),
    "mexico-cellular-aws-california": (2.64, "poisson", 88, 130, 0, 5),
    "aws-brazil-colombia-cellular": (3.04, "poisson", 130, 426, 0, 4),
    "india-aws-india": (100.42, "constant", 27, 173, 0, None),
    "aws-korea-china": (77.72, "constant", 51, 94, 0.0006, None),
    "aws-california-mexico": (114.68, "constant", 45, 450, 0, None),
}

# Report name, and the marker of Pantheon in matplotlib's letters.
MARKERS = {
    "TCP Cubic": "*", "TCP Vegas": "h", "TCP BBR": "^", "LEDBAT": "<", "PCC-Allegro": ">", "Verus": "H", "Sprout": "p",
    "QUIC Cubic": "8", "SCReAM": "1", "WebRTC media": "v", "Copa": "o", "TaoVA-100x": "d", "PCC-Vivace": "<",
    "PCC-Expr": "<", "FillP": "+", "Indigo": "D", "FillP-Sheep": "D",
}  # fmt: skip
SHAPES = {
    "*": "star", "h": "hexagon", "^": "triangle-up", "<": "triangle-left", ">": "triangle-right", "H": "hexagon-flat",
    "p": "pentagon", "8": "octagon", "1": "tripod", "v": "triangle-down", "o": "circle", "d": "diamond-thin",
    "+": "plus", "D": "diamond",
}  # fmt: skip
KEYS = {**SCHEME_KEYS, "PCC-Expr": "pcc_experimental", "FillP-Sheep": "fillp_sheep"}


@pytest.fixture
def hops(tmp_path: Path) -> Hops:
    """Finds the one hop forward and the one back of a named path."""

    def function(name: str) -> tuple[Hop, Hop]:
        file = tmp_path / "x.toml"
        file.write_text(f'name = "x"\nduration = "60s"\npath.use = "{name}"\n[[flow]]\nscheme = "cubic"\n')
        (run,) = experiment.expand(experiment.load(str(file), [])).runs
        (forward,), (reverse,) = run.scenario["forward"], run.scenario["reverse"]
        return forward, reverse

    return function


@pytest.mark.parametrize("name", CALIBRATED)
def test_the_six_calibrated_paths_are_the_published_ones(hops: Hops, name: str) -> None:
    mbps, kind, delay_ms, packets, loss, _ = CALIBRATED[name]
    forward, reverse = hops(name)
    for hop in forward, reverse:
        assert hop["link"] == {"kind": kind, "rate_bps": round(mbps * 1e6)}
        assert hop["delay_ns"] == delay_ms * 1_000_000
    assert (forward["queue"]["limit_packets"], forward["loss"]) == (packets, loss)
    assert (reverse["queue"]["limit_packets"], reverse["loss"]) == (None, 0)


@pytest.mark.parametrize("name", [name for name, (*_, slow_s) in CALIBRATED.items() if slow_s])
def test_published_traces_begin_with_a_packet_every_100_ms(hops: Hops, name: str) -> None:
    mbps, _, delay_ms, packets, loss, slow_s = CALIBRATED[name]
    assert slow_s is not None
    forward, _ = hops(f"{name}-as-published")
    times = forward["link"]["opportunities_ms"]
    assert times[: 10 * slow_s] == tuple(range(100, 1000 * slow_s + 1, 100))
    assert 59_500 < times[-1] <= 60_000
    assert 12e3 * (len(times) - 10 * slow_s) / (60 - slow_s) == pytest.approx(mbps * 1e6, rel=0.07)
    assert (forward["delay_ns"], forward["queue"]["limit_packets"]) == (delay_ms * 1_000_000, packets)
    assert forward["loss"] == loss


def trace_of(hop: Hop) -> tuple[int, ...]:
    assert hop["link"]["kind"] == "trace"
    return tuple(hop["link"]["opportunities_ms"])


@pytest.mark.parametrize(("mbps", "packets"), [(12, 1), (60, 5), (108, 9)])
@pytest.mark.parametrize("rtt_ms", [20, 100])
def test_policers_are_a_queue_of_one_packet_before_so_many_every_millisecond(
    hops: Hops, mbps: int, packets: int, rtt_ms: int
) -> None:
    forward, reverse = hops(f"policer-{mbps}mbit-{rtt_ms}ms")
    for hop in forward, reverse:
        assert trace_of(hop) == (1,) * packets
        assert (hop["queue"]["limit_packets"], hop["delay_ns"]) == (1, rtt_ms * 500_000)


@pytest.mark.parametrize(("name", "acks"), [("ack-1-per-100ms", (100,)), ("ack-10-per-200ms", (200,) * 10)])
def test_acks_come_back_in_the_published_lumps(hops: Hops, name: str, acks: tuple[int, ...]) -> None:
    forward, reverse = hops(name)
    assert (trace_of(forward), trace_of(reverse)) == ((1,), acks)
    for hop in forward, reverse:
        assert (hop["queue"]["limit_packets"], hop["queue"]["limit_bytes"]) == (None, None)
        assert hop["delay_ns"] == 10_000_000


@pytest.mark.parametrize(("name", "published"), [("tenth", 9000), ("third", 30000), ("half", 45000), ("one", 90000)])
def test_small_buffers_hold_as_many_packets_as_the_published_ones(hops: Hops, name: str, published: int) -> None:
    forward, reverse = hops(f"buffer-{name}-bdp")
    # mahimahi counts four bytes more for a packet of 1500.
    assert forward["queue"]["limit_bytes"] // 1500 == published // 1504
    assert (trace_of(forward), forward["delay_ns"], reverse["delay_ns"]) == ((1,), 30_000_000, 30_000_000)


def test_every_emulator_of_the_list_is_there() -> None:
    others = [name for name in suites.path_names() if name.startswith(("policer-", "ack-", "buffer-"))]
    assert len(CALIBRATED) + len(others) == 18


@pytest.mark.parametrize("name", MARKERS)
def test_schemes_have_the_markers_of_pantheon(name: str) -> None:
    assert looks.SCHEMES[KEYS[name]].marker == SHAPES[MARKERS[name]]
