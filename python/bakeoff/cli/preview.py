"""What `--dry-run` shows: the runs and what they will cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.cli.output import amount, amount_of_bytes, amount_of_time, print_json, print_table, say
from bakeoff.worlds import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.experiment import Plan, PlannedRun
    from bakeoff.experiment.estimate import Cost


def show(plans: Sequence[Plan], *, as_json: bool) -> None:
    """Prints the runs of one experiment or of several."""
    if as_json:
        found = [_as_json(plan) for plan in plans]
        print_json(found[0] if len(found) == 1 else found)
        return
    for plan in plans:
        _table(plan)


def _costs(plan: Plan) -> list[tuple[PlannedRun, Cost]]:
    world = registry.world(plan.world)
    return [(run, world.cost(run.scenario)) for run in plan.runs]


def _as_json(plan: Plan) -> dict[str, Any]:
    from bakeoff.experiment import estimate  # noqa: PLC0415 - loaded when the command runs

    costs = _costs(plan)
    whole = estimate.total(cost for _, cost in costs)
    runs = [
        {
            "id": run.id,
            "cell": run.cell,
            "repeat": run.repeat,
            "seed": run.seed,
            "packets": cost.packets,
            "cpu_s": round(cost.cpu_s, 3),
            "disk_bytes": cost.disk_bytes,
            "scenario": run.scenario,
        }
        for run, cost in costs
    ]
    report_cpu_s = estimate.report_cpu_s(run.scenario for run in plan.runs)
    total = {
        "cpu_s": round(whole.cpu_s, 3),
        "report_cpu_s": round(report_cpu_s, 3),
        "disk_bytes": whole.disk_bytes,
    }
    return {"experiment": plan.to_json(), **total, "runs": runs}


def _table(plan: Plan) -> None:
    from bakeoff.experiment import estimate  # noqa: PLC0415 - loaded when the command runs

    costs = _costs(plan)
    whole = estimate.total(cost for _, cost in costs)
    axes = [axis.name for axis in plan.experiment.axes]
    rows = []
    for run, cost in costs:
        spent = (f"{cost.packets}", amount_of_time(cost.cpu_s), amount_of_bytes(cost.disk_bytes))
        rows.append([run.id, *run.cell.values(), str(run.repeat), *spent])
    spends = "time" if plan.world == "emu" else "CPU"
    numbers = ("repeat", "packets", spends, "disk")
    print_table(["run", *axes, *numbers], rows, right=numbers)
    for unmet in plan.unmet:
        say(f"{', '.join(unmet.labels.values())} {unmet.reason}: {unmet.remedy}")
    report = amount_of_time(estimate.report_cpu_s(run.scenario for run in plan.runs))
    say(
        f"{amount(len(plan.runs), 'run')}, about {_rounded(whole.packets)} packets, "
        f"{amount_of_time(whole.cpu_s)} of {spends}, {report} for the report, and {amount_of_bytes(whole.disk_bytes)}; "
        "nothing was run"
    )


def _rounded(number: float) -> str:
    """A number to two digits, written out."""
    return f"{float(f'{number:.2g}'):,.0f}"
