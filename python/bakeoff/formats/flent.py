"""Data files of Flent: one a run, which Flent draws with the plots that its users know.

What it is: gzipped JSON of version 4. Every flow is a TCP stream with its goodput in each interval and, in the
same samples, its smoothed round trip, window and pacing rate; every probe is a ping. The test that a file claims
to be decides which plots there are: `tcp_1up` or `tcp_nup` for flows of the forward direction, `tcp_1down` or
`tcp_ndown` for the other, `rrul_be_nflows` for both. The names of the experiment and of the run stand in the
title.

Source: Flent 2.3.0, doc/data-format.rst, flent/resultset.py and flent/tests.
Deviations: Flent waits 5 s before the flows and after them, and cuts that much off its CDF and box plots. Files
have these margins around the whole run, without samples, so that nothing of a run is cut off.
How it is validated: Flent itself reads the files in the tests, and its statistics equal ours, but for what arrives
after the stop of a flow: it is in our goodput and in no interval of a test.
"""

from __future__ import annotations

import gzip
import json
import math
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import bakeoff
from bakeoff.formats.exported import check_recorded, make_folder
from bakeoff.metrics import corrected
from bakeoff.metrics.fairness import jain
from bakeoff.recording import atomic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from bakeoff.recording import RunRecording

SUFFIX = ".flent.gz"
_VERSION = 4
# flent/settings.py: seconds before and after the flows, if nothing else is asked for.
_MARGIN_S = 5.0
# A recording has no time of day, and a file of Flent must have one.
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
# Our telemetry under the names and in the units of flent/tests/tcp_stats.inc.
_SOCKET = {"srtt": ("tcp_rtt", 1.0), "cwnd": ("tcp_cwnd", 1.0), "pacing_rate": ("tcp_pacing_rate", 1e-6)}

Sample = dict[str, float | int]


@dataclass(frozen=True)
class _Series:
    """One series of a file.

    Attributes:
        name: as Flent's tests call it.
        unit: its unit.
        runner: the tool of Flent that measures such a series.
        samples: as measured; empty for what is computed from others.
        grid: its values on the common grid.
        mean: of the whole test, as its runner tells it; None if it has no value.
    """

    name: str
    unit: str
    runner: str
    samples: list[Sample]
    grid: list[float | None]
    mean: float | None


@dataclass(frozen=True)
class _Clock:
    """The times of a file.

    Attributes:
        epoch_s: Unix time at the start of the file, which begins before the run.
        step_s: step of the grid, and length of the intervals.
        steps: number of values of a series on the grid.
    """

    epoch_s: float
    step_s: float
    steps: int

    def unix(self, t_ns: int) -> float:
        """Unix time of an instant of the run."""
        return self.epoch_s + _MARGIN_S + t_ns / 1e9

    def step(self, t_ns: int) -> int:
        """The value of the grid that an instant of the run belongs to: the next one at or after it."""
        return math.ceil((_MARGIN_S + t_ns / 1e9) / self.step_s - 1e-9)


def write(recording: RunRecording, experiment: str, folder: Path) -> Iterator[Path]:
    """Writes the file of a run into a folder; see `encode`."""
    content = encode(recording, experiment)
    make_folder(folder)
    path = folder / f"{recording.id}{SUFFIX}"
    atomic.write_file(path, content, writing="a file of Flent")
    yield path


def encode(recording: RunRecording, experiment: str) -> bytes:
    """The file of a run.

    Args:
        recording: a complete run.
        experiment: name of the experiment, for the title.

    Raises:
        UserError: the run recorded nothing over time, or a table of it is damaged.
    """
    check_recorded(recording, "series", level="series", why="Flent draws what happens over time")
    clock = _clock(recording)
    directions = [flow["direction"] for flow in recording.scenario["flows"]]
    ups, downs = directions.count("forward"), directions.count("reverse")
    series = [*_streams(recording, clock, _stream_names(directions)), *_pings(recording, clock)]
    value = {
        "version": _VERSION,
        "x_values": [round(step * clock.step_s, 6) for step in range(clock.steps)],
        "results": {one.name: one.grid for one in series},
        "raw_values": {one.name: one.samples for one in series if one.samples},
        "metadata": _metadata(recording, experiment, clock, series, (ups, downs)),
    }
    return gzip.compress(json.dumps(value, allow_nan=False).encode(), mtime=0)


