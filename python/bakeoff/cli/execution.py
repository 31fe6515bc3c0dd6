"""Executing a plan in a result folder, with progress on stderr: what every command that runs something shares."""

from __future__ import annotations

import math
import os
import shlex
from typing import TYPE_CHECKING

from bakeoff import machine
from bakeoff.cli.output import amount, amount_of_bytes, amount_of_time, say
from bakeoff.errors import Interrupted, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bakeoff.experiment import Experiment, Plan, PlannedRun
    from bakeoff.experiment.estimate import Cost
    from bakeoff.recording import ResultFolder
    from bakeoff.reports.model import Report
    from bakeoff.worlds.runner import Finished
    from bakeoff.worlds.world import World

# What a cell of a few flows takes to be checked, and from how many on somebody would wonder.
_CPU_S_PER_CELL = 0.0006
_MANY_CELLS = 5000


def planned(experiment: Experiment, world: str | None = None, *, quiet: bool = False) -> Plan:
    """All runs of an experiment, as `experiment.expand`; if that takes long, a sentence on stderr says so before.

    Args:
        experiment: what to run.
        world: what executes the runs; by default what the experiment names.
        quiet: no sentence.

    Raises:
        UserError: a cell cannot be run.
    """
    from bakeoff.experiment import expand  # noqa: PLC0415 - loaded when a command runs
    from bakeoff.experiment.limits import MAX_RUNS  # noqa: PLC0415

    cells = math.prod(len(axis.choices) for axis in experiment.axes)
    if not quiet and _MANY_CELLS <= cells <= MAX_RUNS:
        say(f"checking {amount(cells, 'cell')}, about {amount_of_time(cells * _CPU_S_PER_CELL)} ...")
    return expand(experiment, world)


def place(name: str, out: Path | None, *, resume: bool, kind: str = "") -> Path:
    """The folder that results go to: what `--out` names, the latest one to resume, or a fresh one.

    Args:
        name: name of the experiment.
        out: what the user named.
        resume: take up the latest one.
        kind: ends the names of folders that hold something else than the runs of one world.

    Raises:
        UserError: there is nothing to resume, or the folder cannot be made.
    """
    from bakeoff.recording import latest_folder, latest_link, new_folder  # noqa: PLC0415 - loaded when a command runs

    if out is not None:
        return out
    if not resume:
        return new_folder(name, kind=kind)
    latest = latest_folder(name, kind=kind)
    if latest is None:
        link = latest_link(name, kind=kind)
        raise UserError(f"--resume: there is no {link}; name the folder with --out, or omit --resume")
    return latest


def execute(plan: Plan, folder: ResultFolder, jobs: int | None, words: Sequence[str], *, quiet: bool) -> None:
    """Executes the runs of a plan that a folder lacks, and says which failed.

    Args:
        plan: the runs, and their world.
        folder: where they go.
        jobs: runs at a time; None: as many as processors and memory allow.
        words: the command line, for the sentence after an interrupt.
        quiet: no progress on stderr.

    Raises:
        Interrupted: the user pressed Ctrl-C, or a signal asked to end; the sentence says how to go on.
        UserError: the world is not part of this version, another process is running in the folder, or it cannot be
            written.
    """
    from bakeoff.worlds import registry  # noqa: PLC0415 - loaded when a command runs

    world = registry.world(plan.world)
    with folder.taken():
        missing = _missing(plan, folder, world)
        failed = _execute(plan, missing, folder, jobs, words, quiet=quiet) if missing else []
    for finished in failed:
        say(f"run {finished.run.id} {finished.status}: {finished.error}")


