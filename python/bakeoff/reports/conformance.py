"""Conformance of a scheme: its cases, and for each what was expected, what was measured, and the verdict."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from bakeoff.reports import path, terminal, words
from bakeoff.reports.console import make_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from bakeoff.claims import ClaimResult
    from bakeoff.reports.model import Report

# Sources, paths and reasons are sentences: as one line in a pipe they would move the numbers out of sight.
_CASE_COLUMNS = 76


@dataclass(frozen=True)
class Case:
    """Claims of one source about one path.

    Attributes:
        source: who expects it.
        path: the path and the traffic in words.
        results: the claims and their verdicts.
    """

    source: str
    path: str
    results: tuple[ClaimResult, ...]

    @property
    def verdict(self) -> str:
        """That of the worst claim."""
        verdicts = {result.verdict for result in self.results}
        return next(verdict for verdict in ("fails", "undecided", "holds") if verdict in verdicts)


def cases(report: Report) -> list[Case]:
    """The claims of a report in their order, one case for those in a row that have the same source and path."""
    paths = {tuple(run.summary.cell.items()): path_of(run.recording.scenario) for run in report.runs}

    def key(claim: ClaimResult) -> tuple[str, str]:
        found = [way for cell, way in paths.items() if claim.where.items() <= dict(cell).items()]
        return claim.source or report.experiment["name"], "; ".join(dict.fromkeys(found))

    return [Case(*found, tuple(group)) for found, group in itertools.groupby(report.claims, key)]


def to_json(scheme: str, report: Report, found: Sequence[Case]) -> dict[str, Any]:
    """The object that `bakeoff conformance --json` prints."""
    return {
        "bakeoff": report.to_json()["bakeoff"],
        "scheme": scheme,
        "suite": report.experiment["name"],
        "cases": [
            {
                "source": case.source,
                "path": case.path,
                "verdict": case.verdict,
                "checks": [
                    {
                        "id": result.id,
                        "says": result.says,
                        "measure": result.measure,
                        "expect": result.expect,
                        "measured": result.mean,
                        "low": result.low,
                        "high": result.high,
                        "runs": result.runs,
                        "verdict": result.verdict,
                        "reason": result.reason,
                    }
                    for result in case.results
                ],
            }
            for case in found
        ],
    }


def show(found: Sequence[Case], console: Console) -> None:
    """Prints the cases as a table."""
    table = make_table()
    table.add_column("verdict", no_wrap=True)
    table.add_column("case", overflow="fold", max_width=_CASE_COLUMNS)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("expected", no_wrap=True)
    for case in found:
        heading = Text(case.source, style="bold").append(f" ({case.path})", style="not bold dim")
        table.add_row(Text(case.verdict, style=f"bold {terminal.VERDICT_STYLES[case.verdict]}"), heading)
        for result in case.results:
            says = Text(result.says)
            if result.reason:
                says.append(f" ({result.reason})", style="dim")
            table.add_row(
                Text(result.verdict, style=terminal.VERDICT_STYLES[result.verdict]),
                Padding(says, (0, 0, 0, 2)),
                terminal.measured(result),
                words.expected(result),
            )
    console.print(table)


def path_of(scenario: Mapping[str, Any]) -> str:
    """The path of a scenario, and traffic that is not bulk, in a few words."""
    forward, reverse = scenario["forward"], scenario["reverse"]
    parts = [_hop(hop) for hop in forward]
    parts.append(f"{words.time(sum(hop['delay_ns'] for hop in [*forward, *reverse]))} of round trip")
    parts += [f"back {_hop(hop)}" for hop in reverse if hop["link"]["kind"] != "unlimited" or path.mishaps(hop)]
    parts += dict.fromkeys(_traffic(flow["traffic"]) for flow in scenario["flows"] if flow["traffic"]["kind"] != "bulk")
    return ", ".join(parts)


def _hop(hop: Mapping[str, Any]) -> str:
    limit = hop["queue"].get("limit_packets")
    waiting = [] if limit is None else [words.count(limit, "packet")]
    return ", ".join([_link(hop["link"]), *waiting, *path.mishaps(hop)])


def _link(link: Mapping[str, Any]) -> str:
    match link["kind"]:
        case "schedule":
            first, *later = link["steps"]
            steps = [f"from {words.time(step['at_ns'])} {words.rate(step['rate_bps'])}" for step in later]
            return ", ".join([words.rate(first["rate_bps"]), *steps])
        case "trace":
            times = link["opportunities_ms"]
            return f"{words.count(len(times), 'packet')} every {words.time(1e6 * times[-1])}"
        case _:
            return path.link(link)


def _traffic(traffic: Mapping[str, Any]) -> str:
    if traffic["kind"] == "on-off":
        return f"{words.time(traffic['on_ns'])} of data and {words.time(traffic['off_ns'])} of silence in turn"
    return f"{words.size(traffic['size_bytes'])} of data"
