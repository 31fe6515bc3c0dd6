"""`bakeoff run`: from an experiment file to recordings and their report."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from bakeoff.cli import arguments, preview
from bakeoff.cli.execution import check_jobs, execute, place, planned, status
from bakeoff.cli.output import print_json, say, say_writing
from bakeoff.errors import Interrupted, UserError
from bakeoff.worlds import registry

if TYPE_CHECKING:
    from pathlib import Path

    from bakeoff.experiment import Plan
    from bakeoff.recording import ResultFolder
    from bakeoff.reports.model import Report


@dataclass(frozen=True)
class _Options:
    """How to run: the command line without the experiment and what changes it."""

    words: list[str]
    jobs: int | None
    out: Path | None
    resume: bool
    check: bool
    quiet: bool
    as_json: bool


@click.command("run")
@arguments.experiment_argument
@arguments.change_options
@click.option("--world", type=click.Choice(registry.available()), help="What executes the runs; sim by default.")
@arguments.execution_options
@click.option("--check", is_flag=True, help="Exit with 1 if a claim of the experiment fails.")
@click.option("--dry-run", is_flag=True, help="Show the runs and what they will cost, and run nothing.")
@arguments.json_option
@click.pass_obj
def command(  # noqa: PLR0913 - one argument per option
    words: list[str],
    *,
    experiment: str,
    changes: tuple[str, ...],
    schemes: tuple[str, ...],
    repeats: int | None,
    world: str | None,
    jobs: int | None,
    out: Path | None,
    resume: bool,
    check: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run an experiment and write its report.

    The experiment is a suite (bakeoff list suites), a family of suites such as sce-l4s, or a TOML file. Results go to
    results/NAME/TIME, and results/NAME/latest points there.
    """
    from bakeoff import suites  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.experiment import load  # noqa: PLC0415

    settings = arguments.all_changes(changes, schemes, repeats)
    if world and (also := next((change for change in changes if change.partition("=")[0].strip() == "world"), None)):
        raise UserError(f"--world {world}: --set {also} names a world already; keep one of them")
    members = suites.families().get(experiment)
    plans = [planned(load(name, settings), world, quiet=quiet) for name in members or [experiment]]
    for plan in plans:
        check_jobs(plan.world, jobs)
        registry.world(plan.world).check_plan(plan)
    for note in [] if quiet else [note for plan in plans for note in plan.notes]:
        say(note)
    if dry_run:
        preview.show(plans, as_json=as_json)
        return 0
    for name in dict.fromkeys(plan.world for plan in plans):
        registry.world(name).prepare()
    options = _Options(words, jobs, out, resume, check, quiet, as_json)
    return _family(experiment, plans, options) if members else _single(plans[0], options)


def _single(plan: Plan, options: _Options) -> int:
    from bakeoff.reports import terminal  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.reports.console import make_console  # noqa: PLC0415

    root = place(plan.experiment.name, options.out, resume=options.resume)
    report = _run(plan, root, options)
    if options.as_json:
        print_json(report.to_json())
    else:
        terminal.show(report, make_console())
    return status([report], check=options.check)


def _family(name: str, plans: list[Plan], options: _Options) -> int:
    """Runs all suites of a family, each into a folder of its own, and writes a page about all their claims."""
    from bakeoff.recording.atomic import write_file  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.reports import family, terminal  # noqa: PLC0415
    from bakeoff.reports.console import make_console  # noqa: PLC0415

    root = place(name, options.out, resume=options.resume)
    reports = []
    for plan in plans:
        say(f"{plan.experiment.source.name}: {plan.experiment.title}")
        reports.append(_run(plan, root / plan.experiment.source.name.rpartition("/")[2], options))
    page = family.render(name, reports, datetime.now(tz=UTC))
    write_file(root / family.PAGE, page.encode(), writing="the page of the family")
    if options.as_json:
        print_json({"family": name, "experiments": [report.to_json() for report in reports]})
    else:
        terminal.show_claims(reports, make_console())
    say(f"all claims: {root / family.PAGE}")
    return status(reports, check=options.check)


def _run(plan: Plan, root: Path, options: _Options) -> Report:
    """Runs what the folder lacks of a plan, and writes the report."""
    from bakeoff.recording import ResultFolder  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.reports import html, model  # noqa: PLC0415

    folder: ResultFolder = ResultFolder.create(root, plan, resume=options.resume)
    execute(plan, folder, options.jobs, options.words, quiet=options.quiet)
    if not options.quiet:
        say_writing(len(plan.runs))
    try:
        report = model.load(folder)
        page = folder.write_report(html.render(report, datetime.now(tz=UTC)))
    except KeyboardInterrupt:
        again = shlex.join(["bakeoff", "report", str(root)])
        raise Interrupted(f"interrupted: the runs are kept; `{again}` writes their report") from None
    say(f"report: {page}")
    return report
