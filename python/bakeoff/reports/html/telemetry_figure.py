"""Data of the figure of the senders' inner state over time: one quantity at a time."""

from __future__ import annotations

import functools
import itertools
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff import _core
from bakeoff.experiment.catalogue import plain
from bakeoff.metrics.quantities import NS_PER_S
from bakeoff.reports import titles
from bakeoff.reports.html import spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from bakeoff.metrics.summary import RunSummary
    from bakeoff.reports.html.encode import Pack
    from bakeoff.reports.looks import Look

    # Times in ns, and the values from then on.
    Samples = tuple[NDArray[np.int64], NDArray[np.float64]]

MAX_POINTS = 1500


def figure(
    telemetry: pl.DataFrame, origin_ns: int, summary: RunSummary, flow_looks: Sequence[Look], pack: Pack
) -> dict[str, Any] | None:
    """The figure of a run; None if nothing was recorded.

    Args:
        telemetry: rows of the flows to draw.
        origin_ns: where the axis of time begins.
        summary: of the run.
        flow_looks: the look of each flow.
        pack: where the arrays go.
    """
    if telemetry.is_empty():
        return None
    choices = []
    note = ""
    for name, unit, samples in _quantities(telemetry, summary):
        times = _union([own for own, _ in samples.values()])
        times_s = (times - origin_ns) / NS_PER_S
        taken = spans.of_samples(times_s, MAX_POINTS)
        curves: list[dict[str, Any]] = []
        for flow, (own, values) in samples.items():
            name_of_flow = titles.scheme(summary.flows[flow - 1].name)
            entry = {"label": f"Flow {flow}, {name_of_flow}", "style": "solid", **flow_looks[flow - 1].colours}
            curve = held(own, values, times)
            curves += taken.lines(entry, curve, "median", pack) if taken else [{**entry, "y": pack.add(curve)}]
        if taken:
            note = f"Lines are medians over {taken.name}, areas the range of the samples in them."
        choices.append(
            {
                "name": name,
                "unit": f"{name} ({unit})" if unit else name,
                "x": pack.add(taken.centres() if taken else times_s),
                "series": curves,
            }
        )
    return {"kind": "choice", "note": note, "choices": choices}


def _quantities(telemetry: pl.DataFrame, summary: RunSummary) -> Iterator[tuple[str, str, dict[int, Samples]]]:
    """Names with their units, and the samples by flow: two schemes may mean different things by one name."""
    by_name: dict[str, dict[int, Samples]] = {}
    for (name, flow), rows in sorted(telemetry.partition_by("name", "flow", as_dict=True).items()):
        by_name.setdefault(str(name), {})[int(flow)] = rows["t_ns"].to_numpy(), rows["value"].to_numpy()
    for name in sorted(by_name, key=lambda name: (name != "cwnd", name)):
        of_unit: dict[str, dict[int, Samples]] = {}
        for flow, samples in by_name[name].items():
            unit = units(summary.flows[flow - 1].scheme).get(name, "")
            of_unit.setdefault(unit, {})[flow] = samples
        for unit, found in of_unit.items():
            yield name, unit, found


def _union(times: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """All times, once each and in order."""
    ordered: NDArray[np.int64] = np.sort(np.concatenate(times))
    # `np.unique` takes ten times as long.
    once: NDArray[np.int64] = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return once


def held(own: NDArray[np.int64], values: NDArray[np.float64], times: NDArray[np.int64]) -> NDArray[np.float64]:
    """The latest value of a state at each time; NaN before the first and after the last.

    Args:
        own: when the state was looked at.
        values: what it was.
        times: the times asked for, in order.
    """
    order = np.argsort(own, kind="stable")
    own, values = own[order], values[order]
    where = np.searchsorted(own, times, side="right") - 1
    there = (where >= 0) & (times <= own[-1])
    return np.where(there, values[np.maximum(where, 0)], np.nan)


@functools.cache
def units(scheme: str) -> Mapping[str, str]:
    """Unit of every telemetry of the transport and of a scheme, by name."""
    everywhere = json.loads(_core.telemetry())
    own = (known["telemetry"] for known in json.loads(_core.schemes()) if known["name"] == plain(scheme))
    return {entry["name"]: entry["unit"] for entry in itertools.chain(everywhere, *own)}
