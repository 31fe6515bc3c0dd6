"""`bakeoff report`: the report of a result folder, written again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from bakeoff.cli import arguments
from bakeoff.cli.output import print_json, say


@click.command("report")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="The page; DIR/report.html by default.")
@arguments.json_option
def command(folder: Path, out: Path | None, *, as_json: bool) -> None:
    """Write the report of a result folder again, and print its table."""
    from bakeoff.recording import ResultFolder  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.reports import html, model, terminal  # noqa: PLC0415

    results = ResultFolder.open(folder)
    report = model.load(results)
    page = results.write_report(html.render(report, datetime.now(tz=UTC)), out)
    if as_json:
        print_json(report.to_json())
    else:
        terminal.show(report, terminal.make_console())
    say(f"report: {page}")
