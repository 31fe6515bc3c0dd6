"""Rows of variants, of what waits for a file, and of schemes that meet on one link."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from bakeoff.experiment import expand, load
from bakeoff.recording import ResultFolder
from bakeoff.reports import model, shares, terminal
from bakeoff.reports.model import Absent
from bakeoff.worlds import registry, runner

if TYPE_CHECKING:
    from pathlib import Path


def _report(folder: Path, suite: str, *changes: str) -> model.Report:
    plan = expand(load(suite, ["repeats=1", "duration=25s", *changes]))
    results = ResultFolder.create(folder, plan)
    runner.run_plan(plan.runs, results, registry.world("sim").execute, jobs=1, on_finished=lambda _: None)
    return model.load(results)


@pytest.fixture(scope="module")
def india(tmp_path_factory: pytest.TempPathFactory) -> model.Report:
    return _report(
        tmp_path_factory.mktemp("india") / "r", "pantheon/india-ppp0", "matrix.scheme=copa,cubic,indigo_1_32"
    )


def test_a_variant_stands_in_the_row_of_its_name(india: model.Report) -> None:
    copa, cubic = (next(group for group in india.groups if group.key == key) for key in ("copa", "cubic"))
    assert (copa.label, copa.look.marker) == ("Copa", "circle")
    assert copa.published is not None
    assert copa.published.name == "Copa"
    assert cubic.label == "TCP Cubic"


def test_absent_rows_say_why(india: model.Report) -> None:
    absent = {row.name: (row.reason, row.remedy) for row in india.rows if isinstance(row, Absent)}
    remedy = "--set variant.indigo_1_32.parameters.weights=FILE"
    assert absent["Indigo-1-32"] == ("needs a weights file", remedy)
    assert absent["Indigo-2-256"] == ("not in this run", "")
    assert absent["SCReAM"] == ("not implemented yet", "")
    file = io.StringIO()
    terminal.show(india, Console(file=file, width=220))
    assert f"Indigo-1-32 needs a weights file: {remedy}" in file.getvalue()


def test_claims_see_the_published_row(india: model.Report) -> None:
    claims = {claim.id: claim for claim in india.claims}
    assert claims["cubic-delay"].mean == pytest.approx(1, abs=0.3)
    assert claims["rank-delay"].verdict == "undecided", "two schemes are too few"


def test_schemes_that_meet_have_shares(tmp_path: Path, india: model.Report) -> None:
    assert shares.of(india).cells == []
    pair = 'matrix.pair={cubic-vs-vegas={"flow.1.scheme"="cubic","flow.2.scheme"="vegas"}}'
    report = _report(tmp_path / "r", "mixed/india-ppp0", pair)
    (pair_cell,) = [cell for cell in shares.of(report).cells if cell.label == "cubic-vs-vegas"]
    cubic, vegas = pair_cell.parts
    assert (cubic.name, vegas.name) == ("TCP Cubic", "TCP Vegas")
    assert cubic.percent + vegas.percent == pytest.approx(100)
    assert cubic.percent > 60
