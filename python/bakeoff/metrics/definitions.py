"""Every metric, defined once: for `bakeoff list metrics`, the glossary of a report, and the docs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Definition:
    """One metric.

    Attributes:
        name: its name in the JSON and in the measures of claims.
        scope: what has it: any of `flow`, `total`, `hop`, `probe`, `run`, `series`.
        unit: unit of the value; empty for ratios and counts.
        meaning: how it is computed, in a sentence or two.
        source: where the definition is from; empty if it is ours.
        is_over_time: whether it is from what a run records over time, so that runs at level `summary` lack it.
    """

    name: str
    scope: tuple[str, ...]
    unit: str
    meaning: str
    source: str = ""
    is_over_time: bool = False


def _over_time(name: str, scope: tuple[str, ...], unit: str, meaning: str) -> Definition:
    return Definition(name, scope, unit, f"{meaning} Not at level summary.", is_over_time=True)


_PANTHEON = "Pantheon, src/analysis/tunnel_graph.py at 23e738c"
_BOTH = ("flow", "total")

DEFINITIONS = (
    Definition(
        "throughput_mbps",
        _BOTH,
        "Mbit/s",
        "IP bytes that arrived, retransmissions included, over the time in which the flow was meant to send, and in "
        "which what it sent arrived after its stop. A starved flow has 0.",
    ),
    Definition(
        "goodput_mbps",
        _BOTH,
        "Mbit/s",
        "Payload handed to the application, in order and once, over the same time as throughput_mbps.",
    ),
    Definition(
        "completion_s",
        ("flow",),
        "s",
        "Flow completion time: from the start of a finite transfer, its handshake included, to the acknowledgement of "
        "its last byte. It does not exist for what has no size, nor if the flow or the run ended before.",
    ),
    Definition(
        "owd_p50_ms, owd_p95_ms, owd_p99_ms",
        _BOTH,
        "ms",
        "One-way delay of what arrived: median, 95th and 99th percentile, nearest rank, as numpy's method 'nearest'.",
    ),
    Definition(
        "queue_p50_ms, queue_p95_ms",
        (*_BOTH, "hop"),
        "ms",
        "Time spent waiting in queues, summed along the path (of a hop: in its own), nearest rank. "
        "Propagation is not part of it.",
    ),
    Definition(
        "loss",
        _BOTH,
        "",
        "1 - bytes received / bytes sent and duplicated, without the bytes still under way when the run ended. The "
        "summary of a report has this loss, but beside published losses it counts as they do.",
    ),
    Definition("packet_loss", _BOTH, "", "The same of packets, which differs where they are not all of one size."),
    Definition(
        "jain",
        ("total",),
        "",
        "Jain's fairness index of the flows' rates over the time in which all were meant to send. At level series "
        "what arrived in an interval of the recording counts as evenly spread over it; at level summary it is that of "
        "their mean rates, where nine tenths of the longest flow's time are common to all. It does not exist where "
        "flows go both ways, for those share no link.",
        "R. Jain, D. Chiu, W. Hawe, DEC-TR-301 (1984)",
    ),
    _over_time(
        "together_mbps, late_mbps",
        ("flow",),
        "Mbit/s",
        "Payload handed to the application while all flows were meant to send, and in the second half of that time: in "
        "the whole intervals of the recording that lie in it.",
    ),
    _over_time(
        "convergence_s",
        ("total",),
        "s",
        "Time from the start of the last flow until all are even: to the end of the first 2 s in which the fastest "
        "received at most 1.25 times the bytes of the slowest, as it did on the whole from then on. Where intervals of "
        "the recording do not divide 2 s, the fewest count that are as long. It does not exist if they never are, "
        "and where flows go both ways.",
    ),
    _over_time(
        "srtt_p50_ms, srtt_p95_ms",
        ("flow",),
        "ms",
        "Smoothed round-trip times that the sender saw, one sample an interval: median and 95th percentile.",
    ),
    _over_time(
        "spike_ms, spike_s",
        ("total",),
        "",
        "The largest smoothed round-trip time of any flow within 15 s of the start of the last flow, above the least "
        "of the run (in ms); and for how long one was more than 10 ms above that (in s).",
    ),
    Definition(
        "utilisation",
        ("total",),
        "",
        "Bytes that the bottleneck carried over those it could have carried, over the whole run: what its link had "
        "begun to send when the run ended is carried. The bottleneck is the hop of the data direction with the least "
        "capacity, of its link or of its policer if that lets less pass; where flows go both ways it is a hop of one "
        "of them, and `bottleneck` in the JSON says of which. "
        "What a token bucket or a policer holds at the beginning comes on top of its rate, so that a short run may "
        "have more than 1.",
    ),
    Definition("capacity_mbps", ("total",), "Mbit/s", "What the bottleneck could have carried, over the whole run."),
    Definition("sent_packets", ("flow", "probe"), "", "Packets sent, retransmissions included; requests of a probe."),
    Definition("delivered_packets", ("flow",), "", "Packets that arrived, duplicates included."),
    Definition("delivered_bytes", ("flow",), "bytes", "Bytes of these packets, IP headers included."),
    Definition("retransmits", ("flow",), "", "Packets that carried data sent before."),
    Definition(
        "timeouts",
        ("flow",),
        "",
        "Retransmission timeouts, those of requests to connect included. It does not exist for stacks and programs, "
        "which do not tell.",
    ),
    Definition("ce_marks", ("flow",), "", "Packets that arrived marked with congestion experienced."),
    Definition(
        "pantheon.throughput_mbps",
        _BOTH,
        "Mbit/s",
        "Bytes that arrived over the time from the first to the last arrival; the total has a window of its own.",
        _PANTHEON,
    ),
    Definition(
        "pantheon.owd_p95_ms",
        _BOTH,
        "ms",
        "95th percentile of the one-way delays, nearest rank; the total is over all packets, so a fast flow dominates.",
        _PANTHEON,
    ),
    Definition(
        "pantheon.loss",
        _BOTH,
        "",
        "1 - bytes received / bytes sent over everything that was sent: what is in flight at the end counts "
        "as lost. "
        "A run is discarded if its arrivals span less than 0.8 of its duration or if a flow has none.",
        _PANTHEON,
    ),
    Definition(
        "in_packets, out_packets, inside_packets",
        ("hop",),
        "",
        "Packets that entered, left, and were inside at the end.",
    ),
    Definition("dropped, marked, duplicated", ("hop",), "", "Packets dropped, marked or duplicated, by reason."),
    Definition(
        "rtt_p50_ms, rtt_p95_ms, rtt_p99_ms, rtt_max_ms",
        ("probe",),
        "ms",
        "Time from a request to its answer, of the requests that were answered by the end: median, 95th and 99th "
        "percentile, nearest rank, and the longest.",
    ),
    Definition(
        "lost_packets",
        ("probe",),
        "",
        "Requests that were dropped, or their answers; not those still under way when the run ended.",
    ),
    Definition("duration_s", ("run",), "s", "Length of the run, simulated or real."),
    Definition("cpu_s", ("run",), "s", "Processor time that the run took."),
)
