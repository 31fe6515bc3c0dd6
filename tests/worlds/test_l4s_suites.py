"""The suites of the family `l4s-tests` run: their first and their last cell, for a short time."""

from __future__ import annotations

import pytest

from bakeoff import suites
from bakeoff.experiment import expand, load
from bakeoff.worlds import sim

MEMBERS = suites.families()["l4s-tests"]


def test_scenarios_stand_in_their_order() -> None:
    assert [name.removeprefix("l4s-tests/s") for name in MEMBERS[:4]] == ["1-10mbit", "1-50mbit", "2", "3"]
    assert MEMBERS[-1] == "l4s-tests/s13"


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("place", [0, -1])
def test_a_scenario_runs(name: str, place: int) -> None:
    plan = expand(load(name, ["duration=12s", 'record.level="series"']))
    run = plan.runs[place]
    # The rows behind the flows' are those of probes.
    flows = sim.execute(run).tables["flows"].head(len(run.scenario["flows"]))
    assert (flows["received_packets"] > 10).all()
