"""The estimate of what a run costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment import estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    Scenario = Callable[..., dict[str, Any]]

FULL = 30 * 12_000_000 / 8 / 1500


@pytest.mark.parametrize(
    ("changes", "packets"),
    [
        ([], FULL),
        (["rate={poisson='6Mbit/s'}"], FULL / 2),
        (["rate={trace=[1,2,3,4]}"], FULL),
        (["rate={trace=[1,2,3,8]}"], FULL / 2),
        (["rate={schedule=[{at='0s',rate='12Mbit/s'},{at='9s',rate='1Mbit/s'}]}"], FULL * (9 + 21 / 12) / 30),
        (["rate={schedule=[{at='0s',rate='12Mbit/s'},{at='2s',rate='0bit/s'}],period='8s'}"], FULL * 8 / 30),
        (
            [
                "flow.1.start=5s",
                "flow.1.stop=9s",
                "rate={schedule=[{at='0s',rate='1Mbit/s'},{at='7s',rate='6Mbit/s'}]}",
            ],
            FULL * (2 / 12 + 2 / 2) / 30,
        ),
        (["flow.1.mss=698B"], FULL * 2),
        (["flow.1.start=15s"], FULL / 2),
        (["flow.1.stop=10s"], FULL / 3),
        (["flow.1.direction=reverse", "flow.1.receive_window=1448kB"], 1000 * 30 / 0.04),
        (["flow.1.receive_window=14480B"], 10 * 30 / 0.04),
        (["flow.1.traffic={kind='finite',size='1448kB'}"], 1000),
        (["rate=unlimited", "flow.1.receive_window=1MB", "flow.1.traffic={kind='finite',size='1448kB'}"], 1000),
        (["probe=[{interval='10ms',stop='5s'}]"], FULL + 500),
        # At 0, 7, 14, 21 and 28 s.
        (["probe=[{interval='7s'}]"], FULL + 5),
        # As many as if all were of the smaller ones.
        (["flow=[{scheme='cubic'},{scheme='cubic',mss='698B'}]"], FULL * 2),
        (["rate=unlimited", "flow.1.traffic={kind='on-off',on='1s',off='3s'}", "flow.1.receive_window=14480B"], 2080),
        # Shorter than a round trip, a burst still sends a window.
        (["flow.1.traffic={kind='on-off',on='1ms',off='999ms'}", "flow.1.receive_window=14480B"], 30 * 10.25),
        # Each of the eight bursts leaves a round trip and a queue of packets behind when it ends.
        (["flow.1.traffic={kind='on-off',on='1s',off='3s'}"], 8 * (1.04 * 1000 + 50)),
        (["flow.1.traffic={kind='on-off',on='40s',off='40s'}"], FULL),
        (["flow.1.traffic={kind='on-off',on='1s',off='3s'}", "path.forward.0.queue.limit=infinite"], FULL),
        (["flow.1.max_pacing_rate=3Mbit/s"], FULL / 4),
        (["flow.1.max_pacing_rate=3Mbit/s", "flow.1.traffic={kind='on-off',on='1s',off='3s'}"], 8 * 250),
        (["flow.1.traffic={kind='bulk',write='100B'}"], FULL * 1500 / 152),
        (["flow.1.traffic={kind='bulk',write='1449B'}"], FULL * 1500 / (724.5 + 52)),
    ],
)
def test_packets(scenario: Scenario, minimal: str, changes: list[str], packets: float) -> None:
    assert estimate.cost(scenario(minimal, *changes)).packets == int(packets)


def test_flows_that_send_at_different_times_do_not_fill_the_link_between(scenario: Scenario, minimal: str) -> None:
    second = '[[flow]]\nscheme = "cubic"\nstart = "28s"\n'
    assert estimate.cost(scenario(minimal + second, "flow.1.stop=1s")).packets == 3000


def test_random_bursts_are_rarely_longer_than_assumed(scenario: Scenario, minimal: str) -> None:
    def packets(*changes: str) -> float:
        traffic = "flow.1.traffic={kind='on-off',on='100ms',off='300ms',distribution='exponential'}"
        return estimate.cost(scenario(minimal, "flow.1.max_pacing_rate=12Mbit/s", traffic, *changes)).packets / FULL

    # A quarter of the time, 0.225 s more for its beginning, and three deviations of sqrt(2 x 75) times 75 ms.
    assert packets() == pytest.approx(0.25 + (0.05625 + 3 * 150**0.5 * 0.075) / 30, abs=1e-4)
    assert packets("flow.1.stop=200ms") == pytest.approx(0.2 / 30, abs=1e-4)


def test_what_is_recorded_costs_disk_and_memory(scenario: Scenario, minimal: str) -> None:
    summary, series, packets = (
        estimate.cost(scenario(minimal, f"record.level={level}")) for level in ("summary", "series", "packets")
    )
    assert summary.disk_bytes < series.disk_bytes < packets.disk_bytes
    assert summary.memory_bytes < series.memory_bytes < packets.memory_bytes
    assert summary.cpu_s == series.cpu_s == packets.cpu_s > 0


def test_a_report_costs_what_has_to_be_drawn(scenario: Scenario, minimal: str) -> None:
    summary, series = (scenario(minimal, f"record.level={level}") for level in ("summary", "series"))
    nothing, one, ten = (estimate.report_cpu_s([series] * count) for count in (0, 1, 10))
    assert ten - nothing == pytest.approx(10 * (one - nothing))
    assert 0 < estimate.report_cpu_s([summary] * 10) - nothing < (ten - nothing) / 3
    # Each flow has its curves.
    two = {**series, "flows": series["flows"] * 2}
    assert estimate.report_cpu_s([two]) > one > nothing > 0
    # And each curve its points.
    fine = scenario(minimal, "record.level=series", "record.interval=10ms")
    assert estimate.report_cpu_s([fine]) - nothing > 3 * (one - nothing)


def test_a_total_adds_up_all_but_memory(scenario: Scenario, minimal: str) -> None:
    one = estimate.cost(scenario(minimal))
    single, double = estimate.total([one]), estimate.total([one, one])
    assert double.packets == 2 * single.packets
    assert double.disk_bytes == 2 * single.disk_bytes
    assert double.cpu_s == pytest.approx(2 * single.cpu_s)
    assert double.memory_bytes == single.memory_bytes


def test_the_peak_of_a_direction(scenario: Scenario, minimal: str) -> None:
    schedule = "rate={schedule=[{at='0s',rate='12Mbit/s'},{at='9s',rate='1Mbit/s'}]}"
    peaks = [
        estimate.peak_rate_bps(scenario(minimal, *changes)["forward"])
        for changes in ([schedule], ["rate={trace=[1,2,3,8]}"], ["rate=unlimited", "flow.1.receive_window=1MB"])
    ]
    assert peaks == [12_000_000, 6_000_000, None]
    hops = "path.forward=[{rate='12Mbit/s'},{rate='5Mbit/s'},{}]"
    assert estimate.peak_rate_bps(scenario(minimal, hops)["forward"]) == 5_000_000


def test_a_stack_of_others_takes_longer(scenario: Scenario, minimal: str) -> None:
    own = scenario(minimal, "flow.1.count=2")
    mixed = own | {"flows": [own["flows"][0], own["flows"][1] | {"scheme": "quinn:cubic"}]}
    other = own | {"flows": [flow | {"scheme": "quinn:cubic"} for flow in own["flows"]]}
    fast, middle, slow = (estimate.cost(found).cpu_s for found in (own, mixed, other))
    assert middle - fast == pytest.approx(slow - middle)
    assert slow > 3 * fast


def test_what_has_to_become_less_is_what_there_is_too_much_of(scenario: Scenario, minimal: str) -> None:
    with pytest.raises(UserError, match=r"the most is 1e\+10: make the interval of the probes longer"):
        scenario(minimal, "probe=[{interval='1ns'}]")
    with pytest.raises(UserError, match=r"the most is 1e\+10: shorten the duration, lower the rate, or bound"):
        scenario(minimal, "rate=9Tbit/s", "record.level=summary")
