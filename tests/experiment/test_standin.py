"""Schemes of the kernel where there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment.standin import in_world

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.experiment import Plan

    Planned = Callable[..., Plan]


def asking_for(plan: Plan, *schemes: str) -> Plan:
    """The plan with these schemes in its flows."""
    flow = plan.runs[0].scenario["flows"][0]
    flows = [flow | {"scheme": scheme} for scheme in schemes]
    return replace(plan, runs=tuple(replace(run, scenario=run.scenario | {"flows": flows}) for run in plan.runs))


def schemes_of(plan: Plan) -> list[str]:
    """The schemes of its first run."""
    return [flow["scheme"] for flow in plan.runs[0].scenario["flows"]]


def test_our_model_stands_in_for_the_kernels_in_sim(planned: Planned, minimal: str) -> None:
    plan = asking_for(planned(minimal, "repeats=2"), "kernel:cubic", "cubic", "kernel:bbr", "kernel:cubic")
    there = in_world(plan, "sim")
    assert schemes_of(there) == ["cubic", "cubic", "bbr", "cubic"]
    assert there.stand_ins == {"kernel:cubic": "cubic", "kernel:bbr": "bbr"}
    assert there.to_json()["stand_ins"] == there.stand_ins
    assert there.to_json()["world"] == "sim"
    assert [(run.id, run.cell, run.seed) for run in there.runs] == [(run.id, run.cell, run.seed) for run in plan.runs]
    assert schemes_of(plan)[0] == "kernel:cubic"


@pytest.mark.parametrize("world", ["linux", "emu", "live"])
def test_nothing_stands_in_where_a_kernel_is(planned: Planned, minimal: str, world: str) -> None:
    plan = asking_for(planned(minimal), "kernel:cubic", "own:cubic", "cubic")
    there = in_world(plan, world)
    assert there.runs == plan.runs
    assert there.stand_ins == {}
    assert there.world == world


def test_a_scheme_without_a_model_is_refused(planned: Planned, minimal: str) -> None:
    sentence = r'^"kernel:vegs" cannot run in sim, which has no model of it; did you mean "vegas"\?$'
    with pytest.raises(UserError, match=sentence):
        in_world(asking_for(planned(minimal), "kernel:vegs"), "sim")
