"""The path of an experiment file: hops forward and back, each with a rate, a queue, a delay, loss and jitter."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from bakeoff.experiment.base import (
    Model,
    Packets,
    QueueLimit,
    Rate,
    RateOrZero,
    Ratio,
    Size,
    Time,
    default,
    problem,
)
from bakeoff.experiment.units import Limit
from bakeoff.formats.mahimahi import MAX_PERIOD_MS

_RATE_FORMS = 'write a rate such as "12Mbit/s", "unlimited", or a table with one of the keys poisson, trace, schedule'


class PoissonRate(Model):
    """Memoryless delivery: opportunities of 1500 bytes with exponential gaps, drawn anew from each run's seed."""

    poisson: Rate = Field(description="mean rate")


class Step(Model):
    """From `at` on, the link runs at `rate`."""

    at: Time = Field(description="time since the start of the run, or of the period")
    rate: RateOrZero = Field(description="rate from then on; 0bit/s is an outage")


class ScheduledRate(Model):
    """A rate that changes at given times."""

    schedule: list[Step] = Field(min_length=1, max_length=100_000, description="steps in order, the first at 0s")
    period: Time | None = Field(None, description="repeat the steps with this period; without it the last step stays")

    @model_validator(mode="after")
    def _ordered(self) -> ScheduledRate:
        if self.schedule[0].at != 0:
            raise problem('the first step must be at "0s"', "schedule", 0, "at")
        for index in range(1, len(self.schedule)):
            if self.schedule[index].at <= self.schedule[index - 1].at:
                raise problem("a step must come later than the one before it", "schedule", index, "at")
        if all(step.rate == 0 for step in self.schedule):
            raise problem("every step is an outage; give at least one step a rate above zero", "schedule")
        if self.period is not None and self.period <= self.schedule[-1].at:
            raise problem("the period must be longer than the time of the last step", "period")
        return self


class ConstantTrace(Model):
    """A trace of evenly spread opportunities on mahimahi's grid of 1 ms."""

    constant: Rate = Field(description="rate of the trace")
    length: Time = Field(description="period of the trace, in whole milliseconds")


class PoissonTrace(Model):
    """A trace of exponential gaps drawn once, so that every run sees the same one."""

    poisson: Rate = Field(description="mean rate")
    length: Time = Field(description="period of the trace, in whole milliseconds")
    slow_prefix: Time = default(0, "0s", "begin with one opportunity every 100 ms for this long")
    seed: int = Field(1, ge=0, le=2**53, description="chooses the gaps")


def _trace_form(value: Any) -> str | None:
    if isinstance(value, str):
        return "<file>"
    if isinstance(value, list):
        return "<list>"
    if isinstance(value, dict):
        return "<poisson trace>" if "poisson" in value else "<constant trace>"
    return None


Opportunities = Annotated[list[Annotated[int, Field(ge=0, le=MAX_PERIOD_MS)]], Field(max_length=1_000_000)]

TraceSource = Annotated[
    Annotated[str, Tag("<file>"), Field(description="path of a mahimahi trace file, relative to this file")]
    | Annotated[Opportunities, Tag("<list>"), Field(description="the lines of a trace: times in milliseconds")]
    | Annotated[PoissonTrace, Tag("<poisson trace>")]
    | Annotated[ConstantTrace, Tag("<constant trace>")],
    Discriminator(
        _trace_form,
        custom_error_type="sentence",
        custom_error_message="{sentence}",
        custom_error_context={"sentence": 'write the path of a mahimahi trace file, as in trace = "my.trace"'},
    ),
]


class TraceRate(Model):
    """Delivery opportunities from a mahimahi trace, repeated for ever."""

    trace: TraceSource


def _rate_form(value: Any) -> str | None:
    if isinstance(value, str):
        return "<unlimited>" if value == "unlimited" else "<constant>"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "<constant>"
    if not isinstance(value, dict):
        return None
    for key in ("poisson", "trace", "schedule"):
        if key in value:
            return f"<{key}>"
    return None


LinkRate = Annotated[
    Annotated[Literal["unlimited"], Tag("<unlimited>")]
    | Annotated[Rate, Tag("<constant>")]
    | Annotated[PoissonRate, Tag("<poisson>")]
    | Annotated[TraceRate, Tag("<trace>")]
    | Annotated[ScheduledRate, Tag("<schedule>")],
    Discriminator(
        _rate_form,
        custom_error_type="sentence",
        custom_error_message="{sentence}",
        custom_error_context={"sentence": _RATE_FORMS},
    ),
]


def _of(kinds: str, description: str) -> Any:
    """A parameter that the queue's own default stands for where it is not stated."""
    return Field(None, description=f"{description} ({kinds})")


