"""Writes the table of docs/conformance.md from what `bakeoff conformance SCHEME --json` printed.

.venv/bin/python scripts/conformance.py bbr3.json
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import printed
from bakeoff import claims
from bakeoff.claims import ClaimResult
from bakeoff.claims.unit import unit_of
from bakeoff.reports import terminal, words

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = printed.ROOT / "docs" / "conformance.md"


def main() -> None:
    """Reads the file and rewrites the page."""
    parser = printed.parser(__doc__)
    parser.add_argument("file", metavar="FILE", type=printed.by("bakeoff conformance SCHEME --json", "cases"))
    found = parser.parse_args().file
    printed.put(PAGE, "\n".join(table(found["cases"])), by="conformance")


def table(cases: list[dict[str, Any]]) -> Iterator[str]:
    """The cases as a Markdown table, each under its source and path."""
    yield "| verdict | case | measured | expected |"
    yield "|---|---|---|---|"
    for case in cases:
        yield f"| **{case['verdict']}** | **{case['source']}**: {case['path']} | | |"
        for check in case["checks"]:
            yield f"| {check['verdict']} | {check['says']} | {' | '.join(numbers(check))} |"


def numbers(check: dict[str, Any]) -> tuple[str, str]:
    """What was measured, with the interval where seeds differ, and what was expected; both in their unit."""
    differ = check["low"] != check["high"]
    result = ClaimResult(
        source=None,
        mean=check["measured"],
        unit=unit_of(claims.check(check["measure"], check["expect"])),
        low=check["low"] if differ else None,
        high=check["high"] if differ else None,
        **{name: check[name] for name in ("id", "says", "measure", "expect", "verdict", "runs", "reason")},
    )
    return terminal.measured(result), words.expected(result)


if __name__ == "__main__":
    main()
