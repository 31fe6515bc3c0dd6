"""Verdicts from means and intervals."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from bakeoff.claims import Telemetry, evaluate
from bakeoff.errors import UserError


def run(loss: float | None, scheme: str = "cubic", status: str = "complete", repeat: int = 1) -> dict[str, Any]:
    total = {"loss": loss}
    return {"cell": {"scheme": scheme}, "repeat": repeat, "status": status, "flows": [], "hops": [], "total": total}


def claim(expect: str, **fields: Any) -> dict[str, Any]:
    return {"id": "c", "says": "s", "measure": "total.loss", "expect": expect, **fields}


@pytest.mark.parametrize(
    ("losses", "expect", "verdict"),
    [
        ([0.1, 0.1, 0.1], "<= 0.1", "holds"),
        ([0.1, 0.1, 0.1], "< 0.1", "fails"),
        ([0.10, 0.11, 0.12], "<= 0.2", "holds"),
        ([0.10, 0.11, 0.12], "<= 0.05", "fails"),
        ([0.10, 0.11, 0.12], "<= 0.12", "undecided"),
        ([0.10, 0.11, 0.12], "<= 0.109", "undecided"),
        ([0.10, 0.12], "<= 0.2", "undecided"),
        ([0.3], ">= 0.2", "holds"),
        ([0.3], "0.2 +- 10%", "fails"),
        ([], "<= 1", "undecided"),
        ([0.1, None], "<= 1", "undecided"),
    ],
)
def test_verdicts(losses: list[float | None], expect: str, verdict: str) -> None:
    (result,) = evaluate([claim(expect)], [run(loss) for loss in losses])
    assert result.verdict == verdict
    assert (result.reason is not None) == (verdict == "undecided")
    assert result.runs == sum(loss is not None for loss in losses)


@pytest.mark.parametrize("status", ["failed", "invalid"])
def test_a_run_that_did_not_end_well_is_no_evidence(status: str) -> None:
    (result,) = evaluate([claim("<= 1")], [run(0.1), run(0.1, status=status)])
    assert (result.verdict, result.runs) == ("undecided", 1)
    assert result.reason == "runs that failed, are still to come or lack the value: 1"


def test_an_interval_ends_where_the_measure_does() -> None:
    runs = [run(loss) for loss in (0.0, 0.01, 0.05)]
    least, most, close = evaluate(
        [claim("between 0 and 1"), claim("between 0.9 and 1", measure="1 - total.loss"), claim("<= 0.05")], runs
    )
    # Beyond 0.02 ± 0.0657 there is nothing on one side.
    assert [one.verdict for one in (least, most, close)] == ["holds", "holds", "undecided"]
    assert (least.low, most.high) == (0, 1)
    assert least.high == pytest.approx(0.08572, abs=1e-5)
    assert most.low == pytest.approx(0.91428, abs=1e-5)


def test_a_run_beyond_a_bound_shows_that_it_is_none() -> None:
    (result,) = evaluate([claim("<= 1")], [run(loss) for loss in (0.7, 1.05, 1.1)])
    assert (result.low, result.high) == pytest.approx((0.40859, 1.49141), abs=1e-5)
    (result,) = evaluate([claim("<= 1")], [run(loss) for loss in (-0.2, 0.9)])
    assert result.low == pytest.approx(0.35 - 12.7062 * 0.55)
    assert result.high == 1


def test_a_run_beyond_a_bound_by_rounding_leaves_it() -> None:
    (result,) = evaluate([claim("<= 1")], [run(loss) for loss in (0.9, 1 + 2**-52)])
    assert result.high == 1 + 2**-52


def test_a_ratio_of_cells_has_no_unit() -> None:
    rates = {"cubic": 8.0, "bbr": 2.0}
    runs = [{**run(0.1, scheme), "total": {"throughput_mbps": rate}} for scheme, rate in rates.items()]
    wanted = claim("<= 9", measure="total.throughput_mbps", where={"scheme": "cubic"})
    alone, compared = evaluate([wanted, {**wanted, "against": {"scheme": "bbr"}}], runs)
    assert (alone.mean, alone.unit) == (8.0, "Mbit/s")
    assert (compared.mean, compared.unit) == (4.0, "")


@pytest.mark.parametrize(
    ("times", "absent", "mean"), [([None, None], 2, 100), ([2.0, None], 1, 51), ([2.0, 4.0], 0, 3), ([100.0], 0, 100)]
)
def test_runs_in_which_a_default_stands_in_are_counted(times: list[float | None], absent: int, mean: float) -> None:
    measure = "default(total.convergence_s, 100)"
    runs = [{**run(0.1), "total": {"convergence_s": time}} for time in times]
    (result,) = evaluate([claim("< 500", measure=measure)], [*runs, run(0.1, status="failed")])
    assert (result.absent, result.runs, result.mean) == (absent, len(times), mean)


def test_a_rank_correlation_may_look_at_telemetry() -> None:
    tables = {name: pl.DataFrame({"t_ns": [0], "flow": [1], "name": ["cwnd"], "value": [value]})
              for name, value in (("a", 1.0), ("b", 2.0), ("c", 4.0))}  # fmt: skip
    runs = [{**run(loss, name), "id": name} for name, loss in (("a", 0.1), ("b", 0.2), ("c", 0.3))]
    wanted = claim(">= 0.9", measure="rank_correlation(mean(flow1.cwnd), total.loss)")
    (result,) = evaluate([wanted], runs, lambda name: Telemetry(tables[name]))
    assert (result.verdict, result.mean) == ("holds", 1)


def test_where_chooses_cells() -> None:
    runs = [run(0.1), run(0.9, "bbr"), run(0.1)]
    (result,) = evaluate([claim("<= 0.5", where={"scheme": "cubic"})], runs)
    assert (result.verdict, result.runs) == ("holds", 2)
    assert result.mean == pytest.approx(0.1)
    (result,) = evaluate([claim("<= 0.5", where={"scheme": "vegas"})], runs)
    assert (result.verdict, result.reason) == ("undecided", "no run matches")


def test_a_claim_about_cells_that_were_not_run_says_why() -> None:
    unmet = [{"cell": {"scheme": "indigo", "queue": "x"}, "reason": "needs a weights file"}]
    wanted = [claim("<= 0.5", where={"scheme": scheme}) for scheme in ("indigo", "vegas", "cubic")]
    found = evaluate(wanted, [run(0.1)], unmet=unmet)
    assert [one.reason for one in found] == ["needs a weights file", "no run matches", None]


def test_cells_are_compared_repeat_by_repeat() -> None:
    runs = [run(loss, scheme, repeat=repeat) for scheme, losses in (("cubic", (0.1, 0.4)), ("bbr", (0.2, 0.8)))
            for repeat, loss in enumerate(losses, 1)]  # fmt: skip
    where, against = {"scheme": "cubic"}, {"scheme": "bbr"}
    (result,) = evaluate([claim("< 0.6", where=where, against=against)], runs)
    assert (result.verdict, result.mean, result.low, result.runs) == ("holds", 0.5, 0.5, 2)
    (result,) = evaluate([claim("< 0.6", where=where, against={"scheme": "vegas"})], runs)
    assert (result.verdict, result.reason) == ("undecided", "runs that failed, are still to come or lack the value: 2")
    (result,) = evaluate([claim("< 0.6", where=where, against=against)], [*runs[:3], run(0.0, "bbr", repeat=2)])
    assert result.verdict == "undecided", "no ratio to 0"


def test_one_outlier_does_not_move_a_median() -> None:
    runs = [run(loss) for loss in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 90.0)]
    (result,) = evaluate([claim("<= 0.8", statistic="median")], runs)
    # With nine runs the second from either end: both outer pairs together are 2 (1 + 9) / 512 = 3.9 %.
    assert (result.verdict, result.mean, result.low, result.high) == ("holds", 0.5, 0.2, 0.8)
    (mean,) = evaluate([claim("<= 0.8")], runs)
    assert mean.verdict == "undecided"


def test_few_runs_do_not_decide_a_median() -> None:
    (five,) = evaluate([claim("<= 1", statistic="median")], [run(0.1)] * 5)
    assert (five.verdict, five.reason) == ("undecided", "a median has an interval from six runs on")
    (six,) = evaluate([claim("<= 1", statistic="median")], [run(0.1)] * 6)
    (one,) = evaluate([claim("<= 1", statistic="median")], [run(0.1)])
    assert six.verdict == one.verdict == "holds"


def test_a_failed_run_leaves_a_claim_undecided() -> None:
    (result,) = evaluate([claim("<= 0.5")], [run(0.1), run(None, status="failed")])
    assert result.verdict == "undecided"
    assert result.mean == pytest.approx(0.1)


def test_the_claim_is_named_when_it_cannot_be_understood() -> None:
    with pytest.raises(UserError, match=r'claim c: measure "total\.los"'):
        evaluate([claim("<= 1", measure="total.los")], [])


def row(scheme: str, losses: list[float], published: float | None) -> list[dict[str, Any]]:
    beside = None if published is None else {"throughput_mbps": None, "owd_p95_ms": None, "loss": published}
    return [{**run(loss, scheme, repeat=repeat), "published": beside} for repeat, loss in enumerate(losses, 1)]


RANKS = "rank_correlation(total.loss, published.loss)"


def test_a_rank_correlation_is_over_the_means_of_the_cells() -> None:
    # Means 1, 2.5, 2.5, 4 against 10, 40, 20, 30: ranks 1, 2.5, 2.5, 4 and 1, 4, 2, 3.
    runs = row("a", [0, 2], 10) + row("b", [2, 3], 40) + row("c", [2.5], 20) + row("d", [4], 30) + row("e", [9], None)
    (result,) = evaluate([claim(">= 0.6", measure=RANKS)], runs)
    assert result.mean == pytest.approx(3 / (4.5 * 5) ** 0.5)
    assert (result.verdict, result.low, result.runs) == ("holds", None, 7)


def test_a_rank_correlation_needs_three_cells_that_differ_and_no_failed_run() -> None:
    two = row("a", [1], 1) + row("b", [2], 2)
    (few,) = evaluate([claim(">= 0", measure=RANKS)], two)
    (same,) = evaluate([claim(">= 0", measure=RANKS)], [*two, *row("c", [3], None), *row("d", [3], None)])
    (flat,) = evaluate([claim(">= 0", measure=RANKS)], row("a", [1], 1) + row("b", [1], 2) + row("c", [1], 3))
    for result in (few, same, flat):
        assert (result.verdict, result.mean) == ("undecided", None)
        assert result.reason is not None
        assert "too few cells" in result.reason
    three = [*two, *row("c", [3], 3)]
    (result,) = evaluate([claim(">= 0", measure=RANKS)], [*three, run(None, "d", "failed")])
    assert (result.verdict, result.mean) == ("undecided", 1.0)