class Queue(Model):
    """What waits for the link, and what becomes of it; `bakeoff show KIND` has the parameters of a kind."""

    kind: str = Field("fifo", description="queueing discipline; `bakeoff list queues`")
    limit: QueueLimit = default(Limit(), "infinite", "what it holds; in packets for all but fifo and red")
    drop: Literal["tail", "head"] = Field("tail", description="which packet goes when the queue is full (fifo)")
    ecn: bool | None = _of("codel, fq_codel, pie, fq_pie, red", "mark packets that can be marked")
    target: Time | None = _of("codel, fq_codel, pie, fq_pie, cake, dualpi2", "the delay to steer to")
    interval: Time | None = _of("codel, fq_codel", "how long the delay may stay above the target")
    ce_threshold: Time | None = _of("codel, fq_codel", "mark every packet that waited longer")
    ce_threshold_selector: int | None = _of("fq_codel", "ce_threshold is for packets with this DS field")
    ce_threshold_mask: int | None = _of("fq_codel", "the bits of the DS field to look at")
    flows: int | None = _of("fq_codel, fq_pie", "the lines that flows are hashed to")
    quantum: Size | None = _of("fq_codel, fq_pie", "what a line may send in its turn")
    memory_limit: Size | None = _of("fq_codel, cake, dualpi2", "the most memory, as Linux counts it")
    drop_batch: Packets | None = _of("fq_codel", "the most packets to drop at once when a limit is passed")
    tupdate: Time | None = _of("pie, fq_pie, dualpi2", "how often the probability is computed")
    alpha: float | None = _of("pie, fq_pie, dualpi2", "gain on the distance from the target, in Hz")
    beta: float | None = _of("pie, fq_pie, dualpi2", "gain on the change of the delay, in Hz")
    ecn_prob: Ratio | None = _of("fq_pie", "above this probability packets are dropped that could be marked")
    bytemode: bool | None = _of("pie, fq_pie", "drop small packets less often")
    dq_rate_estimator: bool | None = _of("pie, fq_pie", "take the delay from the measured rate")
    min: Size | None = _of("red", "the average length from which packets are dropped or marked")
    max: Size | None = _of("red", "the average length from which every packet is")
    probability: Ratio | None = _of("red", "the probability just below max")
    avpkt: Size | None = _of("red", "the size of an average packet")
    burst: Packets | None = _of("red", "the burst that passes while the average is below min")
    harddrop: bool | None = _of("red", "above max drop also what could be marked")
    adaptive: bool | None = _of("red", "steer the probability to keep the average midway")
    step_thresh: QueueLimit | None = _of("dualpi2", "mark every low-latency packet above: time or packets")
    min_qlen_step: Packets | None = _of("dualpi2", "the step applies from this length on")
    coupling: int | None = _of("dualpi2", "by how much the classic probability is coupled")
    drop_overload: bool | None = _of("dualpi2", "on overload drop in both queues")
    drop_early: bool | None = _of("dualpi2", "drop packets on arrival")
    c_protection: Ratio | None = _of("dualpi2", "the share that the classic queue has at least")
    ecn_mask: str | None = _of("dualpi2", "which packets go to the low-latency queue")
    gain_scale: float | None = _of("dualpi2", "what both gains are multiplied by")
    rtt: Time | None = _of("cake", "the round-trip time that the interval is meant for")
    diffserv: str | None = _of("cake", "the classes that DSCPs are sorted into")
    flow_mode: str | None = _of("cake", "between what the link is shared fairly")
    own_shaper: bool | None = _of("cake", "the link is cake's own shaper")
    sce: str | None = _of("cake", "when to turn ECT(0) into ECT(1)")
    sce_thresh: int | None = _of("cake", "the ramp of sce reaches 1/N at the target")


class Hop(Model):
    """One link of the path: queue, then rate, then delay, loss and jitter on the wire."""

    rate: LinkRate = default("unlimited", "unlimited", "how fast the link sends")
    queue: Queue = Field(default_factory=Queue, description="the queue in front of the link")
    delay: Time = default(0, "0s", "propagation delay, one way")
    loss: Ratio = Field(0.0, description="each packet is lost with this probability, independently, behind the queue")
    jitter: Time = default(0, "0s", "mean of an exponential extra delay that keeps the order of packets")


Hops = Annotated[list[Hop], Field(min_length=1, max_length=64)]


class Path(Model):
    """Hops from sender to receiver and back."""

    forward: Hops = Field(description="hops of the data direction, in order")
    reverse: Hops | None = Field(
        None, description="hops of the other direction; default: one unlimited hop with the summed forward delay"
    )
