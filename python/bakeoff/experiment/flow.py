"""The flows of an experiment file: who sends what, from when to when, with which transport."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from bakeoff.experiment.base import Dscp, Model, Packets, Rate, Size, Time, default, problem
from bakeoff.experiment.limits import MAX_FLOWS
from bakeoff.experiment.units import shown


def _scalar(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)):
        return value
    raise problem(f"must be a number, a text, true or false, not {shown(value)}")


Parameter = Annotated[bool | int | float | str, BeforeValidator(_scalar)]


class Bulk(Model):
    """As much as the network takes."""

    kind: Literal["bulk"]
    write: Size | None = Field(
        None, ge=1, description="bytes that the application writes at once; a packet never has bytes of two writes"
    )


class Finite(Model):
    """A transfer of a given size."""

    kind: Literal["finite"]
    size: Size = Field(description="bytes to deliver")


class OnOff(Model):
    """Bursts of bulk data with silence between them; two segments that wait in its socket leave after a burst."""

    kind: Literal["on-off"]
    on: Time = Field(gt=0, description="length of a burst, or its mean")
    off: Time = Field(gt=0, description="length of a silence, or its mean")
    distribution: Literal["constant", "exponential"] = "constant"


_TRAFFIC_KINDS = ("bulk", "finite", "on-off")


def _traffic_kind(value: Any) -> str | None:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return f"<{kind}>" if kind in _TRAFFIC_KINDS else None


Traffic = Annotated[
    Annotated[Bulk, Tag("<bulk>")] | Annotated[Finite, Tag("<finite>")] | Annotated[OnOff, Tag("<on-off>")],
    Discriminator(
        _traffic_kind,
        custom_error_type="sentence",
        custom_error_message="{sentence}",
        custom_error_context={
            "sentence": 'write { kind = "bulk" }, { kind = "finite", size = "10MB" } '
            'or { kind = "on-off", on = "1s", off = "1s" }'
        },
    ),
]


class Flow(Model):
    """One sender and receiver, or several alike."""

    scheme: str | None = Field(
        None,
        description="congestion control, or ./FILE.py:CLASS of your own; without it the axis matrix.scheme decides",
    )
    parameters: dict[str, Parameter] = Field({}, description="parameters of the scheme; `bakeoff show SCHEME`")
    traffic: Traffic = Field(default_factory=lambda: Bulk(kind="bulk"), description="what the application sends")
    start: Time = default(0, "0s", "when it starts, before start_jitter")
    stop: Time | None = Field(None, description="when it stops sending; default: the end of the run")
    count: int = Field(1, ge=1, description="how many flows like this one")
    interval: Time = default(0, "0s", "time between the starts of those flows")
    direction: Literal["forward", "reverse"] = Field("forward", description="which way the data goes")
    extra_delay: Time = default(0, "0s", "one way, added each way for this flow only")
    mss: Size = default(1448, "1448B", "largest payload of a packet; headers of 52 bytes come on top")
    receive_window: Size | None = Field(
        None, description="largest window that the receiver grants; default: one that grows with use, as Linux' does"
    )
    handshake: bool = Field(
        default=True,
        description="false: data leaves at once, as QUIC's 0-RTT has it, and no round trip is known before",
    )
    pacing: Literal["auto", "internal"] = Field(
        "auto", description="auto: schemes with a rate of their own are paced; internal: all others too, as in Linux"
    )
    max_pacing_rate: Rate | None = Field(
        None, description="the most at which packets are paced; schemes without a rate of their own are then paced, too"
    )
    acks: Literal["delayed", "each"] = Field(
        "delayed", description="when the receiver acknowledges; delayed: as Linux does, each: every packet at once"
    )
    burst: Packets = default(1, "1pkt", "packets that the pacer releases back to back")
    ecn: Literal["off", "classic", "accurate", "sce"] | None = Field(
        None,
        description="explicit congestion notification; classic: RFC 3168, accurate: counters of RFC 9768, "
        "sce: classic, and acks tell of some congestion; default: what the scheme needs, else off",
    )
    ect: Literal["ect0", "ect1"] | None = Field(
        None, description="codepoint of packets that may be marked; default: ect1 for prague, else ect0"
    )
    dscp: Dscp = Field(0, description="differentiated services codepoint of the packets with data; acks have none")
    send_jitter: Time = default(
        0,
        "0s",
        "what an ack lets go waits for a random time up to this, and what other acks let go meanwhile leaves with it, "
        "as ns-2's `overhead_`; a packet's time at the bottleneck takes away what exact times make of round numbers: "
        "docs/agreement.md, phase effect",
    )


class Variant(Model):
    """A scheme with parameters under a name of its own, for flows and for the axis `scheme`."""

    scheme: str = Field(description="the scheme that it is")
    parameters: dict[str, Parameter] = Field(
        {},
        description='its parameters, where a flow does not give them; a file that is "" is for the user to give: until '
        "then the report says so in place of the runs",
    )


Flows = Annotated[list[Flow], Field(min_length=1, max_length=MAX_FLOWS)]
