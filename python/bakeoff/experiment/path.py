"""The path of an experiment file: hops forward and back, each with a rate, a queue, a delay, loss and jitter."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from bakeoff.experiment.base import (
    Model,
    QueueLimit,
    Rate,
    RateOrZero,
    Ratio,
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


class Queue(Model):
    """What waits for the link, and who is dropped when it is full."""

    kind: str = Field("fifo", description="queueing discipline; `bakeoff list queues`")
    limit: QueueLimit = default(Limit(), "infinite", "what it holds")
    drop: Literal["tail", "head"] = Field("tail", description="which packet goes when the queue is full")


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
