"""Metrics, errors and schemes in words."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.experiment.catalogue import plain
from bakeoff.experiment.published_row import SCHEME_AXIS
from bakeoff.reports import looks, titles, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bakeoff.metrics.agreement import Agreement, Errors, Line
    from bakeoff.metrics.tolerance import Band, Metric

_TITLES = {
    "throughput_mbps": "throughput",
    "completion_s": "completion time",
    "queue_p95_ms": "95th-%ile queueing delay",
    "owd_p50_ms": "median one-way delay",
    "owd_p95_ms": "95th-%ile one-way delay",
    "rtt_p50_ms": "median round trip",
    "rtt_p95_ms": "95th-%ile round trip",
    "loss": "loss",
    "retransmits": "retransmissions",
    "ce_marks": "marks",
    "utilisation": "utilisation",
    "jain": "Jain's index",
}
_WHOSE = {"flow": "each flow", "probe": "each probe", "total": "all flows"}
_PERCENTAGES = frozenset({"loss", "utilisation"})


def title(metric: Metric) -> str:
    """Name of a metric for people, with its scope where it is not of all flows by nature."""
    name = _TITLES[metric.name]
    if metric.name in {"utilisation", "jain"}:
        return name
    return f"{name}, {_WHOSE[metric.scope]}"


def factor(metric: Metric) -> float:
    """What values are multiplied by to be shown."""
    return 100.0 if metric.name in _PERCENTAGES else 1.0


def unit(metric: Metric) -> str:
    """Unit of the values that are shown; empty for counts and indices."""
    return "%" if metric.name in _PERCENTAGES else metric.unit


def name(line: Line) -> str:
    """The cell and the flow or probe of a line; a flow with its scheme where the cell does not tell."""
    parts = [scheme(line.cell[SCHEME_AXIS])] if SCHEME_AXIS in line.cell else []
    parts += [titles.axis_value(axis, text) for axis, text in line.cell.items() if axis != SCHEME_AXIS]
    if line.flow is not None:
        told = plain(line.scheme) == plain(line.cell.get(SCHEME_AXIS, ""))
        parts.append(f"flow {line.flow}" if told else f"flow {line.flow} ({scheme(line.scheme)})")
    parts += [] if line.probe is None else [f"probe {line.probe}"]
    return ", ".join(parts) or "all flows"


def value(metric: Metric, number: float | None) -> str:
    """A value with three or four digits, without its unit."""
    if number is None:
        return words.MISSING
    number *= factor(metric)
    if metric.name in {"retransmits", "ce_marks"}:
        return words.number(number, 0 if number == round(number) else 1)
    return words.significant(number, 4 if abs(number) >= 1 else 3)


def amount(metric: Metric, number: float) -> str:
    """An error with two digits and its unit; of percentages, points."""
    name = "points" if metric.name in _PERCENTAGES else unit(metric)
    return f"{words.trimmed(float(f'{number * factor(metric):.2g}'))} {name}".rstrip()


def signed(number: float | None, text: str) -> str:
    """A difference with its sign."""
    return f"+{text}" if number is not None and number > 0 else text


def percent(ratio: float | None) -> str:
    """A share in percent, with its sign as text."""
    if ratio is None:
        return words.MISSING
    # Means of equal numbers may differ in their last bits.
    ratio = 0.0 if abs(ratio) < sys.float_info.epsilon * 8 else ratio
    return f"{words.significant(100 * ratio, 2 if abs(ratio) < 1 else 3)} %"


def times(ratio: float | None) -> str:
    """A number of tolerances."""
    return words.MISSING if ratio is None else f"{words.number(ratio, 1 if ratio >= 0.1 else 2)}\N{MULTIPLICATION SIGN}"


def band(metric: Metric, found: Band) -> str:
    """A tolerance in words."""
    parts = [f"{words.trimmed(100 * found.relative)} %"] if found.relative else []
    parts += [amount(metric, found.absolute)] if found.absolute else []
    return " or ".join(parts)


@dataclass(frozen=True)
class Error:
    """An error as texts: relative, and in its unit where values are too small for that; empty: there is none."""

    relative: str
    absolute: str

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.relative, self.absolute))) or words.MISSING


@dataclass(frozen=True)
class SummaryRow:
    """A metric, or a scheme's share in it, as texts.

    Attributes:
        tolerance: what is tolerated.
        cells: how many lines are compared.
        median: median error.
        p90: its 90th percentile.
        seeds: median spread between seeds, in tolerances.
        agrees: `yes`, `no`, or a dash.
        far: lines beyond three tolerances.
        within: lines that the seeds explain, of those with a spread.
        worst: name of the line farthest apart, and how far.
    """

    tolerance: str
    cells: str
    median: Error
    p90: Error
    seeds: str
    agrees: str
    far: str
    within: str
    worst: str


def summary(metric: Metric, found: Agreement) -> SummaryRow:
    """A summary in words."""
    far_apart = found.worst.found.tolerance_ratio if found.worst else None
    return SummaryRow(
        tolerance=band(metric, metric.tolerance),
        cells=str(found.cells) + (f" ({found.missing} lack it)" if found.missing else ""),
        median=_error(metric, found, lambda sizes: sizes.median),
        p90=_error(metric, found, lambda sizes: sizes.p90),
        seeds=times(found.spread.median if found.spread else None),
        agrees=words.MISSING if found.agrees is None else "yes" if found.agrees else "no",
        far=str(found.far),
        within=f"{found.within} of {found.judged}" if found.judged else words.MISSING,
        worst=f"{name(found.worst)}: {times(far_apart)}" if found.worst else words.MISSING,
    )


def _error(metric: Metric, found: Agreement, pick: Callable[[Errors], float]) -> Error:
    return Error(
        percent(pick(found.relative)) if found.relative else "",
        amount(metric, pick(found.absolute)) if found.absolute else "",
    )


@dataclass(frozen=True)
class LineRow:
    """One difference as texts."""

    name: str
    metric: str
    a: str
    b: str
    a_median: str
    b_median: str
    difference: str
    relative: str
    spread: str
    within: str
    tolerance: str


def line(found: Line) -> LineRow:
    """A line in words."""
    metric, numbers = found.metric, found.found
    name_of_metric = title(metric).removesuffix(", each flow").removesuffix(", each probe")
    within = {None: words.MISSING, True: "yes", False: "no"}[numbers.within]
    return LineRow(
        name=name(found),
        metric=f"{name_of_metric}{f' ({unit(metric)})' if unit(metric) else ''}",
        a=value(metric, numbers.a.mean),
        b=value(metric, numbers.b.mean),
        a_median=value(metric, numbers.a.median),
        b_median=value(metric, numbers.b.median),
        difference=signed(numbers.difference, value(metric, numbers.difference)),
        relative=signed(numbers.relative, percent(numbers.relative)),
        spread=value(metric, numbers.spread),
        within=within,
        tolerance=times(numbers.tolerance_ratio),
    )


def scheme(key: str) -> str:
    """A scheme or a mixture for people; one of the kernel's or explicitly ours says so."""
    return " + ".join(_one(part) for part in key.split("+"))


def _one(key: str) -> str:
    name = plain(key)
    origin = key.removesuffix(name).removesuffix(":")
    return f"{titles.scheme(name)} ({origin})" if origin else titles.scheme(name)


def scheme_looks(keys: Sequence[str]) -> dict[str, looks.Look]:
    """A look for each scheme; the same colours with another marker for one that has a namesake."""
    found: dict[str, looks.Look] = {}
    for index, key in enumerate(keys):
        look = looks.of_scheme(plain(key) if "+" not in key else "", index)
        found[key] = looks.with_marker(look, index) if look in found.values() else look
    return found
