"""Folds: one number out of the telemetry and the rates of a run, at the times at which something holds.

Within a fold a value is an array over the sampled times; NaN is what is not there at a time, and compares as false.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from bakeoff.recording import RunRecording

    Values = NDArray[np.float64]
    Truth = NDArray[np.bool_]

_FOLDS: dict[str, Callable[[Values], Any]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "least": lambda values: values.min(),
    "most": lambda values: values.max(),
    "mean": lambda values: values.mean(),
}
# Of lengths in ns: sums and differences of seconds would be a little less or more than what they are compared with.
_SPELLS: dict[str, Callable[[NDArray[np.int64]], Any]] = {
    "spells": lambda lengths: lengths.size,
    "seconds": lambda lengths: lengths.sum() / 1e9,
    "longest": lambda lengths: lengths.max(initial=0) / 1e9,
}
_COMPARISONS: dict[str, Callable[[Values, Values], Truth]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: (left != right) & (left == left) & (right == right),  # noqa: PLR0124 - not NaN
}
# Rates of a flow over the interval that ends at a sampled time, by the column of the table `series` with their bytes.
_RATES = {"throughput_mbps": "received_bytes", "goodput_mbps": "goodput_bytes"}
RATES = tuple(_RATES)
FOLDS = tuple(_FOLDS)
SPELLS = tuple(_SPELLS)
COMPARISONS = tuple(_COMPARISONS)


@functools.cache
def of_transport() -> tuple[Mapping[str, str], ...]:
    """The quantities that every sender reports, with `name` and `unit`."""
    from bakeoff import _core  # noqa: PLC0415 - loaded when a measure wants it

    return tuple(json.loads(_core.telemetry()))


@functools.cache
def of_schemes() -> tuple[Mapping[str, str], ...]:
    """The quantities that schemes add, each as one of them declares it."""
    from bakeoff import _core  # noqa: PLC0415 - loaded when a measure wants it

    return tuple(entry for scheme in json.loads(_core.schemes()) for entry in scheme["telemetry"])


class Telemetry:
    """The telemetry of one run and the rates of its flows, on one grid of times.

    Attributes:
        times_ns: the sampled times.
    """

    def __init__(self, table: pl.DataFrame) -> None:
        """Takes a table as `telemetry` of a recording is; rates are quantities in it."""
        import numpy as np  # noqa: PLC0415 - loaded when something is evaluated

        self._table = table
        self.times_ns: NDArray[np.int64] = np.unique(table["t_ns"].to_numpy())
        self._known: dict[tuple[int, str], Values] = {}

    @classmethod
    def of_run(cls, recording: RunRecording) -> Telemetry | None:
        """That of a complete run; None where it recorded neither telemetry nor rates."""
        import polars as pl  # noqa: PLC0415 - loaded when something is evaluated

        tables = [recording.table("telemetry")] if recording.has("telemetry") else []
        if recording.has("series"):
            tables += _rates(recording)
        return cls(pl.concat(tables)) if tables else None

    @property
    def times_s(self) -> Values:
        """The sampled times in seconds."""
        return self.times_ns / 1e9

    def values(self, flow: int, name: str) -> Values:
        """A quantity at every time; NaN where it was not reported."""
        import numpy as np  # noqa: PLC0415 - loaded when something is evaluated

        if (flow, name) not in self._known:
            rows = self._table.filter((self._table["flow"] == flow) & (self._table["name"] == name))
            values = np.full(self.times_ns.size, np.nan)
            values[np.searchsorted(self.times_ns, rows["t_ns"].to_numpy())] = rows["value"].to_numpy()
            self._known[flow, name] = values
        return self._known[flow, name]


def _rates(recording: RunRecording) -> list[pl.DataFrame]:
    """The rates of flows as rows of telemetry; the last interval only if it is a whole one."""
    import polars as pl  # noqa: PLC0415 - loaded when something is evaluated

    interval_ns, end_ns = recording.scenario["record"]["interval_ns"], recording.scenario["duration_ns"]
    series = recording.table("series", ("flow", "t_ns", *_RATES.values())).with_columns(pl.col("t_ns") + interval_ns)
    whole = series.filter(pl.col("t_ns") <= end_ns)
    return [
        whole.select("t_ns", "flow", name=pl.lit(name), value=pl.col(size) * 8e3 / interval_ns)
        for name, size in _RATES.items()
    ]


@dataclass(frozen=True)
class Time:
    """The time since the start of the run, in seconds."""

    def values(self, run: Mapping[str, Any]) -> Values:
        """The sampled times."""
        times: Values = run["telemetry"].times_s
        return times


@dataclass(frozen=True)
class Quantity:
    """A quantity of a flow's sender, or a rate of the flow."""

    flow: int
    name: str

    def values(self, run: Mapping[str, Any]) -> Values:
        """The quantity at the sampled times."""
        values: Values = run["telemetry"].values(self.flow, self.name)
        return values


