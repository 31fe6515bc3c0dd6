"""Writes the claims of a family of suites as a page in Markdown: what was measured, on how many seeds, and the verdict.

bakeoff run sce-l4s --set claim_repeats=5 --json > claims.json
.venv/bin/python scripts/claims.py claims.json > docs/sce-l4s-claims.md
"""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any

import printed
from bakeoff import suites
from bakeoff.claims import ClaimResult
from bakeoff.reports import terminal, words
from bakeoff.reports.family import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Prints the page."""
    parser = printed.parser(__doc__)
    reads = printed.by("bakeoff run FAMILY --json", "family")
    parser.add_argument("file", metavar="FILE", type=reads, help="what `bakeoff run FAMILY --json` printed")
    print("\n".join(page(parser.parse_args().file)))


def page(family: dict[str, Any]) -> Iterator[str]:
    """The lines of the page.

    Args:
        family: the object that `bakeoff run FAMILY --json` prints.
    """
    name = family["family"]
    experiments = [experiment for experiment in family["experiments"] if experiment["claims"]]
    yield f"# Claims: {suites.family_title(name)}"
    yield ""
    yield f"Written by `scripts/claims.py` from what `bakeoff run {name} --set claim_repeats=5 --json` prints."
    yield "Measured: the mean over the seeds and its 95 % interval. A claim holds if the whole interval is as expected,"
    yield "fails if none of it is, and is undecided otherwise. Other numbers in a remark were read off the runs."
    yield ""
    yield from _summary(experiments)
    for experiment in experiments:
        yield ""
        yield f"## {_title(experiment['experiment'])}"
        yield ""
        yield "| claim | measured | expected | runs | verdict | remark |"
        yield "|---|---|---|---|---|---|"
        yield from map(_row, experiment["claims"])


def _summary(experiments: list[dict[str, Any]]) -> Iterator[str]:
    yield "| suite | claims | hold | fail | undecided |"
    yield "|---|---|---|---|---|"
    whole: Counter[str] = Counter()
    for experiment in experiments:
        counts = Counter(claim["verdict"] for claim in experiment["claims"])
        whole += counts
        yield _counted(_title(experiment["experiment"]), counts)
    yield _counted("**all**", whole)


def _counted(title: str, counts: Counter[str]) -> str:
    return f"| {title} | {counts.total()} | {' | '.join(str(counts[verdict]) for verdict in VERDICTS)} |"


def _row(claim: dict[str, Any]) -> str:
    cells = ", ".join(f"{axis} {value}" for axis, value in claim["where"].items())
    beside = ", ".join(claim["against"].values())
    about = f"{cells}, over that of {beside}" if beside else cells or "all cells"
    result = ClaimResult(**claim)
    first = f"**{claim['id']}** {claim['says']}<br>`{claim['measure']}` in {about}"
    verdict = claim["verdict"] if claim["verdict"] == "holds" else f"**{claim['verdict']}**"
    row = [first, terminal.measured(result), words.expected(result), str(claim["runs"]), verdict, claim["note"] or ""]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _title(name: str) -> str:
    title: str = tomllib.loads(suites.file(name).read_text())["title"]
    return title


if __name__ == "__main__":
    main()
