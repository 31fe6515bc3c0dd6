"""Schemes of the kernel in a world without one: our model of the scheme stands in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.experiment.catalogue import KERNEL
from bakeoff.experiment.likely import nearest

if TYPE_CHECKING:
    from bakeoff.experiment.plan import Plan

# Worlds in which no Linux kernel sends.
_WITHOUT_KERNEL = frozenset({"sim"})


def in_world(plan: Plan, world: str) -> Plan:
    """The plan as another world can run it: names, cells and seeds stay, and `kernel:X` becomes `X` where it has to.

    Args:
        plan: the runs.
        world: what will execute them.

    Raises:
        UserError: there is no model of a scheme of the kernel.
    """
    if world not in _WITHOUT_KERNEL:
        return replace(plan, world=world)
    known = plan.experiment.catalogue.schemes
    found: dict[str, str] = {}

    def model_of(scheme: str) -> str:
        if not scheme.startswith(KERNEL):
            return scheme
        name = scheme.removeprefix(KERNEL)
        if name not in known:
            raise UserError(f'"{scheme}" cannot run in {world}, which has no model of it; {nearest(name, known)}')
        found[scheme] = name
        return name

    def resolved(scenario: dict[str, Any]) -> dict[str, Any]:
        return scenario | {"flows": [flow | {"scheme": model_of(flow["scheme"])} for flow in scenario["flows"]]}

    runs = tuple(replace(run, scenario=resolved(run.scenario)) for run in plan.runs)
    return replace(plan, world=world, runs=runs, stand_ins=found)
