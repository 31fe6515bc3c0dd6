"""`bakeoff export`: recordings as files that other tools read."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bakeoff.cli.output import amount, say
from bakeoff.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bakeoff.recording import ResultFolder, RunRecording

FORMATS = ("congestion", "csv", "flent", "pcapng")


@click.command("export", short_help="Write the runs of a result folder for other tools.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), required=True, help="Which tool the files are for; see above."
)
@click.option("--run", "runs", multiple=True, metavar="NAME", help="Only this run; repeatable.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Folder of the files; DIR/FORMAT."
)
def command(folder: Path, format_: str, runs: tuple[str, ...], out: Path | None) -> None:
    """Write the runs of a result folder for other tools, and print the names of the files.

    \b
    csv         flows.csv, hops.csv, probes.csv: the numbers of all runs, as in
                `bakeoff report --json`, for pandas, R and spreadsheets
    flent       RUN.flent.gz, which Flent draws; needs record.level series
    pcapng      RUN.HOP.pcapng, which Wireshark opens: every packet at a hop, with
                what its queue did to it; needs record.level packets
    congestion  RUN.json: marks, echoes, round trips, retransmissions and gaps of
                every flow, in the manner of scetrace; needs record.level packets
    """  # noqa: D301 - click's mark for text that keeps its lines
    from bakeoff.recording import ResultFolder  # noqa: PLC0415 - loaded when the command runs

    results = ResultFolder.open(folder)
    chosen = _chosen(results, runs)
    target = out or folder / format_
    files: list[Path] = []
    for file in _written(format_, chosen, results.experiment["name"], target):
        click.echo(file)
        files.append(file)
    say(f"{amount(len(files), 'file')} of {amount(len(chosen), 'run')} in {target}")
    if not runs and (left := len(list(results.recordings())) - len(chosen)):
        say(f"{amount(left, 'run')} left out, which did not end well: `bakeoff report {folder}` says why")


def _written(format_: str, chosen: Sequence[RunRecording], experiment: str, target: Path) -> Iterator[Path]:
    """Writes the files: one or more for each run, or tables of all runs."""
    if format_ == "csv":
        from bakeoff.formats import csv_tables  # noqa: PLC0415 - loaded when the command runs

        yield from csv_tables.write(chosen, target)
        return
    module = importlib.import_module(f"bakeoff.formats.{format_}")
    for recording in chosen:
        yield from module.write(recording, experiment, target)


def _chosen(results: ResultFolder, names: Sequence[str]) -> list[RunRecording]:
    """The complete runs of these names; all of them without names."""
    recordings = {recording.id: recording for recording in results.recordings()}
    for name in names:
        if name not in recordings:
            raise UserError(f"--run {name}: {results.path} has no such run; it has {', '.join(recordings) or 'none'}")
        if not recordings[name].complete:
            manifest = recordings[name].manifest
            raise UserError(f"--run {name}: {manifest.status} ({manifest.error}), so there is nothing to export")
    chosen = [recordings[name] for name in names] or [one for one in recordings.values() if one.complete]
    if not chosen:
        raise UserError(f"{results.path}: no run is complete; `bakeoff run` with --resume runs what is missing")
    return chosen
