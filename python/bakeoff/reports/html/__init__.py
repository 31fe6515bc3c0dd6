"""The report as one HTML file that needs nothing else: scripts, styles and data are inside.

Read first: `render`, `page.context` (what is on the page) and `assets/page.html.j2` (how it is laid out).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jinja2

from bakeoff.reports import words
from bakeoff.reports.html import page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from bakeoff.reports.model import Report


def render(report: Report, generated: datetime, beside: Sequence[Report] = ()) -> str:
    """The page as text.

    Args:
        report: what it shows.
        generated: the time it carries.
        beside: the same experiment in other worlds, whose totals are shown too.
    """
    return fill("page.html.j2", page.context(report, generated, beside))


def fill(template: str, context: Mapping[str, Any]) -> str:
    """A template of the assets, filled in."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bakeoff.reports.html", "assets"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["with_minus"] = words.with_minus
    environment.filters["unbroken"] = words.unbroken
    return environment.get_template(template).render(context)
