"""The path of an experiment file: hops there and back, each with a rate, a queue, a delay and what befalls packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from bakeoff.experiment.base import (
    Dscp,
    Model,
    Packets,
    Probability,
    QueueKind,
    QueueLimit,
    Rate,
    RateOrZero,
    Ratio,
    Size,
    Time,
    Word,
    default,
    problem,
)
from bakeoff.experiment.keys import RATE_FORMS
from bakeoff.experiment.units import is_queue_kind
from bakeoff.formats.mahimahi import MAX_PERIOD_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bakeoff.experiment.catalogue import Catalogue

_RATE_SENTENCE = (
    f'write a rate such as "12Mbit/s", "unlimited", or a table with one of the keys {", ".join(RATE_FORMS)}'
)


class PoissonRate(Model):
    """Memoryless delivery: opportunities with exponential gaps, drawn anew from each run's seed.

    As in mahimahi, also with a trace, an opportunity carries 1504 bytes and each packet is counted with 4 more than it
    has, so that a full one takes one opportunity: three packets of 500 bytes take a little more than one.
    """

    poisson: Rate = Field(description="mean rate")


class TokenBucketRate(Model):
    """A token bucket, as `tc tbf`: what it has tokens for leaves at once."""

    token_bucket: Rate = Field(description="long-term rate")
    burst: Size = Field(description="what leaves at once after a pause; at least the largest packet")
    peak: Rate | None = Field(None, description="rate within a burst; without it a burst takes no time")


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

    constant: Rate = Field(
        description="rate of the trace; whole opportunities of 1500 bytes in the length may miss it by 1 %"
    )
    length: Time = Field(description="period of the trace, in whole milliseconds")

    @classmethod
    def keys_of(cls, table: Mapping[str, Any], catalogue: Catalogue | None) -> Iterable[str]:  # noqa: ARG003
        """With those of the other kind of trace, as long as the table does not say which it is."""
        own = list(cls.model_fields)
        return own if "constant" in table else dict.fromkeys([*own, *PoissonTrace.model_fields])


class PoissonTrace(Model):
    """A trace of exponential gaps drawn once, so that every run sees the same one."""

    poisson: Rate = Field(description="mean rate of the draws")
    length: Time = Field(
        description="no opportunity is later, in whole milliseconds; as in every trace the last one is the period, on "
        "average a mean gap before"
    )
    slow_prefix: Time = default(0, "0s", "begin with one opportunity every 100 ms for this long, in whole milliseconds")
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


FILE_KEYS = frozenset({"trace"})
"""Keys of a path whose text is the path of a file."""


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
    return next((f"<{form}>" for form in RATE_FORMS if form in value), None)


LinkRate = Annotated[
    Annotated[Literal["unlimited"], Tag("<unlimited>")]
    | Annotated[Rate, Tag("<constant>")]
    | Annotated[PoissonRate, Tag("<poisson>")]
    | Annotated[TraceRate, Tag("<trace>")]
    | Annotated[ScheduledRate, Tag("<schedule>")]
    | Annotated[TokenBucketRate, Tag("<token_bucket>")],
    Discriminator(
        _rate_form,
        custom_error_type="sentence",
        custom_error_message="{sentence}",
        custom_error_context={"sentence": _RATE_SENTENCE},
    ),
]


def _of(kinds: str, description: str) -> Any:
    """A parameter that the queue's own default stands for where it is not stated."""
    return Field(None, description=f"{description} ({kinds})")


