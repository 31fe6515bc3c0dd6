"""`bakeoff check`: whether an experiment file is sound, without running it."""

from __future__ import annotations

import click

from bakeoff.cli import arguments
from bakeoff.cli.execution import planned
from bakeoff.cli.output import amount, say


@click.command("check")
@arguments.experiment_argument
@arguments.change_options
def command(experiment: str, changes: tuple[str, ...], schemes: tuple[str, ...], repeats: int | None) -> None:
    """Check an experiment file without running it."""
    from bakeoff.experiment import load  # noqa: PLC0415 - loaded when the command runs
    from bakeoff.experiment.catalogue import KERNEL, PROGRAM  # noqa: PLC0415
    from bakeoff.worlds import registry  # noqa: PLC0415

    plan = planned(load(experiment, arguments.all_changes(changes, schemes, repeats)))
    senders = {flow["scheme"] for run in plan.runs for flow in run.scenario["flows"]}
    # An experiment for real senders is one for another world, which `run --world` names.
    if not any(scheme.startswith((KERNEL, PROGRAM)) for scheme in senders):
        registry.world(plan.world).check_plan(plan)
    for note in plan.notes:
        say(note)
    axes = ", ".join(f"{axis.name} ({len(axis.choices)})" for axis in plan.experiment.axes)
    parts = [
        amount(len(plan.runs), "run"),
        *([f"axes {axes}"] if axes else []),
        *([amount(len(plan.experiment.claims), "claim")] if plan.experiment.claims else []),
        *([f"{amount(len(plan.unmet), 'cell')} without a file of the user's"] if plan.unmet else []),
    ]
    click.echo(f"{experiment}: sound; {', '.join(parts)}")
