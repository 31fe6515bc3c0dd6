"""`bakeoff compare`: two result folders, or one and published numbers, side by side."""

from __future__ import annotations

import click

from bakeoff.cli import arguments
from bakeoff.cli.output import print_json


@click.command("compare", short_help="Lay two result folders side by side.")
@click.argument("left", metavar="DIR")
@click.argument("right", metavar="DIR|REFERENCE")
@arguments.json_option
def command(left: str, right: str, *, as_json: bool) -> None:
    """Lay two result folders, or one and a published reference, side by side."""
    from bakeoff.reports import compare, comparison_table  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.reports.console import make_console  # noqa: PLC0415

    comparison = compare.compare(left, right)
    if as_json:
        print_json(comparison.to_json())
    else:
        comparison_table.show(comparison, make_console())
