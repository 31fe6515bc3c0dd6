"""How a run can end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl


class Outcome(NamedTuple):
    """A run that ended well.

    Attributes:
        tables: by name, as the core declares them (-1: does not exist).
        cpu_s: CPU seconds of other processes that worked for it.
    """

    tables: dict[str, pl.DataFrame]
    cpu_s: float = 0.0


class RunStopped(Exception):  # noqa: N818 - what happened
    """The run ended with an error; the message is one sentence."""


class RunInvalid(Exception):  # noqa: N818 - what happened
    """The run ended and cannot be trusted: its packets do not add up."""
