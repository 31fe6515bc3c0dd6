"""`bakeoff show`: what a suite, path, scheme, queue or metric is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bakeoff.cli import arguments
from bakeoff.cli.output import print_json, print_paragraphs, print_table
from bakeoff.errors import UserError

if TYPE_CHECKING:
    from bakeoff.experiment.catalogue import Entry, Parameter

SCHEMA = "schema"


def _names() -> list[str]:
    from bakeoff import suites  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.experiment.catalogue import of_core  # noqa: PLC0415
    from bakeoff.metrics import DEFINITIONS  # noqa: PLC0415

    core = of_core()
    metrics = [name for entry in DEFINITIONS for name in entry.name.split(", ")]
    return [*suites.names(), *suites.path_names(), *core.schemes, *core.queues, *metrics, SCHEMA]


@click.command("show", short_help="Show a suite, path, scheme, queue or metric.")
@click.argument("name", shell_complete=arguments.completing(_names))
def command(name: str) -> None:
    """Show a suite, path, scheme, queue or metric; "schema" is the JSON Schema of experiment files.

    Suites and paths come as the TOML files they are, with their text in comments: a start for one of your own.
    """
    from bakeoff import suites  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.experiment.catalogue import KERNEL, OWN, of_core  # noqa: PLC0415
    from bakeoff.experiment.likely import likely  # noqa: PLC0415
    from bakeoff.metrics import DEFINITIONS  # noqa: PLC0415

    if name in suites.names():
        _show_suite(name)
    elif members := suites.families().get(name):
        raise UserError(f'"{name}" is a family of suites; name one of them: {", ".join(members)}')
    elif name in suites.path_names():
        click.echo(suites.path_file(name).read_text(encoding="utf-8"), nl=False)
    elif (scheme := name.removeprefix(OWN)) in of_core().schemes:
        _show_entry(of_core().schemes[scheme])
    elif (scheme := name.removeprefix(KERNEL)) in of_core().schemes:
        raise UserError(f'"{name}" is code of the kernel; `bakeoff show {scheme}` describes bakeoff\'s')
    elif name in of_core().queues:
        _show_entry(of_core().queues[name])
    elif name == SCHEMA:
        from bakeoff.experiment.schema import json_schema  # noqa: PLC0415

        print_json(json_schema())
    else:
        found = [entry for entry in DEFINITIONS if name in (entry.name, *entry.name.split(", "))]
        if not found:
            core = of_core()
            hint = likely(name, _names(), [*core.schemes.values(), *core.queues.values()])
            hint = hint or "write one of `bakeoff list suites|schemes|queues|paths|metrics`"
            raise UserError(f'"{name}" is no suite, path, scheme, queue or metric; {hint}')
        for entry in found:
            click.echo(f"{entry.name}, of {', '.join(entry.scope)}{f', in {entry.unit}' if entry.unit else ''}")
            print_paragraphs(f"{entry.meaning}{f' Source: {entry.source}.' if entry.source else ''}")


def _show_suite(name: str) -> None:
    from bakeoff import suites  # noqa: PLC0415 - loaded when the command runs

    for line in suites.doc(name).rstrip().splitlines():
        click.echo(f"# {line}".rstrip())
    click.echo()
    click.echo(suites.file(name).read_text(encoding="utf-8"), nl=False)


def _show_entry(entry: Entry) -> None:
    click.echo(f"{entry.name}: {entry.title}")
    print_paragraphs(f"Source: {entry.source}")
    if entry.validation:
        print_paragraphs(f"Held against: {entry.validation}")
        click.echo(f"Worlds: {', '.join(entry.worlds)}")
    if entry.deviations:
        several = "\n" in entry.deviations
        print_paragraphs(f"\nDeviations:\n{entry.deviations}" if several else f"Deviations: {entry.deviations}")
    if entry.parameters:
        click.echo()
        print_table(
            ["parameter", "default", "unit", "values", "meaning"],
            [
                [parameter.name, _default(parameter), parameter.unit, parameter.values, parameter.doc]
                for parameter in entry.parameters
            ],
        )
    if entry.profiles:
        click.echo()
        print_table(["profile", "source"], [list(pair) for pair in entry.profiles.items()])
    if entry.telemetry:
        click.echo()
        print_table(
            ["telemetry", "unit", "meaning"],
            [[quantity["name"], quantity["unit"], quantity["doc"]] for quantity in entry.telemetry],
        )


def _default(parameter: Parameter) -> str:
    return "none: has to be given" if parameter.kind == "file" else _text(parameter.default)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float) else str(value)