class Queue(Model):
    """What waits for the link, and what becomes of it; `bakeoff show KIND` has the parameters of a kind."""

    kind: Word = Field("fifo", description="queueing discipline; `bakeoff list queues`")
    limit: QueueLimit | None = Field(
        None,
        description="what it holds; default: of a fifo infinite, of others a number of packets of their own; red has "
        "to state it, in bytes",
    )
    flow_limit: Packets | None = _of("fq", "the most packets of one flow")
    drop: Literal["tail", "head"] = Field("tail", description="which packet goes when the queue is full (fifo)")
    room: Size | None = _of("fifo", "bytes that must be free for a packet to enter; default: its own size")
    ecn: bool | None = _of("codel, fq_codel, pie, fq_pie, red", "mark packets that can be marked")
    target: Time | None = _of(
        "codel, fq_codel, pie, fq_pie, cake, dualpi2, cobalt, cnq, cnq_codel_af, lfq", "the delay to steer to"
    )
    interval: Time | None = _of(
        "codel, fq_codel, cobalt, cnq, cnq_codel_af, lfq", "how long it may be above the target"
    )
    ce_threshold: Time | None = _of("codel, fq_codel, fq", "mark what waited longer")
    ce_threshold_selector: int | None = _of("fq_codel", "ce_threshold is for packets with this DS field")
    ce_threshold_mask: int | None = _of("fq_codel", "the bits of the DS field to look at")
    flows: int | None = _of("fq_codel, fq_pie", "the lines that flows are hashed to")
    quantum: Size | None = _of("fq_codel, fq_pie, fq", "what a line may send in its turn")
    initial_quantum: Size | None = _of("fq", "what a flow may send when it is seen first")
    refill_delay: Time | None = _of("fq", "after a longer silence a flow has a quantum again")
    memory_limit: Size | None = _of("fq_codel, cake, dualpi2", "the most memory, as Linux counts it")
    drop_batch: Packets | None = _of("fq_codel", "the most packets to drop at once when a limit is passed")
    tupdate: Time | None = _of("pie, fq_pie, dualpi2", "how often the probability is computed")
    alpha: float | None = _of("pie, fq_pie, dualpi2", "gain on the distance from the target, in Hz")
    beta: float | None = _of("pie, fq_pie, dualpi2", "gain on the change of the delay, in Hz")
    ecn_prob: Probability | None = _of(
        "fq_pie", "above this probability packets are dropped that could be marked; whole percents"
    )
    bytemode: bool | None = _of("pie, fq_pie", "drop small packets less often")
    dq_rate_estimator: bool | None = _of("pie, fq_pie", "take the delay from the measured rate")
    min: Size | None = _of("red", "the average length from which packets are dropped or marked")
    max: Size | None = _of("red", "the average length from which every packet is")
    probability: Probability | None = _of("red", "the probability just below max")
    avpkt: Size | None = _of("red", "the size of an average packet")
    burst: Packets | None = _of("red", "the burst that passes while the average is below min")
    harddrop: bool | None = _of("red", "above max drop also what could be marked")
    adaptive: bool | None = _of("red", "steer the probability to keep the average midway")
    step_thresh: QueueLimit | None = _of("dualpi2", "mark every low-latency packet above: time or packets")
    min_qlen_step: Packets | None = _of("dualpi2", "the step applies from this length on")
    coupling: int | None = _of("dualpi2", "by how much the classic probability is coupled")
    drop_overload: bool | None = _of("dualpi2", "on overload drop in both queues")
    drop_early: bool | None = _of("dualpi2", "drop packets on arrival")
    c_protection: Probability | None = _of("dualpi2", "the share that the classic queue has at least; whole percents")
    ecn_mask: Word | None = _of("dualpi2", "which packets go to the low-latency queue")
    gain_scale: float | None = _of("dualpi2", "what both gains are multiplied by")
    rtt: Time | None = _of("cake", "the round-trip time that the interval is meant for")
    diffserv: Word | None = _of("cake", "the classes that DSCPs are sorted into")
    flow_mode: Word | None = _of("cake", "between what the link is shared fairly")
    own_shaper: bool | None = _of("cake", "the link is cake's own shaper")
    sce: Word | None = _of("cake", "when to turn ECT(0) into ECT(1)")
    sce_interval: Time | None = _of(
        "cobalt, cnq, cnq_codel_af, lfq", "turn ECT(0) into ECT(1) by a CoDel with this interval"
    )
    sce_thresh: int | None = _of("cake", "the ramp of sce reaches 1/N at the target")

    @classmethod
    def keys_of(cls, table: Mapping[str, Any], catalogue: Catalogue | None) -> Iterable[str]:
        """Those of the queue that the table names, or of all queues."""
        kind = table.get("kind")
        entry = catalogue.queues.get(kind) if catalogue and isinstance(kind, str) else None
        return ["kind", *(parameter.name for parameter in entry.parameters)] if entry else cls.model_fields


def _by_its_kind(value: Any) -> Any:
    return {"kind": value} if is_queue_kind(value) else value


HopQueue = Annotated[Queue, BeforeValidator(_by_its_kind, json_schema_input_type=Queue | QueueKind)]


