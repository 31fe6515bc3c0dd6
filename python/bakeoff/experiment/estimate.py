"""What a run will cost, before it is started; good to a factor of two for bulk traffic, which is enough to plan."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.experiment.catalogue import is_stack
from bakeoff.experiment.limits import MAX_LINK_STEPS, MAX_PACKETS
from bakeoff.formats.mahimahi import BITS_PER_OPPORTUNITY
from bakeoff.scenario import rtt_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Measured over the suites, with the release build.
_PACKETS_PER_CPU_SECOND = 2.0e6
_STACK_PACKETS_PER_CPU_SECOND = 2.0e5
_CPU_SECONDS_PER_RUN = 0.03
_DISK_BYTES_PER_RUN = 20_000
_DISK_BYTES_PER_PACKET = 45
_DISK_BYTES_PER_REQUEST = 8
_DISK_BYTES_PER_BIN = 27
_MEMORY_BYTES_PER_PACKET = 900
_MEMORY_BYTES_PER_REQUEST = 160
_MEMORY_BYTES_PER_BIN = 600


@dataclass(frozen=True)
class Cost:
    """An estimate.

    Attributes:
        packets: packets sent in the data direction, and requests of probes.
        cpu_s: seconds of one core.
        disk_bytes: size of the recording.
        memory_bytes: peak memory while one run is recorded and written.
    """

    packets: int
    cpu_s: float
    disk_bytes: int
    memory_bytes: int

    def __add__(self, other: Cost) -> Cost:
        """The cost of both, one after the other."""
        return Cost(
            self.packets + other.packets,
            self.cpu_s + other.cpu_s,
            self.disk_bytes + other.disk_bytes,
            max(self.memory_bytes, other.memory_bytes),
        )


def cost(scenario: Mapping[str, Any]) -> Cost:
    """What one run costs in the simulator."""
    requests = _requests(scenario)
    packets = requests + sum(_packets(scenario, direction) for direction in ("forward", "reverse"))
    bins = scenario["duration_ns"] // scenario["record"]["interval_ns"] * (len(scenario["flows"]) + 1)
    level = scenario["record"]["level"]
    disk, memory = requests * _DISK_BYTES_PER_REQUEST, requests * _MEMORY_BYTES_PER_REQUEST
    if level == "packets":
        disk, memory = packets * _DISK_BYTES_PER_PACKET, packets * _MEMORY_BYTES_PER_PACKET
    bins = 0 if level == "summary" else bins
    return Cost(
        packets,
        _CPU_SECONDS_PER_RUN + packets * _cpu_s_per_packet(scenario),
        _DISK_BYTES_PER_RUN + disk + bins * _DISK_BYTES_PER_BIN,
        memory + bins * _MEMORY_BYTES_PER_BIN,
    )


def _cpu_s_per_packet(scenario: Mapping[str, Any]) -> float:
    flows = scenario["flows"]
    stacks = sum(is_stack(flow["scheme"]) for flow in flows) / len(flows)
    return stacks / _STACK_PACKETS_PER_CPU_SECOND + (1 - stacks) / _PACKETS_PER_CPU_SECOND


def total(costs: Iterable[Cost]) -> Cost:
    """What several runs cost, one after the other; memory is that of the largest."""
    whole = Cost(0, 0.0, 0, 0)
    for each in costs:
        whole += each
    return whole


def check(scenario: Mapping[str, Any], where: str) -> None:
    """Refuses what would not end, or not fit this machine.

    Raises:
        UserError: the run has too many packets, or its recording needs more memory than there is.
    """
    _check_bounded(scenario, where)
    _check_links(scenario, where)
    estimate = cost(scenario)
    if estimate.packets > MAX_PACKETS:
        many = 2 * _requests(scenario) > estimate.packets
        remedy = "make the interval of the probes longer" if many else "shorten the duration or lower the rate"
        raise UserError(
            f"{where}: about {estimate.packets:.1e} packets, which would take {estimate.cpu_s / 3600:.0f} hours of "
            f"CPU; the most is {MAX_PACKETS:.0e}: {remedy}"
        )
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if estimate.memory_bytes > installed:
        raise UserError(
            f"{where}: recording it needs about {estimate.memory_bytes / 1e9:.0f} GB of memory, and this machine has "
            f'{installed / 1e9:.0f} GB; set record.level to "summary" or record.interval to a longer time'
        )


def _check_bounded(scenario: Mapping[str, Any], where: str) -> None:
    for number, flow in enumerate(scenario["flows"], 1):
        if peak_rate_bps(scenario[flow["direction"]]) is not None:
            continue
        if flow["receive_window_bytes"] is None:
            raise UserError(
                f"{where}: nothing bounds flow {number}: give a {flow['direction']} hop a rate, "
                "or the flow a receive_window"
            )
        if rtt_ns(scenario, flow) == 0:
            raise UserError(
                f"{where}: nothing bounds flow {number}: its window comes back at once; give a hop a rate or a delay"
            )


def _check_links(scenario: Mapping[str, Any], where: str) -> None:
    for direction in ("forward", "reverse"):
        for index, hop in enumerate(scenario[direction]):
            link = hop["link"]
            if link["kind"] == "trace":
                each, period_ns = len(link["opportunities_ms"]), link["opportunities_ms"][-1] * 10**6
            elif link["kind"] == "schedule" and link["period_ns"] is not None:
                each, period_ns = len(link["steps"]), link["period_ns"]
            else:
                continue
            steps = each * scenario["duration_ns"] // period_ns
            if steps > MAX_LINK_STEPS:
                raise UserError(
                    f"{where}: path.{direction}.{index}.rate: the {link['kind']} has {steps:.1e} steps in one run; "
                    f"the most is {MAX_LINK_STEPS:.0e}: make its period longer, or the run shorter"
                )


def _packets(scenario: Mapping[str, Any], direction: str) -> int:
    flows = [flow for flow in scenario["flows"] if flow["direction"] == direction]
    if not flows:
        return 0
    wanted = sum(_wanted(flow, scenario) for flow in flows)
    first = min(flow["start_ns"] for flow in flows)
    last = max(flow["stop_ns"] for flow in flows)
    limited = [hop["link"] for hop in scenario[direction] if hop["link"]["kind"] != "unlimited"]
    if not limited:
        return int(wanted)
    size = min(flow["mss_bytes"] + flow["header_bytes"] for flow in flows)
    carried = min(_carried_bits(link, last) - _carried_bits(link, first) for link in limited) / 8 / size
    return int(min(wanted, carried))


def _requests(scenario: Mapping[str, Any]) -> int:
    probes = scenario.get("probes", ())
    return sum(-(-(probe["stop_ns"] - probe["start_ns"]) // probe["interval_ns"]) for probe in probes)


def _wanted(flow: Mapping[str, Any], scenario: Mapping[str, Any]) -> float:
    """Packets that a flow would send if its own limits were all."""
    active_ns = flow["stop_ns"] - flow["start_ns"]
    wanted = float("inf")
    traffic = flow["traffic"]
    if traffic["kind"] == "finite":
        wanted = traffic["size_bytes"] / flow["mss_bytes"]
    window = flow["receive_window_bytes"]
    if window is not None:
        wanted = min(wanted, window / flow["mss_bytes"] * active_ns / max(rtt_ns(scenario, flow), 1))
    if traffic["kind"] == "on-off":
        wanted *= traffic["on_ns"] / (traffic["on_ns"] + traffic["off_ns"])
    return wanted


def peak_rate_bps(hops: Iterable[Mapping[str, Any]]) -> float | None:
    """The most that a direction carries for long, in bit/s; None if all of its hops are unlimited.

    Of a schedule the highest rate counts, of a link that follows chance or a trace the mean.
    """
    rates = [rate for hop in hops if (rate := _peak_rate_bps(hop["link"])) is not None]
    return min(rates, default=None)


def _peak_rate_bps(link: Mapping[str, Any]) -> float | None:
    if link["kind"] == "unlimited":
        return None
    if link["kind"] == "schedule":
        return float(max(step["rate_bps"] for step in link["steps"]))
    return _mean_rate_bps(link)


def _mean_rate_bps(link: Mapping[str, Any]) -> float:
    """The rate in bit/s of a limited link without a schedule."""
    if link["kind"] == "trace":
        opportunities = link["opportunities_ms"]
        return float(len(opportunities) * BITS_PER_OPPORTUNITY * 1000 / opportunities[-1])
    return float(link["rate_bps"])


def _carried_bits(link: Mapping[str, Any], until_ns: int) -> float:
    """What a limited link carries from the start of the run to some time."""
    if link["kind"] != "schedule":
        return _mean_rate_bps(link) * until_ns / 1e9
    period_ns: int | None = link["period_ns"]
    if period_ns is None:
        return _scheduled_bits(link["steps"], until_ns)
    periods, rest_ns = divmod(until_ns, period_ns)
    return periods * _scheduled_bits(link["steps"], period_ns) + _scheduled_bits(link["steps"], rest_ns)


def _scheduled_bits(steps: Sequence[Mapping[str, int]], until_ns: int) -> float:
    """What steps carry from the first one to some time, the last of them without an end."""
    ends = [*(step["at_ns"] for step in steps[1:]), until_ns]
    pairs = zip(steps, ends, strict=True)
    return sum(step["rate_bps"] * max(min(end, until_ns) - step["at_ns"], 0) for step, end in pairs) / 1e9
