"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from click.shell_completion import CompletionItem

    from bakeoff.experiment.overrides import Shorthand

_F = TypeVar("_F", bound="Callable[..., Any]")


def completing(names: Callable[[], Iterable[str]]) -> Callable[..., list[CompletionItem]]:
    """What completes an argument in the shell: those of some names that begin as it does.

    Args:
        names: called only while something is completed.
    """

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only while completing

        return [CompletionItem(name) for name in names() if name.startswith(incomplete)]

    return complete


def _complete_experiment(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Names of suites, and files, for the shell."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - only while completing

    from bakeoff import suites  # noqa: PLC0415 - only while completing

    names = [*suites.families(), *suites.names()]
    found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def experiment_argument(function: _F) -> _F:
    """The experiment: a suite or a file."""
    return click.argument("experiment", metavar="SUITE|FILE", shell_complete=_complete_experiment)(function)


def change_options(function: _F) -> _F:
    """What changes the file: `--set`, `--scheme`, `--repeats`."""
    for option in (
        click.option(
            "--repeats", type=click.IntRange(1), metavar="N", help="Runs of each cell, each with a seed of its own."
        ),
        click.option(
            "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Override a key: rate=2Mbit/s; repeatable."
        ),
        click.option(
            "--scheme",
            "schemes",
            multiple=True,
            metavar="NAMES",
            help="Run these schemes only, separated by commas; FILE.py:CLASS is one of your own.",
        ),
    ):
        function = option(function)
    return function


def all_changes(changes: tuple[str, ...], schemes: tuple[str, ...], repeats: int | None) -> list[str | Shorthand]:
    """The options of `change_options` as changes of the file.

    Raises:
        UserError: the name of a scheme is empty, or names are not separated by commas.
    """
    from bakeoff.errors import UserError  # noqa: PLC0415 - not for help
    from bakeoff.experiment.overrides import Shorthand  # noqa: PLC0415
    from bakeoff.experiment.units import shown  # noqa: PLC0415 - not for help

    settings: list[str | Shorthand] = list(changes)
    for option in schemes:
        if not all(name.strip() for name in option.split(",")):
            raise UserError(f"--scheme {shown(option)}: a name is missing; write them as in --scheme cubic,bbr")
        # Paths may have spaces.
        if " " in option.strip() and not any(sign in option for sign in ",:/"):
            right = ",".join(option.split())
            raise UserError(f"--scheme {shown(option)}: separate names by commas, as in --scheme {right}")
    if schemes:
        names = ",".join(schemes)
        settings.append(Shorthand(f"matrix.scheme={names}", f"--scheme {names}"))
    if repeats is not None:
        settings.append(Shorthand(f"repeats={repeats}", f"--repeats {repeats}"))
    return settings


def execution_options(function: _F) -> _F:
    """How runs are executed and where they go: `--jobs`, `--out`, `--resume`, `--quiet`."""
    for option in (
        click.option("--quiet", "-q", is_flag=True, help="No progress on stderr."),
        click.option(
            "--resume",
            is_flag=True,
            help="Run what an earlier command lacks, further repeats too, or another build made.",
        ),
        click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the results."),
        click.option(
            "--jobs", type=click.IntRange(1, 1024), metavar="N", help="Runs at a time; all processors by default."
        ),
    ):
        function = option(function)
    return function


def json_option(function: _F) -> _F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")(function)
