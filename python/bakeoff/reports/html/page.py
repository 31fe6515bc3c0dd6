"""What the template prints, put together from a report."""

from __future__ import annotations

import functools
import itertools
from importlib import resources
from typing import TYPE_CHECKING, Any

from bakeoff.metrics import DEFINITIONS
from bakeoff.reports import completions, looks, losses, model, path, shares, starts, summary_columns, words
from bakeoff.reports.html import axis_figures, doc, run_sections, summary_figures, sweep_figures, tables, worlds
from bakeoff.reports.html.encode import json_for_script
from bakeoff.reports.summary_columns import METRICS
from bakeoff.scenario import FILES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bakeoff.reports.model import Report

# Versions that are no libraries.
_OURS = ("bakeoff", "build")
SCRIPTS = ("data.js", "paper.js", "time.js", "summary.js", "main.js")


def asset(name: str) -> str:
    """Text of a file that is copied into the page."""
    return (resources.files("bakeoff.reports.html") / "assets" / name).read_text(encoding="utf-8")


def context(report: Report, generated: datetime, beside: Sequence[Report] = ()) -> dict[str, Any]:
    """Everything that the template names."""
    experiment = report.experiment
    first = report.runs[0].recording.scenario if report.runs else None
    means, sweep, by_axis = summary_figures.means(report), sweep_figures.figure(report), axis_figures.figure(report)
    has_repeats = any(len(group.runs) > 1 for group in report.groups)
    return {
        "report": report,
        "experiment": experiment,
        "generated": generated,
        "sentences": _sentences(report),
        "incomplete": _incomplete(report),
        "repeated": has_repeats,
        "hops": path.describe(first) if first else None,
        "ways": path.ways(first) if first else None,
        "facts": _facts(report),
        "columns": summary_columns.of(report),
        "metrics": METRICS,
        "losses": losses.sentence(report),
        "has_figures": bool(means["series"] or sweep or by_axis) and (has_repeats or len(report.rows) > 1),
        "discarded": model.discarded(report),
        "summary": tables.summary(report),
        "starts": starts.sentences(report),
        "totals": tables.totals(report),
        "published_band": 100 * tables.PUBLISHED_BAND,
        "shares": shares.of(report),
        "transfers": completions.of(report),
        "completion_headings": completions.HEADINGS,
        "waiting": [row for row in tables.summary(report) if row.remedy],
        "worlds": worlds.table(report, beside),
        "corrected": tables.corrected(report),
        "both_ways": tables.both_ways(report),
        "differences": tables.differences(report),
        "doc": doc.render(experiment["doc"]),
        "definitions": DEFINITIONS,
        "groups": [
            (f"scheme-{index}", group, run_sections.of(report, group, generated))
            for index, group in enumerate(report.groups)
        ],
        "means": _scatter(report, means),
        "has_published_points": any(series["hollow"] for series in means["series"]),
        "by_axis": None if sweep else by_axis,
        "panel": axis_figures,
        "sweep": sweep,
        "swept": sweep_figures,
        "all_runs": _scatter(report, summary_figures.all_runs(report)),
        "markers": json_for_script({name: looks.marker_path(name) for name in looks.MARKERS}),
        "marker_path": functools.cache(looks.marker_path),
        "words": words,
        "style": asset("vendor/uPlot.min.css") + asset("report.css"),
        "uplot": asset("vendor/uPlot.iife.min.js"),
        "uplot_licence": asset("vendor/uPlot-LICENSE"),
        "script": "\n".join(asset(f"js/{name}") for name in SCRIPTS),
    }


def _scatter(report: Report, figure: dict[str, Any]) -> dict[str, Any]:
    """A summary figure: its panels, each with its heading and data, and what colours and markers mean."""
    panels = summary_figures.panels(figure, report.cell_looks) if figure["series"] else []
    return {
        "panels": [(name, json_for_script(part)) for name, part in panels],
        "key": figure["legend"],
        "is_log": figure["log"] is not None,
        "alike": summary_figures.alike(report.cell_looks) if len(panels) == 1 else [],
    }


