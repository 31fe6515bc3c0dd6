"""The probes of an experiment file: small requests beside the flows that measure the round trip, as `ping` does."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bakeoff.experiment.base import Model, Size, Time, default
from bakeoff.experiment.limits import MAX_PROBES


class Probe(Model):
    """Requests at fixed intervals over the whole path, each answered at once by a packet of the same size."""

    kind: Literal["udp", "ping"] = Field(
        "udp", description="udp: datagrams; ping: ICMP echo, in the worlds sim and emu"
    )
    interval: Time = Field(10**8, gt=0, description="time between two requests", json_schema_extra={"default": "100ms"})
    size: Size = default(84, "84B", "IP size of requests and answers; that of `ping` by default")
    ecn: Literal["off", "ect0", "ect1"] = Field("off", description="ECN codepoint of requests and answers")
    start: Time = default(0, "0s", "when the first request is sent, before start_jitter")
    stop: Time | None = Field(None, description="no request is sent from then on; default: the end of the run")
    direction: Literal["forward", "reverse"] = Field("forward", description="which way the requests go")


Probes = Annotated[list[Probe], Field(max_length=MAX_PROBES)]
