"""What a run will cost, before it is started; good to a factor of two for bulk traffic, which is enough to plan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff import machine
from bakeoff.errors import UserError
from bakeoff.experiment.catalogue import is_stack
from bakeoff.experiment.limits import MAX_LINK_STEPS, MAX_PACKETS
from bakeoff.formats.mahimahi import BITS_PER_OPPORTUNITY
from bakeoff.scenario import hops, rtt_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# Measured over the suites, with the release build.
_PACKETS_PER_CPU_SECOND = 2.0e6
_STACK_PACKETS_PER_CPU_SECOND = 2.0e5
_CPU_SECONDS_PER_RUN = 0.03
# Of the report, whatever world the runs were in.
_REPORT_CPU_SECONDS = 1.2
_REPORT_CPU_SECONDS_PER_RUN = 0.004
_REPORT_CPU_SECONDS_PER_FLOW = 0.008
_REPORT_CPU_SECONDS_PER_BIN = 1.2e-5
_DISK_BYTES_PER_RUN = 20_000
_DISK_BYTES_PER_PACKET = 45
_DISK_BYTES_PER_REQUEST = 8
_DISK_BYTES_PER_BIN = 27
_MEMORY_BYTES_PER_PACKET = 900
_MEMORY_BYTES_PER_REQUEST = 160
_MEMORY_BYTES_PER_BIN = 600

# What a scheme makes of losses and delays nobody knows beforehand: whoever knows that it sends less can say so.
_BOUND = "bound flows that will not fill the link by a receive_window or a max_pacing_rate"
_LESS_MEMORY = {
    "packets": f'set record.level to "series" or "summary", shorten the duration, or {_BOUND}',
    "series": 'set record.level to "summary" or record.interval to a longer time',
    "summary": "shorten the duration, or make the interval of the probes longer",
}


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


def cost(scenario: Mapping[str, Any]) -> Cost:
    """What one run costs in the simulator."""
    requests = _requests(scenario)
    packets = requests + sum(_packets(scenario, direction) for direction in ("forward", "reverse"))
    level = scenario["record"]["level"]
    disk, memory = requests * _DISK_BYTES_PER_REQUEST, requests * _MEMORY_BYTES_PER_REQUEST
    if level == "packets":
        disk, memory = packets * _DISK_BYTES_PER_PACKET, packets * _MEMORY_BYTES_PER_PACKET
    bins = _bins(scenario) * (len(scenario["flows"]) + 1)
    return Cost(
        packets,
        _CPU_SECONDS_PER_RUN + packets * _cpu_s_per_packet(scenario),
        _DISK_BYTES_PER_RUN + disk + bins * _DISK_BYTES_PER_BIN,
        memory + bins * _MEMORY_BYTES_PER_BIN,
    )


def total(costs: Iterable[Cost]) -> Cost:
    """What several runs cost, one after the other; memory is that of the largest."""
    every = list(costs)
    return Cost(
        sum(each.packets for each in every),
        sum((each.cpu_s for each in every), 0.0),
        sum(each.disk_bytes for each in every),
        max((each.memory_bytes for each in every), default=0),
    )


def report_cpu_s(scenarios: Iterable[Mapping[str, Any]]) -> float:
    """Seconds of one core to write the report of these runs: most of it for the figures of what is recorded over time.

    Good to a factor of two.
    """
    found = _REPORT_CPU_SECONDS
    for scenario in scenarios:
        found += _REPORT_CPU_SECONDS_PER_RUN
        if bins := _bins(scenario):
            per_flow = _REPORT_CPU_SECONDS_PER_FLOW + bins * _REPORT_CPU_SECONDS_PER_BIN
            found += len(scenario["flows"]) * per_flow
    return found


def _bins(scenario: Mapping[str, Any]) -> int:
    """How often a quantity of a run is recorded."""
    record = scenario["record"]
    return 0 if record["level"] == "summary" else int(scenario["duration_ns"]) // int(record["interval_ns"])


def check(scenario: Mapping[str, Any], where: str) -> None:
    """Refuses what would not end, or not fit this machine.

    Raises:
        UserError: the run has too many packets, or its recording needs more memory than there is.
    """
    _check_bounded(scenario, where)
    _check_links(scenario, where)
    estimate = cost(scenario)
    if estimate.packets > MAX_PACKETS:
        of_probes = 2 * _requests(scenario) > estimate.packets
        shorten = f"shorten the duration, lower the rate, or {_BOUND}"
        remedy = "make the interval of the probes longer" if of_probes else shorten
        raise UserError(
            f"{where}: about {estimate.packets:.1e} packets, which would take {estimate.cpu_s / 3600:.0f} hours of "
            f"CPU; the most is {MAX_PACKETS:.0e}: {remedy}"
        )
    installed = machine.memory_bytes()
    if estimate.memory_bytes > installed:
        raise UserError(
            f"{where}: recording it needs about {estimate.memory_bytes / 1e9:.0f} GB of memory, and this machine has "
            f"{installed / 1e9:.0f} GB; {_LESS_MEMORY[scenario['record']['level']]}"
        )


def _cpu_s_per_packet(scenario: Mapping[str, Any]) -> float:
    flows = scenario["flows"]
    stacks = sum(is_stack(flow["scheme"]) for flow in flows) / len(flows)
    return stacks / _STACK_PACKETS_PER_CPU_SECOND + (1 - stacks) / _PACKETS_PER_CPU_SECOND


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
    for name, hop in hops(scenario).items():
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
                f"{where}: path.{name}.rate: the {link['kind']} has {steps:.1e} steps in one run; "
                f"the most is {MAX_LINK_STEPS:.0e}: make its period longer, or the run shorter"
            )


def _packets(scenario: Mapping[str, Any], direction: str) -> int:
    flows = [flow for flow in scenario["flows"] if flow["direction"] == direction]
    if not flows:
        return 0
    wanted = sum(_wanted(flow, scenario) for flow in flows)
    first = min(flow["start_ns"] for flow in flows)
    last = max(flow["stop_ns"] for flow in flows)
    carried = _carried_between(scenario[direction], first, last) / 8 / min(_packet_bytes(flow) for flow in flows)
    return int(min(wanted, carried))


def _requests(scenario: Mapping[str, Any]) -> int:
    probes = scenario.get("probes", ())
    return sum(-(-(probe["stop_ns"] - probe["start_ns"]) // probe["interval_ns"]) for probe in probes)


def _wanted(flow: Mapping[str, Any], scenario: Mapping[str, Any]) -> float:
    """Packets that a flow would send if it were alone."""
    hops, round_trip_ns = scenario[flow["direction"]], max(rtt_ns(scenario, flow), 1)
    active_ns = flow["stop_ns"] - flow["start_ns"]
    size, payload = _packet_bytes(flow), _payload_bytes(flow)
    on_ns, bursts = _bursts(flow["traffic"], active_ns)
    # A burst that ends is still in the queue and on the wire, and its acks open the window in the silence behind it.
    busy_ns = min(on_ns + bursts * round_trip_ns, active_ns)
    bounds = [_carried_between(hops, flow["start_ns"], flow["stop_ns"]) / 8 / size]
    if (peak_bps := peak_rate_bps(hops)) is not None:
        bounds.append((peak_bps / 8e9 * busy_ns + bursts * _queued_bytes(hops, size)) / size)
    if flow["traffic"]["kind"] == "finite":
        bounds.append(flow["traffic"]["size_bytes"] / payload)
    if (window := flow["receive_window_bytes"]) is not None:
        bounds.append(window / payload * busy_ns / round_trip_ns)
    if (paced_bps := flow.get("max_pacing_rate_bps")) is not None:
        bounds.append(paced_bps / 8e9 * on_ns / size)
    return min(bounds)


def _payload_bytes(flow: Mapping[str, Any]) -> float:
    """Payload of a packet on average: those that end a write are smaller."""
    mss, write = flow["mss_bytes"], flow["traffic"].get("write_bytes")
    return float(mss if write is None else write / -(-write // mss))


def _packet_bytes(flow: Mapping[str, Any]) -> float:
    return _payload_bytes(flow) + float(flow["header_bytes"])


def _bursts(traffic: Mapping[str, Any], active_ns: int) -> tuple[float, float]:
    """How long an application has data, in nanoseconds, and how often it begins to; what is random is rarely more."""
    if traffic["kind"] != "on-off":
        return active_ns, 1
    on_ns, off_ns = traffic["on_ns"], traffic["off_ns"]
    cycle_ns = on_ns + off_ns
    if traffic["distribution"] == "constant":
        cycles, rest_ns = divmod(active_ns, cycle_ns)
        return cycles * on_ns + min(rest_ns, on_ns), cycles + (rest_ns > 0)
    # Mean of the time that such a process of renewals has been on, and its deviation over many periods.
    begun = -math.expm1(-active_ns * cycle_ns / (on_ns * off_ns))
    mean_ns = (active_ns + begun * off_ns**2 / cycle_ns) * on_ns / cycle_ns
    deviation_ns = math.sqrt(2 * active_ns / cycle_ns) * on_ns * off_ns / cycle_ns
    return min(mean_ns + 3 * deviation_ns, active_ns), 1 + active_ns / cycle_ns


def _queued_bytes(hops: Iterable[Mapping[str, Any]], packet_bytes: float) -> float:
    """The most that the queues of a direction hold, in bytes; infinite if one of them states no size."""
    held = 0.0
    for queue in (hop["queue"] for hop in hops if hop["link"]["kind"] != "unlimited"):
        packets = queue.get("limit_packets")
        limits = [queue.get("limit_bytes"), None if packets is None else packets * packet_bytes]
        held += min((limit for limit in limits if limit is not None), default=math.inf)
    return held


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


def _carried_between(hops: Iterable[Mapping[str, Any]], first_ns: int, last_ns: int) -> float:
    """Bits that a direction carries from one time to another; infinite if all of its hops are unlimited."""
    links = [hop["link"] for hop in hops if hop["link"]["kind"] != "unlimited"]
    return min((_carried_bits(link, last_ns) - _carried_bits(link, first_ns) for link in links), default=math.inf)


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