def _execute(  # noqa: PLR0913 - as `execute`
    plan: Plan,
    missing: list[PlannedRun],
    folder: ResultFolder,
    jobs: int | None,
    words: Sequence[str],
    *,
    quiet: bool,
) -> list[Finished]:
    """Executes the missing runs, and returns those that failed."""
    from bakeoff.cli import signals  # noqa: PLC0415 - loaded when a command runs
    from bakeoff.cli.progress import display  # noqa: PLC0415
    from bakeoff.experiment import estimate  # noqa: PLC0415
    from bakeoff.worlds import registry, runner  # noqa: PLC0415

    world = registry.world(plan.world)
    whole = estimate.total(world.cost(run.scenario) for run in missing)
    jobs = jobs or world.most_jobs or _default_jobs(whole)
    if not quiet:
        _announce(plan, missing, whole, jobs)
    failed: list[Finished] = []

    def on_finished(finished: Finished) -> None:
        scenario = finished.run.scenario
        shown.advance(world.cost(scenario).cpu_s, scenario["duration_ns"] / 1e9)
        if finished.status != "complete":
            failed.append(finished)

    try:
        with signals.like_ctrl_c(), display(len(missing), whole.cpu_s, quiet=quiet) as shown:
            runner.run_plan(missing, folder, world.execute, jobs=jobs, on_finished=on_finished)
    except Interrupted as error:
        before = ["sudo"] if "SUDO_USER" in os.environ else []
        again = [*before, "bakeoff", *(word for word in words if word != "--resume"), "--resume"]
        raise Interrupted(f"{error}; `{shlex.join(again)}` runs the rest") from None
    finally:
        world.stop()
    return failed


def _missing(plan: Plan, folder: ResultFolder, world: World) -> list[PlannedRun]:
    """The runs that are not complete, or came from another build; of those it tells."""
    complete = [run for run in plan.runs if folder.is_complete(run.id)]
    provenance = world.provenance() if complete else {}
    others = {run.id: found for run in complete if (found := folder.differences(run.id, provenance))}
    if others:
        reasons = dict.fromkeys(reason for found in others.values() for reason in found)
        say(f"{amount(len(others), 'complete run')} came from another build, to be run again: {', '.join(reasons)}")
    kept = {run.id for run in complete} - others.keys()
    return [run for run in plan.runs if run.id not in kept]


def check_jobs(world: str, asked: int | None) -> None:
    """Checks, before anything is made, that so many runs may go at a time.

    Args:
        world: what executes them.
        asked: `--jobs`.

    Raises:
        UserError: they may not.
    """
    from bakeoff.worlds import registry  # noqa: PLC0415 - loaded when a command runs

    most = registry.world(world).most_jobs
    if asked is not None and most is not None and asked > most:
        raise UserError(
            f"--jobs {asked}: runs in {world} would disturb each other, so {most} goes at a time; omit --jobs"
        )


def status(reports: Sequence[Report], *, check: bool) -> int:
    """The exit status of a command that ran something, after a sentence about claims that fail.

    Args:
        reports: of what ran.
        check: whether a claim that fails counts.
    """
    failed = any(run.summary.status != "complete" for report in reports for run in report.runs)
    claims = [claim for report in reports for claim in report.claims]
    broken = [claim.id for claim in claims if claim.verdict == "fails"] if check else []
    if broken:
        say(f"{amount(len(broken), 'claim')} failed: {', '.join(broken)}")
    return 1 if failed or broken else 0


def _default_jobs(whole: Cost) -> int:
    """One job a processor, but no more than half the memory holds."""
    fitting = machine.memory_bytes() // 2 // max(whole.memory_bytes, 1)
    return max(1, min(machine.processors(), fitting))


def _announce(plan: Plan, missing: list[PlannedRun], whole: Cost, jobs: int) -> None:
    kept = len(plan.runs) - len(missing)
    rest = f" ({kept} complete already)" if kept else ""
    cores = min(jobs, len(missing), machine.processors())
    say(
        f"{amount(len(missing), 'run')}{rest} in {plan.world} on {amount(cores, 'core')}, "
        f"about {amount_of_time(whole.cpu_s / cores)} and {amount_of_bytes(whole.disk_bytes)}"
    )