@dataclass(frozen=True)
class Constant:
    """A part that is one number for the whole run."""

    node: Any

    def values(self, run: Mapping[str, Any]) -> Values:
        """The number at every time; NaN if it does not exist."""
        import numpy as np  # noqa: PLC0415 - loaded when something is evaluated

        value = self.node.evaluate(run)
        return np.full_like(run["telemetry"].times_s, np.nan if value is None else value)


@dataclass(frozen=True)
class Arithmetic:
    """Two arrays and an operator."""

    operator: str
    left: Any
    right: Any

    def values(self, run: Mapping[str, Any]) -> Values:
        """The result at every time; NaN where a divisor is zero."""
        import numpy as np  # noqa: PLC0415 - loaded when something is evaluated

        left, right = self.left.values(run), self.right.values(run)
        if self.operator == "/":
            ratio: Values = np.divide(left, right, out=np.full_like(left, np.nan), where=right != 0)
            return ratio
        operators = {"+": np.add, "-": np.subtract, "*": np.multiply}
        result: Values = operators[self.operator](left, right)
        return result


@dataclass(frozen=True)
class Condition:
    """Comparisons that all have to hold."""

    comparisons: tuple[tuple[str, Any, Any], ...]

    def holds(self, run: Mapping[str, Any]) -> Truth:
        """Whether it does, at every time."""
        import numpy as np  # noqa: PLC0415 - loaded when something is evaluated

        found = [_COMPARISONS[sign](left.values(run), right.values(run)) for sign, left, right in self.comparisons]
        truth: Truth = np.logical_and.reduce(found)
        return truth


@dataclass(frozen=True)
class Fold:
    """One number out of an array, from the times at which the condition holds and the array has a value."""

    kind: str
    array: Any
    condition: Condition | None

    def evaluate(self, run: Mapping[str, Any]) -> float | None:
        """The number, or None if there is no such time."""
        import numpy as np  # noqa: PLC0415 - loaded when something is evaluated

        if run["telemetry"] is None:
            return None
        values = self.array.values(run)
        chosen = ~np.isnan(values)
        if self.condition is not None:
            chosen &= self.condition.holds(run)
        return float(_FOLDS[self.kind](values[chosen])) if chosen.any() else None


@dataclass(frozen=True)
class Spells:
    """How often, or for how long, a condition holds."""

    kind: str
    condition: Condition

    def evaluate(self, run: Mapping[str, Any]) -> float | None:
        """The number; 0 if the condition never holds."""
        import numpy as np  # noqa: PLC0415 - loaded when something is evaluated

        if run["telemetry"] is None:
            return None
        edges = np.diff(np.concatenate([[0], self.condition.holds(run).astype(np.int8), [0]]))
        begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        times = run["telemetry"].times_ns
        # A sample stands for the time up to the next one, the last for as long as that before.
        steps = np.diff(times)
        until = times + np.append(steps, steps[-1:] if steps.size else np.zeros_like(times))
        return float(_SPELLS[self.kind](until[ends - 1] - times[begins]))
