"""What only the emulated world can run: programs of others, and controllers that are loaded into the kernel."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bakeoff.experiment.base import Model, problem

Words = Annotated[list[str], Field(min_length=1)]
_PLACES = "{port}, {address} or {address6} (the other end) and {seconds} (length of the flow) are filled in"

FILE_KEYS = frozenset({"wrapper", "object"})
"""Keys of programs and controllers whose text is the path of a file."""


class Program(Model):
    """A program for each end of a flow, whose scheme is then `program:NAME`."""

    sender: Words | None = Field(None, description=f"words of the sender's command; {_PLACES}")
    receiver: Words | None = Field(None, description="words of the receiver's command; the same are filled in")
    first: Literal["receiver", "sender"] = Field("receiver", description="the end that listens, and is started first")
    wrapper: str | None = Field(
        None, description="in place of all that: a wrapper of Pantheon, which is asked with `run_first`"
    )

    @model_validator(mode="after")
    def _one_way(self) -> Program:
        if (self.wrapper is None) == (self.sender is None or self.receiver is None):
            raise problem("give the commands of both ends, sender and receiver; or a wrapper alone")
        return self


class Controller(Model):
    """A congestion controller that is loaded into the kernel for the run; flows use it as `kernel:NAME`."""

    object: str = Field(min_length=1, description="a BPF object file with a struct_ops map of type tcp_congestion_ops")


class Emulation(Model):
    """What only the emulated world asks."""

    merge: bool = Field(
        default=False,
        description="hand segments that are due together over together, as offloading hardware does: "
        "more throughput, fewer acks",
    )
