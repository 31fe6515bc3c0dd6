"""The published steady states of the L4S tests stand beside the cells that they are about."""

from __future__ import annotations

import pytest

from bakeoff.experiment import expand, load
from bakeoff.references import load as published


@pytest.mark.parametrize(("name", "rows"), [("s1-50mbit", 96), ("s1-10mbit", 96), ("s6", 24)])
def test_every_row_has_a_cell_of_the_suite(name: str, rows: int) -> None:
    table = published(f"l4s-tests/{name}")
    assert len(table.schemes) == rows
    cells = [dict(run.cell) for run in expand(load(f"l4s-tests/{name}", [])).runs]
    assert len(cells) == rows
    for cell in cells:
        first, _, second = cell["pair"].partition(", ")
        row = table.scheme(first if first == second else "", cell)
        assert row is not None, cell
        assert row.name == ", ".join(row.cell.values())


def test_numbers_are_those_of_the_table() -> None:
    row = published("l4s-tests/s1-50mbit").scheme(
        "prague", {"queue": "dualpi2", "rtts": "160/10ms", "pair": "prague, prague"}
    )
    assert row is not None
    assert [row.flows[flow].throughput_mbps for flow in (1, 2)] == [1.56, 45.46]
    assert row.total.throughput_mbps is None
    assert str(row.steady) == "the 60 s that end 2 s before the end"
    row = published("l4s-tests/s6").scheme("", {"queue": "pie", "pair": "prague, reno-ecn"})
    assert row is not None
    assert row.flows[2].throughput_mbps == 0.78
    assert str(row.steady) == "the 40 s that end 2 s before the end"


@pytest.mark.parametrize("name", ["s1-50mbit", "s1-10mbit", "s6"])
def test_claims_look_at_the_stretch_of_the_table(name: str) -> None:
    experiment, steady = load(f"l4s-tests/{name}", []), published(f"l4s-tests/{name}").steady
    assert steady is not None
    stop = experiment.first.model.duration // 10**9 - steady.rest_s
    stretch = f".goodput_mbps while time_s > {stop - steady.length_s} and time_s <= {stop})"
    measures = [claim.measure for claim in experiment.claims]
    assert measures
    assert all(measure.count(stretch) == 2 == measure.count("goodput_mbps") for measure in measures)
