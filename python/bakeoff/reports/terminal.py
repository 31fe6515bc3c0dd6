"""The report as tables in the terminal: ours, the published number and the ratio in each cell.

Colour is rich's business: it obeys NO_COLOR and leaves plain text in pipes. Narrow terminals get one table a metric,
very narrow ones one line a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from bakeoff.metrics.statistics import mean_of_known
from bakeoff.reports import completions, model, shares, starts, summary_columns, words
from bakeoff.reports.console import GAP, fits, make_table, print_table
from bakeoff.reports.corrected import CORRECTED, existing
from bakeoff.reports.rows import Absent, Group
from bakeoff.reports.summary_columns import METRICS, Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from bakeoff.claims import ClaimResult
    from bakeoff.reports.completions import Transfers
    from bakeoff.reports.model import Report
    from bakeoff.reports.shares import Shares

VERDICT_STYLES = {"holds": "green", "fails": "red", "undecided": "yellow"}


def show(report: Report, console: Console) -> None:
    """Prints the tables of a report."""
    experiment = report.experiment
    complete = sum(run.recording.complete for run in report.runs)
    console.print(Text(experiment["title"], style="bold"))
    console.print(f"{words.count(complete, 'run')} of {report.planned} complete, world {experiment['world']}")
    if report.reference is not None:
        console.print(f"Below each number: published ({report.reference.title}) and ratio of ours to it.")
    console.print()
    _tables(report, console)
    _left_out(report, console)
    _definitions(report, console)
    _starts(report, console)
    _shares(shares.of(report), report.noun, console)
    _completions(completions.of(report), report.noun, console)
    _corrected(report, console)
    _remedies(report, console)
    _probes(report, console)
    _queues(report, console)
    _claims(report.claims, console)
    _failures(report, console)


def _tables(report: Report, console: Console) -> None:
    """One table, a table a metric, or lines: the first that fits."""
    layouts = [
        [_summary_table(report, METRICS)],
        [_summary_table(report, (metric,)) for metric in METRICS],
    ]
    for tables in layouts:
        if all(fits(table, console) for table in tables):
            for number, table in enumerate(tables):
                if number:
                    console.print()
                console.print(table)
            return
    _lines(report, console)


def _rows(report: Report) -> list[Group | Absent]:
    """What has runs here, or waits for a file; published rows without are context that a terminal has no room for."""
    return [row for row in report.rows if isinstance(row, Group) or row.remedy]


def _left_out(report: Report, console: Console) -> None:
    """How many published rows the tables leave out, why, and where they are."""
    shown = _rows(report)
    reasons = [row.reason for row in report.rows if isinstance(row, Absent) and row not in shown]
    if reasons:
        why = ", ".join(f"{reasons.count(reason)} {reason}" for reason in sorted(set(reasons)))
        rows = words.count(len(reasons), "published row")
        verb = "is" if len(reasons) == 1 else "are"
        console.print(Text(f"{rows} {verb} not shown ({why}); the HTML report has all of them.", style="dim"))


def _summary_table(report: Report, metrics: Sequence[Metric]) -> Table:
    table = make_table()
    table.add_column(report.noun, no_wrap=True)
    table.add_column("runs", justify="right", no_wrap=True)
    for metric in metrics:
        for place, (heading, _) in enumerate(summary_columns.of(report)):
            title = f"{metric.title}\n{heading}" if place == 0 else f"\n{heading}"
            table.add_column(title, justify="right", no_wrap=True)
    for row in _rows(report):
        cells = [_cell(metric, row, flow) for metric in metrics for _, flow in summary_columns.of(report)]
        if isinstance(row, Group):
            table.add_row(Text(row.label), row.counted, *cells)
        else:
            table.add_row(Text(f"{row.name}\n  {row.reason}"), "", *cells, style="dim")
    return table


def _cell(metric: Metric, row: Group | Absent, flow: int | None) -> Text:
    theirs = summary_columns.published(row, flow)
    expected = metric.value(theirs) if theirs is not None else None
    text = Text()
    ours = None
    if isinstance(row, Group):
        ours = metric.value(row.pantheon(flow))
        text.append(metric.text(ours))
    if summary_columns.has_published(metric, theirs):
        # Also where there is none of ours above it.
        text.append("\n")
        text.append(metric.text(expected), style="dim")
        if isinstance(row, Group) and expected is not None:
            text.append(f" {words.ratio(ours, expected)}", style="cyan")
    return text


def _lines(report: Report, console: Console) -> None:
    """A heading a scheme and a line a number."""
    for row in _rows(report):
        if isinstance(row, Absent):
            console.print(Text(f"{row.name}: {row.reason}", style="dim"))
            continue
        console.print(Text(f"{row.label} ({row.counted} {'run' if len(row.runs) == 1 else 'runs'})", style="bold"))
        for metric in METRICS:
            console.print(f"  {metric.title}")
            for heading, flow in summary_columns.of(report):
                lines = _cell(metric, row, flow).plain.split("\n")
                name = heading.replace("\n", " ")
                console.print(f"    {name}: {', published '.join(lines)}")


def _definitions(report: Report, console: Console) -> None:
    """Whose numbers these are."""
    clause = report.definitions(of_flows=summary_columns.of(report)[0][1] is not None)
    console.print(Text(words.sentence(clause), style="dim"))
    console.print(Text("`bakeoff list metrics` has these and others.", style="dim"))


def _starts(report: Report, console: Console) -> None:
    """That chance decided which of several flows was first; of use only where flows have columns."""
    if report.groups and summary_columns.of(report)[0][1] is not None:
        for sentence in starts.sentences(report):
            console.print(Text(sentence, style="yellow"))


def _shares(found: Shares, noun: str, console: Console) -> None:
    """What each scheme gets where several meet: a row a scheme, or a line where the table would have to break cells."""
    if not found.cells:
        return
    console.print()
    console.print(Text("Who gets what", style="bold"))
    numbers = ("share (%)", "throughput\n(Mbit/s)", "95th-%ile\ndelay (ms)", "Jain's\nindex")
    table = make_table((noun, "scheme"), numbers)
    lines = []
    for cell in found.cells:
        lines.append(f"{cell.label}: Jain's index {' '.join(cell.jain)}")
        for place, part in enumerate(cell.parts):
            name, jain = ("", "") if place else (cell.label, " ".join(cell.jain))
            share, rate, delay = words.number(part.percent, 0), " ".join(part.throughput), " ".join(part.delay)
            table.add_row(Text(name), Text(part.name), share, rate, delay, jain)
            lines.append(f"  {part.name} {share} %, {rate} Mbit/s, {delay} ms")
    if fits(table, console):
        console.print(table)
    else:
        console.print(Text("\n".join(lines)))
    console.print(
        Text(f"Share: of what all receive {found.span}; throughput: while any of its flows sends.", style="dim")
    )


def _completions(found: Sequence[Transfers], noun: str, console: Console) -> None:
    """How long transfers took, a row for each size and scheme in a cell."""
    if not found:
        return
    table = make_table((noun, "transfers of"), ("completed", *completions.HEADINGS))
    for row in found:
        table.add_row(Text(row.label), Text(row.name), f"{row.completed} of {row.count}", *row.times)
    console.print()
    console.print(Text("Completion times", style="bold"))
    print_table(table, console)


def _corrected(report: Report, console: Console) -> None:
    """Other numbers of rows of which Pantheon would count no run: there would be none at all."""
    groups = [group for group in report.groups if group.summaries and not group.valid]
    if not groups:
        return
    found = existing(CORRECTED, groups)
    table = make_table()
    table.add_column("all flows, without Pantheon's rules", no_wrap=True)
    for column in found:
        table.add_column(column.title, justify="right")
    for group in groups:
        table.add_row(Text(group.label), *(column.interval(group)[0] for column in found))
    console.print()
    print_table(table, console)


def _remedies(report: Report, console: Console) -> None:
    """How to get the rows that wait for a file."""
    waiting = [row for row in report.rows if isinstance(row, Absent) and row.remedy]
    if waiting:
        console.print()
    for row in waiting:
        console.print(Text(f"{row.name} {row.reason}: {row.remedy}"))


def _probes(report: Report, console: Console) -> None:
    """A line a probe: means over runs."""
    rows = [(group, number) for group in report.groups for number in _probe_numbers(group)]
    if rows:
        console.print()
    for group, number in rows:
        found = [probe for run in group.summaries for probe in run.probes if probe.probe == number]
        times = [
            f"{words.number(mean_of_known([getattr(probe, name) for probe in found]))} {word}"
            for name, word in (("rtt_p50_ms", "median"), ("rtt_p95_ms", "95th-%ile"), ("rtt_p99_ms", "99th-%ile"))
        ]
        sent, lost = sum(probe.sent_packets for probe in found), sum(probe.lost_packets for probe in found)
        what = f"{group.label}, probe {number}: round trip (ms)"
        console.print(Text(f"{what} {', '.join(times)}; {lost} of {sent} lost"))


def _probe_numbers(group: Group) -> list[int]:
    return sorted({probe.probe for run in group.summaries for probe in run.probes})


def _queues(report: Report, console: Console) -> None:
    """A line that says where queues built up, and one a run for each thing that was not meant."""
    if counted := model.queues(report):
        console.print()
        places = [f"{place} in {words.count(runs, 'run')}" for place, runs in counted.items()]
        console.print(Text(f"The queue built up at: {', '.join(places)}", style="dim"))
    for run in report.runs:
        for warning in model.warnings(run.summary):
            console.print(Text(f"{run.summary.id}: {warning}", style="yellow"))


def show_claims(reports: Sequence[Report], console: Console) -> None:
    """Prints the claims of several reports as one table."""
    _claims([claim for report in reports for claim in report.claims], console)
    for report in reports:
        _failures(report, console)


def _claims(claims: Sequence[ClaimResult], console: Console) -> None:
    """A table, or a few lines a claim where the table would have to break its cells."""
    if not claims:
        return
    console.print()
    table = make_table(("claim", "verdict", "measured", "expected"))
    for claim in claims:
        table.add_row(Text(f"{claim.id}: {claim.says}"), _verdict(claim), measured(claim), words.expected(claim))
    if fits(table, console):
        console.print(table)
        return
    lines = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=False)
    lines.add_column(no_wrap=True)
    lines.add_column()
    for claim in claims:
        lines.add_row(Text(claim.verdict, style=VERDICT_STYLES[claim.verdict]), Text(f"{claim.id}: {claim.says}"))
        found = Text(f"measured {measured(claim)}, expected {words.expected(claim)}", style="dim")
        lines.add_row("", found.append(f" ({claim.reason})" if claim.reason else ""))
    console.print(lines)


def _verdict(claim: ClaimResult) -> Text:
    verdict = Text(claim.verdict, style=VERDICT_STYLES[claim.verdict])
    return verdict.append(f" ({claim.reason})", style="dim") if claim.reason else verdict


def measured(claim: ClaimResult) -> str:
    """What a claim measured, with its interval: "5.30 ms (4.90 to 5.70)"."""
    interval = words.interval(claim)
    return f"{words.measured(claim)} ({interval})" if interval else words.measured(claim)


def _failures(report: Report, console: Console) -> None:
    """A line a run that failed, and a line a reason for which runs are not counted."""
    for run in report.runs:
        summary = run.summary
        if summary.status != "complete":
            console.print(Text(f"{summary.id}: {summary.status}: {summary.error}", style="red"))
    for sentence in model.discarded(report):
        console.print(Text(sentence, style="yellow"))