def _sentences(report: Report) -> list[str]:
    experiment = report.experiment
    what = words.count(len(report.groups), report.noun)
    repeats, most = experiment["repeats"], experiment.get("claim_repeats", experiment["repeats"])
    more = f", or {words.times(most)} where a claim is about it" if most > repeats else ""
    sentences = [f"{what}, each run {words.times(repeats)}{more}."]
    if report.runs:
        seconds = words.seconds({run.recording.scenario["duration_ns"] for run in report.runs})
        sentences.append(f"Each run lasts {seconds} and has {_flows(report)}.")
    return sentences


def _incomplete(report: Report) -> str:
    """How many runs there are where some are missing, and why the first of those that ended otherwise did."""
    done = sum(run.recording.complete for run in report.runs)
    if done >= report.planned:
        return ""
    told = f"{done} of {report.planned} planned runs are complete; the numbers below are over these."
    failed = [run.summary for run in report.runs if not run.recording.complete]
    if failed:
        told += f" The first of {len(failed)} that ended without numbers: " if len(failed) > 1 else " "
        told += f"{failed[0].id}: {failed[0].status}: {failed[0].error}"
    return told


def _flows(report: Report) -> str:
    """How many flows a run has, and how far apart they start where that is the same everywhere."""
    started = [sorted(flow["start_ns"] for flow in run.recording.scenario["flows"]) for run in report.runs]
    least, most = min(map(len, started)), max(map(len, started))
    flows = words.count(most, "flow") if least == most else f"{least} to {words.count(most, 'flow')}"
    gaps = {later - earlier for times in started for earlier, later in itertools.pairwise(times)}
    gap = gaps.pop() if len(gaps) == 1 else 0
    return f"{flows} that start {words.time(gap)} apart" if gap else flows


def _facts(report: Report) -> list[tuple[str, str]]:
    """Version and system, as label and text; several values if the runs differ."""

    def values(pick: Any) -> str:
        return ", ".join(sorted({str(pick(run.recording.manifest)) for run in report.runs}))

    facts = [
        ("bakeoff", values(lambda m: _version(m.versions))),
        ("Source", values(lambda m: _commit(m.git))),
        ("Libraries", values(lambda m: ", ".join(f"{k} {v}" for k, v in m.versions.items() if k not in _OURS))),
        ("System", values(lambda m: f"{m.host.get('system')} {m.host.get('kernel')} {m.host.get('machine')}")),
    ]
    if any("kernel" in run.recording.manifest.provenance for run in report.runs):
        facts.append(("Kernel of the guests", values(lambda m: f"Linux {m.provenance.get('kernel', 'unknown')}")))
    files = {name: digest for run in report.runs for name, digest in run.recording.scenario.get(FILES, {}).items()}
    if files:
        named = (f"{name} (SHA-256 {digest[:12]}…)" for name, digest in sorted(files.items()))
        facts.append(("Files", ", ".join(named)))
    late = [run.recording.manifest.measurements.get("lateness") for run in report.runs]
    if worst := max((found["p99_ns"] for found in late if found), default=None):
        facts.append(("Real time", f"in the worst run, one packet in a hundred was later than {worst / 1e6:.3f} ms"))
    timings = [run.recording.timing for run in report.runs if run.recording.timing]
    if timings:
        facts.append(("Executed", f"{min(t.started for t in timings)[:19].replace('T', ' ')} UTC"))
        facts.append(
            ("Processor time", f"{sum(t.cpu_s for t in timings):.1f} s for {words.count(len(timings), 'run')}")
        )
    return facts


def _version(versions: dict[str, str]) -> str:
    # Recordings of earlier versions have no build.
    build = f" (build {versions['build']})" if "build" in versions else ""
    return f"{versions.get('bakeoff', 'unknown')}{build}"


def _commit(git: dict[str, Any] | None) -> str:
    if git is None:
        return "installed package"
    return f"{git['commit'][:12]}{' with changes' if git['changed'] else ''}"
