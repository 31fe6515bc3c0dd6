"""The page about a family of suites: every claim with its verdict, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from bakeoff import suites
from bakeoff.reports import html, words
from bakeoff.reports.html import doc
from bakeoff.reports.html.page import asset

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from bakeoff.reports.model import Report

PAGE = "claims.html"
VERDICTS = ("holds", "fails", "undecided")


def render(family: str, reports: Sequence[Report], generated: datetime) -> str:
    """The page as text.

    Args:
        family: its name.
        reports: of its suites; each report lies in the folder of the suite's name below the page.
        generated: the time it carries.
    """
    context = {
        "family": family,
        "title": suites.family_title(family),
        "generated": generated,
        "doc": doc.render(suites.family_doc(family)),
        "members": [_member(report) for report in reports],
        "verdicts": VERDICTS,
        "whole": whole(Counter(claim.verdict for report in reports for claim in report.claims)),
        "words": words,
        "style": asset("report.css"),
    }
    return html.fill("family.html.j2", context)


def whole(verdicts: Counter[str]) -> str:
    """How many claims hold, fail and are undecided, as a sentence without its full stop."""
    holds, fails, undecided = (verdicts[verdict] for verdict in VERDICTS)
    hold = f"{words.count(holds, 'claim')} {'holds' if holds == 1 else 'hold'}"
    fail = f"{fails} {'fails' if fails == 1 else 'fail'}"
    return f"{hold}, {fail}, {undecided} {'is' if undecided == 1 else 'are'} undecided"


def _member(report: Report) -> dict[str, Any]:
    place = report.experiment["source"].rpartition("/")[2]
    complete = sum(run.summary.status == "complete" for run in report.runs)
    return {
        "place": place,
        "title": report.experiment["title"],
        "description": report.experiment["description"],
        "complete": complete,
        "planned": report.planned,
        "claims": report.claims,
        "counts": Counter(claim.verdict for claim in report.claims),
    }