def _clock(recording: RunRecording) -> _Clock:
    scenario = recording.scenario
    started = datetime.fromisoformat(recording.timing.started) if recording.timing else _EPOCH
    step_s = scenario["record"]["interval_ns"] / 1e9
    length_s = scenario["duration_ns"] / 1e9 + 2 * _MARGIN_S
    return _Clock(started.timestamp(), step_s, math.floor(length_s / step_s + 1e-9) + 1)


def _test_of(ups: int, downs: int) -> str:
    """The test of Flent with so many flows of each direction."""
    if ups and downs:
        return "rrul_be_nflows"
    count, way = ups or downs, "up" if ups else "down"
    return f"tcp_{'n' if count > 1 else '1'}{way}"


def _stream_names(directions: Sequence[str]) -> list[str]:
    """What the test of these flows calls them."""
    kinds = ["upload" if direction == "forward" else "download" for direction in directions]
    if len(kinds) == 1:
        return [f"TCP {kinds[0]}"]
    infix = " BE" if len(set(kinds)) == 2 else ""
    seen = dict.fromkeys(kinds, 0)
    names = []
    for kind in kinds:
        seen[kind] += 1
        names.append(f"TCP {kind}{infix}::{seen[kind]}")
    return names


def _streams(recording: RunRecording, clock: _Clock, names: Sequence[str]) -> list[_Series]:
    """The flows, and what Flent computes from them."""
    table, telemetry = recording.table("series"), recording.table("telemetry")
    flows = {int(row["flow"]): row for row in recording.table("flows").iter_rows(named=True)}
    streams = []
    for number, name in enumerate(names, 1):
        active = corrected.scheduled(flows[number], recording.scenario["duration_ns"])
        rates = _rates(table.filter(table["flow"] == number), active, recording)
        # As netperf's THROUGHPUT: all that arrived over the time that it took, and not the mean over intervals, of
        # which the first and the last are not full.
        mean = corrected.goodput_mbps(flows[number], active)
        streams.append(_stream(name, rates, _socket(telemetry, number), clock, mean))
    if len(streams) == 1:
        return streams
    computed = []
    for kind in ("upload", "download"):
        of_kind = [one for one in streams if one.name.startswith(f"TCP {kind}")]
        if of_kind:
            computed += [
                _computed(f"TCP {kind} avg", "average", of_kind, statistics.fmean),
                _computed(f"TCP {kind} sum", "sum", of_kind, math.fsum),
            ]
    if len(computed) == 4:
        return [*streams, *computed, _computed("TCP totals", "sum", streams, math.fsum)]
    fairness = f"{computed[0].name.removesuffix(' avg')} fairness"
    return [*streams, *computed, _computed(fairness, "fairness", streams, jain, unit="Idx")]


