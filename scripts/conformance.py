"""Writes the table of docs/conformance.md from what `bakeoff conformance SCHEME --json` printed.

python scripts/conformance.py bbr3.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.reports import words

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parents[1] / "docs" / "conformance.md"
BEGIN, END = "<!-- numbers: written by scripts/conformance.py -->", "<!-- end of numbers -->"


def main() -> None:
    """Reads the file and rewrites the page."""
    if len(sys.argv) != 2:
        sys.exit("give the file that `bakeoff conformance SCHEME --json` printed")
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text("\n".join([f"{before}{BEGIN}", "", *table(found["cases"]), "", f"{END}{after}"]), encoding="utf-8")


def table(cases: list[dict[str, Any]]) -> Iterator[str]:
    """The cases as a Markdown table, each under its source and path."""
    yield "| verdict | case | measured | expected |"
    yield "|---|---|---|---|"
    for case in cases:
        yield f"| **{case['verdict']}** | **{case['source']}**: {case['path']} | | |"
        for check in case["checks"]:
            yield f"| {check['verdict']} | {check['says']} | {measured(check)} | {check['expect']} |"


def measured(check: dict[str, Any]) -> str:
    """The mean, and the interval where seeds differ."""
    mean = words.significant(check["measured"])
    if check["low"] is None or check["low"] == check["high"]:
        return mean
    return f"{mean} ({words.significant(check['low'])} to {words.significant(check['high'])})"


if __name__ == "__main__":
    main()