class BurstLoss(Model):
    """Loss in bursts by the model of Gilbert and Elliott, as netem's `loss gemodel`: the wire is good or bad."""

    to_bad: Probability = Field(description="a good wire becomes bad with a packet")
    to_good: Probability = Field(description="a bad wire becomes good with a packet")
    in_bad: Probability = Field(1.0, description="a packet is lost while the wire is bad")
    in_good: Probability = Field(0.0, description="a packet is lost while the wire is good")


Loss = Annotated[
    Annotated[Ratio, Tag("<alone>")] | Annotated[BurstLoss, Tag("<bursts>")],
    Discriminator(lambda value: "<bursts>" if isinstance(value, (dict, BurstLoss)) else "<alone>"),
]


class Reorder(Model):
    """Packets that change places on the wire; one of `gap`, `late` and `behind` says how; without any it is `gap`."""

    probability: Probability = Field(description="a packet is chosen")
    gap: int | None = Field(
        None,
        ge=1,
        le=2**32 - 1,
        description="it skips the delay; after one that does so, so many less one may not, as in netem",
    )
    late: Time | None = Field(None, description="it takes so much longer, and is overtaken")
    behind: Packets | None = Field(None, description="it arrives behind so many later packets")
    within: Time | None = Field(
        None, description="with behind: after so much more time at the latest; 100ms by default"
    )

    @model_validator(mode="after")
    def _one_form(self) -> Reorder:
        if sum(form is not None for form in (self.gap, self.late, self.behind)) > 1:
            raise problem("gap, late and behind exclude each other; keep one of them")
        if self.within is not None and self.behind is None:
            raise problem("is for behind; add that, or leave it out", "within")
        return self


class Slots(Model):
    """Times at which packets leave the wire together, as netem's `slot`: bursts, as of a radio link."""

    min: Time = Field(description="the least time to the next slot; no shorter than the delay of the hop")
    max: Time = Field(description="the longest")
    packets: Packets = Field(description="the most packets that a slot lets through")


class Policer(Model):
    """Drops what arrives faster than a token bucket fills, before the queue."""

    rate: Rate = Field(description="long-term rate")
    burst: Size = Field(description="what may come at once after a pause; at least the largest packet")


class DsField(Model):
    """A part of the DS field of a packet."""

    ecn: Literal["not-ect", "ect0", "ect1", "ce"] | None = Field(None, description="ECN codepoint")
    dscp: Dscp | None = Field(None, description="differentiated services codepoint")


class Mangle(Model):
    """A rule that changes the DS field of flows' packets before the queue; their requests to connect pass unchanged."""

    match: DsField = Field(default_factory=DsField, description="what a packet has to have; without it, all match")
    set: DsField = Field(description="what it has from then on")


class Hop(Model):
    """One link of the path: rules and policer, then queue, then rate, then the wire with delay, loss and the like."""

    rate: LinkRate = default("unlimited", "unlimited", "how fast the link sends")
    queue: HopQueue = Field(
        default_factory=Queue, description="the queue in front of the link; a kind alone has its own defaults"
    )
    delay: Time = default(0, "0s", "propagation delay, one way")
    loss: Loss = Field(0.0, description="behind the queue: each packet is lost with this probability, or in bursts")
    jitter: Time = default(0, "0s", "mean of an exponential extra delay that keeps the order of packets")
    slots: Slots | None = Field(None, description="when packets may leave the wire together")
    duplicate: Probability = Field(0.0, description="the wire makes two packets of one with this probability")
    reorder: Reorder | None = Field(None, description="packets that change places on the wire")
    replay_window: Packets | None = Field(
        None,
        description="the hop is a tunnel; its far end drops what lies so many packets behind the newest that came out",
    )
    policer: Policer | None = Field(None, description="what drops packets that arrive too fast")
    mangle: list[Mangle] = Field([], max_length=64, description="rules that change ECN and DSCP, in order")


Hops = Annotated[list[Hop], Field(min_length=1, max_length=64)]


class Path(Model):
    """Hops from sender to receiver and back."""

    forward: Hops = Field(description="hops of the data direction, in order")
    reverse: Hops | None = Field(
        None, description="hops of the other direction; default: one unlimited hop with the summed forward delay"
    )

    @classmethod
    def keys_of(cls, table: Mapping[str, Any], catalogue: Catalogue | None) -> Iterable[str]:  # noqa: ARG003
        """With the word that names another path, which is resolved before."""
        return ["use", *cls.model_fields]
