"""`bakeoff kernel`: builds, lists and removes the kernels of the linux world."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from bakeoff import machine
from bakeoff.cli import arguments
from bakeoff.cli.output import amount_of_bytes, print_json, print_table, say


@click.group("kernel")
def command() -> None:
    """Build, list and remove kernels for the linux world."""


@command.command("build")
@click.option("--source", type=click.Path(path_type=Path), help="Folder or tarball with a Linux source.")
@click.option("--jobs", type=click.IntRange(min=1), help="Compilers at a time; all processors by default.")
def build(source: Path | None, jobs: int | None) -> None:
    """Build a kernel from the distribution's source, or from a source of your own.

    It takes about eight minutes of one processor, 600 MB of disk meanwhile and 7 MB for good.
    """
    from bakeoff.kernel.build import build as build_kernel  # noqa: PLC0415 - only this command needs it

    built = build_kernel(source, jobs or machine.processors(), say)
    say(f"built and booted: {built.banner}")
    click.echo(built.name)


@command.command("list")
@arguments.json_option
def list_kernels(*, as_json: bool) -> None:
    """List the kernels that are built."""
    from bakeoff.kernel import cache  # noqa: PLC0415 - only this command needs it

    found = cache.entries()
    whole = {built.name for built in found}
    for name in cache.names():
        if name not in whole:
            say(f"{name}: damaged, or of another bakeoff; remove it with: bakeoff kernel remove {name}")
    if as_json:
        print_json([{**asdict(built), "path": str(cache.kernel_of(built))} for built in found])
    elif found:
        rows = [[b.name, b.version, b.source, amount_of_bytes(b.size_bytes), b.sha256[:12]] for b in found]
        print_table(["kernel", "Linux", "source", "size", "sha256"], rows)
    else:
        say("no kernel is built yet; bakeoff kernel build makes one")


@command.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Remove a kernel by the name that `list` shows."""
    from bakeoff.kernel import cache  # noqa: PLC0415 - only this command needs it

    cache.remove(name)
