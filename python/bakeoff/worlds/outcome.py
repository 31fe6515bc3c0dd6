"""How a run can end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Outcome:
    """What a run leaves.

    Attributes:
        tables: by name, as the core declares them (-1: does not exist); none if the run did not end well.
        cpu_s: CPU seconds of other processes that worked for it.
        provenance: what ran it beside bakeoff itself, such as the kernel of a guest and its digest, by name; the same
            for every run on the same machine.
        measurements: what was measured of the run itself, where real time had a part in it.
        console: the last lines that another process printed; only of a run that did not end well.
    """

    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    cpu_s: float = 0.0
    provenance: dict[str, str] = field(default_factory=dict)
    measurements: dict[str, Any] = field(default_factory=dict)
    console: tuple[str, ...] = ()


class RunStopped(Exception):  # noqa: N818 - what happened
    """The run ended with an error.

    Args:
        message: one sentence.
        outcome: what is known of the run all the same.

    Attributes:
        outcome: as given.
    """

    def __init__(self, message: str, outcome: Outcome | None = None) -> None:
        super().__init__(message)
        self.outcome = outcome or Outcome()


class RunInvalid(RunStopped):
    """The run ended and cannot be trusted: its packets do not add up."""
