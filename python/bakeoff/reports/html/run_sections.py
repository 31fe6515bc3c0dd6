"""The runs of the page, each with its figures, what is remarkable about it, and the command that repeats it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.reports import commands, model, pantheon_text, words
from bakeoff.reports.html import run_figures
from bakeoff.reports.html.encode import Pack, json_for_script

if TYPE_CHECKING:
    from datetime import datetime

    from bakeoff.reports.model import Report
    from bakeoff.reports.rows import Group, Run

# All dots of a page together, and at most so many and at least so few in one run.
_ALL_POINTS = 1_000_000
_MOST_POINTS, _LEAST_POINTS = 20_000, 1_000


@dataclass(frozen=True)
class Figure:
    """One figure of a run.

    Attributes:
        id: element id.
        kind: key of its data.
        title: what it shows.
        caption: how to read it.
        alt: its content for those who do not see it.
    """

    id: str
    kind: str
    title: str
    caption: str
    alt: str


@dataclass(frozen=True)
class RunSection:
    """One run of the page.

    Attributes:
        id: element id.
        title: heading.
        note: why it has no numbers, or empty.
        queues: where queues built up, a sentence a direction.
        warnings: what is not as the experiment meant it.
        block: Pantheon's statistics text.
        figures: what was recorded.
        data: its figures as JSON, and their arrays as base64.
        arrays: the arrays.
        command: what repeats it.
    """

    id: str
    title: str
    note: str
    queues: list[str]
    warnings: list[str]
    block: str
    figures: list[Figure]
    data: str
    arrays: str
    command: str


def of(report: Report, group: Group, generated: datetime) -> list[RunSection]:
    """The runs of a row.

    Args:
        report: what the page shows.
        group: the row.
        generated: the time that the page carries.
    """
    most = min(_MOST_POINTS, max(_LEAST_POINTS, _ALL_POINTS // max(1, len(report.runs))))
    return [_run(report, group, run, generated, most) for run in group.runs]


def _run(report: Report, group: Group, run: Run, generated: datetime, most: int) -> RunSection:
    summary = run.summary
    identity = f"run-{summary.id}"
    command = commands.run_cell(report.experiment, group.cell)
    if summary.total is None:
        note = f"{summary.status}: {summary.error}"
        return RunSection(identity, f"Run {summary.repeat}", note, [], [], "", [], "", "", command)
    pack = Pack()
    data = run_figures.figures(run, pack, most, report.scheme_looks)
    figures = [_figure(identity, kind, entry, group, run) for kind, entry in data.items()]
    return RunSection(
        id=identity,
        title=f"Run {summary.repeat}",
        note="" if data else f"Recorded at level {run.recording.level}: nothing over time.",
        queues=[words.queue(found) for found in summary.queueing],
        warnings=[words.sentence(warning) for warning in model.warnings(summary)],
        block=pantheon_text.statistics_block(summary, run.recording.timing, generated),
        figures=figures,
        data=json_for_script(data),
        arrays=pack.encode(),
        command=command,
    )


_CAPTIONS = {
    "responsiveness": (
        "Rates and round trips over time",
        (
            "Left: goodput of each flow (solid). Right: round trips, as senders see them (dashed, smoothed) and as "
            "probes beside the flows do (dotted); the axis begins at the round trip of the empty path."
        ),
    ),
    "throughput": (
        "Throughput over time",
        (
            "Bins of 500 ms, the last one too, even if the run ends within it. Ingress (dashed) is what was sent in a "
            "bin, egress (solid) what arrived in it. Means are from the first to the last packet of a flow, or where "
            "packets were not recorded to the end of the last interval in which one was sent."
        ),
    ),
    "delay": ("One-way delay over time", "Each packet that arrived, at the time of its arrival."),
    "probes": ("Round trip of probes over time", "Each request that was answered, at the time when it was sent."),
    "telemetry": ("Inner state over time", "What the congestion control and its transport believe and decide."),
}


def _figure(identity: str, kind: str, data: dict[str, Any], group: Group, run: Run) -> Figure:
    title, caption = _CAPTIONS[kind]
    if kind == "throughput":
        has_capacity = any(entry["style"] == "area" for entry in data["series"])
        caption += " Shaded: capacity of the bottleneck." if has_capacity else ""
        caption += (
            " The bins begin with the first packet."
            if run.recording.has("packets")
            else " The bins begin with the run, and the bytes of a recording interval are spread evenly over it."
        )
    if kind == "delay" and not run.recording.has("packets"):
        caption = "Mean and largest delay of the packets that arrived in each bin."
    flows = len(run.summary.flows)
    note = data.get("note", "")
    if flows > run_figures.MAX_FLOWS and kind != "probes":
        note = f"{note} Flows 1 to {run_figures.MAX_FLOWS} of {flows} are drawn."
    drawn = data.get("choices", [data])[0] if kind == "responsiveness" else data
    labels = [entry["label"] for entry in drawn.get("series", [])]
    alt = f"{title}, {group.label}, run {run.summary.repeat}. {'; '.join(labels)}"
    return Figure(f"{identity}-{kind}", kind, title, f"{caption} {note.strip()}".strip(), alt)