def _rates(series: pl.DataFrame, active: corrected.Interval, recording: RunRecording) -> list[tuple[int, float]]:
    """End of each interval in which a flow was meant to send, and its goodput in Mbit/s."""
    width = recording.scenario["record"]["interval_ns"]
    first, last = active.start_ns // width, -(-active.stop_ns // width)
    got = dict(zip((series["t_ns"] // width).to_list(), series["goodput_bytes"].to_list(), strict=True))
    return [((index + 1) * width, got.get(index, 0) * 8e3 / width) for index in range(first, last)]


def _socket(telemetry: pl.DataFrame, number: int) -> dict[int, Sample]:
    """What is known of a sender, by time."""
    known: dict[int, Sample] = {}
    chosen = telemetry.filter((telemetry["flow"] == number) & telemetry["name"].is_in(list(_SOCKET)))
    for t_ns, name, value in chosen.select("t_ns", "name", "value").iter_rows():
        key, factor = _SOCKET[name]
        known.setdefault(t_ns, {})[key] = value * factor
    return known


def _stream(
    name: str, rates: Sequence[tuple[int, float]], socket: Mapping[int, Sample], clock: _Clock, mean: float | None
) -> _Series:
    grid: list[float | None] = [None] * clock.steps
    samples: list[Sample] = []
    for t_ns, rate in rates:
        samples.append({"t": clock.unix(t_ns), "val": rate, "dur": clock.step_s, **socket.get(t_ns, {})})
        if clock.step(t_ns) < clock.steps:
            grid[clock.step(t_ns)] = rate
    return _Series(name, "Mbits/s", "NetperfDemoRunner", samples, grid, mean)


def _computed(
    name: str,
    runner: str,
    parts: Sequence[_Series],
    value: Callable[[list[float]], float | None],
    *,
    unit: str = "Mbits/s",
) -> _Series:
    """A series over those that have a value at a time; its mean is over their means (Flent's `ComputingRunner`)."""

    def over(numbers: Sequence[float | None]) -> float | None:
        known = [number for number in numbers if number is not None]
        return value(known) if known else None

    grid = [over(column) for column in zip(*(part.grid for part in parts), strict=True)]
    return _Series(name, unit, runner, [], grid, over([part.mean for part in parts]))


def _pings(recording: RunRecording, clock: _Clock) -> list[_Series]:
    """The probes; Flent's plots know the first one by its name."""
    if not recording.has("probes"):
        return []
    table = recording.table("probes")
    found = []
    for number in range(1, len(recording.scenario["probes"]) + 1):
        name = "Ping (ms) ICMP" if number == 1 else f"Ping (ms) ICMP probe {number} (extra)"
        rows = table.filter((table["probe"] == number) & table["rtt_ns"].is_not_null())
        samples: list[Sample] = []
        steps: dict[int, list[float]] = {}
        for seq, (sent, rtt) in enumerate(rows.select("sent_ns", "rtt_ns").iter_rows(), 1):
            samples.append({"t": clock.unix(sent + rtt), "val": rtt / 1e6, "seq": seq})
            steps.setdefault(clock.step(sent + rtt), []).append(rtt / 1e6)
        grid = [statistics.fmean(steps[step]) if step in steps else None for step in range(clock.steps)]
        mean = statistics.fmean(sample["val"] for sample in samples) if samples else None
        found.append(_Series(name, "ms", "PingRunner", samples, grid, mean))
    return found


def _metadata(
    recording: RunRecording, experiment: str, clock: _Clock, series: Sequence[_Series], counts: tuple[int, int]
) -> dict[str, Any]:
    start = _iso(clock.epoch_s)
    manifest, length_s = recording.manifest, recording.scenario["duration_ns"] / 1e9
    schemes = [flow["scheme"] for flow in recording.scenario["flows"]]
    cell = ", ".join(f"{axis} {value}" for axis, value in manifest.cell.items())
    return {
        "NAME": _test_of(*counts),
        "TITLE": f"{experiment}{f': {cell}' if cell else ''}, run {manifest.repeat}",
        "NOTE": f"bakeoff {bakeoff.__version__}, world {manifest.world or 'unknown'}, seed {manifest.seed}",
        "HOST": "receiver",
        "HOSTS": ["receiver"],
        "LOCAL_HOST": "sender",
        "LENGTH": length_s,
        "TOTAL_LENGTH": length_s + 2 * _MARGIN_S,
        "STEP_SIZE": clock.step_s,
        "T0": start,
        "TIME": start,
        "DATA_FILENAME": f"{recording.id}{SUFFIX}",
        "IP_VERSION": 4,
        "TEST_PARAMETERS": {
            "cc_algos": ",".join(schemes),
            "upload_streams": str(counts[0]),
            "download_streams": str(counts[1]),
        },
        "SERIES_META": {one.name: _series_meta(one) for one in series},
    }


def _series_meta(series: _Series) -> dict[str, Any]:
    meta: dict[str, Any] = {"UNITS": series.unit, "RUNNER": series.runner}
    return meta | ({} if series.mean is None else {"MEAN_VALUE": series.mean})


def _iso(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
