"""Which numbers two worlds are compared by, how finely each is known, and how far apart it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from bakeoff.metrics.probes import ProbeSummary
    from bakeoff.metrics.summary import FlowSummary, TotalSummary


@dataclass(frozen=True)
class Band:
    """A width around a value: the larger of a share of it and a fixed amount.

    Attributes:
        relative: share of the value, 0..1.
        absolute: amount in the unit of the value.
    """

    relative: float = 0.0
    absolute: float = 0.0

    def width(self, value: float) -> float:
        """How far from a value the band reaches."""
        return max(self.relative * abs(value), self.absolute)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A number that is compared.

    Attributes:
        scope: `flow`: of each flow; `total`: of all flows together; `probe`: of each probe.
        name: field of the summary, as in `bakeoff list metrics`.
        unit: unit of the value; empty for ratios and counts.
        tolerance: how far apart two worlds may be; within either of its sides is enough.
        resolution: differences below it are none: what the recording rounds, or the last packet decides.
    """

    scope: Literal["flow", "total", "probe"]
    name: str
    unit: str = ""
    tolerance: Band
    resolution: Band

    @property
    def key(self) -> str:
        """Scope and name: `flow.loss`."""
        return f"{self.scope}.{self.name}"

    @property
    def floor(self) -> float:
        """The value from which on the relative side of the tolerance is the wider one, so that errors are relative."""
        return max(self.tolerance.absolute, self.resolution.absolute) / self.tolerance.relative

    def allowed(self, reference: float) -> float:
        """The largest difference to a reference that is tolerated, in the unit of the value; above 0."""
        return max(self.tolerance.width(reference), self.resolution.width(reference))

    def value(self, summary: FlowSummary | TotalSummary | ProbeSummary) -> float | None:
        """The number of one run."""
        found: float | None = getattr(summary, self.name)
        return found


# A 30 s run at 1 Mbit/s carries 2500 packets: one of them is 0.0004 Mbit/s, and 0.04 % of loss.
_RATE = Band(absolute=0.001)
_RATIO = Band(absolute=0.0001)
_COUNT = Band(absolute=1)
# The kernel's timers tick every millisecond.
_COMPLETION = Band(absolute=0.001)
# The recorder's histograms are good to 0.1 %.
_DELAY = Band(relative=0.001, absolute=0.01)

_THROUGHPUT = Band(relative=0.03)
_QUEUEING = Band(relative=0.07)
_LOSS = Band(relative=0.15, absolute=0.0005)

METRICS = (
    Metric(scope="flow", name="throughput_mbps", unit="Mbit/s", tolerance=_THROUGHPUT, resolution=_RATE),
    Metric(scope="flow", name="completion_s", unit="s", tolerance=_THROUGHPUT, resolution=_COMPLETION),
    Metric(scope="flow", name="queue_p95_ms", unit="ms", tolerance=_QUEUEING, resolution=_DELAY),
    Metric(scope="flow", name="owd_p50_ms", unit="ms", tolerance=_QUEUEING, resolution=_DELAY),
    Metric(scope="flow", name="owd_p95_ms", unit="ms", tolerance=_QUEUEING, resolution=_DELAY),
    Metric(scope="flow", name="loss", tolerance=_LOSS, resolution=_RATIO),
    Metric(scope="flow", name="retransmits", tolerance=Band(relative=0.15, absolute=10), resolution=_COUNT),
    Metric(scope="flow", name="ce_marks", tolerance=Band(relative=0.2, absolute=10), resolution=_COUNT),
    Metric(scope="probe", name="rtt_p50_ms", unit="ms", tolerance=_QUEUEING, resolution=_DELAY),
    Metric(scope="probe", name="rtt_p95_ms", unit="ms", tolerance=_QUEUEING, resolution=_DELAY),
    Metric(scope="total", name="throughput_mbps", unit="Mbit/s", tolerance=_THROUGHPUT, resolution=_RATE),
    Metric(scope="total", name="utilisation", tolerance=_THROUGHPUT, resolution=_RATIO),
    Metric(scope="total", name="jain", tolerance=Band(relative=0.05), resolution=_RATIO),
    Metric(scope="total", name="owd_p95_ms", unit="ms", tolerance=_QUEUEING, resolution=_DELAY),
    Metric(scope="total", name="loss", tolerance=_LOSS, resolution=_RATIO),
)
