"""Measures over telemetry: a number out of a flow's inner state, at the times at which something holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.claims import ClaimSyntaxError, Telemetry, evaluate, parse_measure
from bakeoff.metrics.corrected import Interval
from bakeoff.metrics.dynamics import goodputs_mbps
from bakeoff.metrics.quantities import NS_PER_S
from bakeoff.recording import ResultFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Five samples, 2 s apart. The rate is not there at first; flow 2 starts at 4 s.
SAMPLES = {
    (1, "bbr_state"): {2: 0, 4: 1, 6: 1, 8: 0, 10: 1},
    (1, "cwnd"): {2: 10, 4: 20, 6: 30, 8: 40, 10: 50},
    (1, "bw"): {6: 3, 8: 0, 10: 5},
    (2, "cwnd"): {4: 7, 6: 8, 8: 9, 10: 10},
}
ROWS = [
    {"t_ns": time * 10**9, "flow": flow, "name": name, "value": float(value)}
    for (flow, name), values in SAMPLES.items()
    for time, value in values.items()
]
RUN: dict[str, Any] = {
    "duration_s": 10.0,
    "flows": [{"flow": 1, "loss": 0.5}],
    "telemetry": Telemetry(pl.DataFrame(ROWS)),
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("first(flow1.cwnd)", 10.0),
        ("last(flow1.cwnd)", 50.0),
        ("first(flow1.bw)", 3.0),
        ("least(flow1.cwnd while flow1.bbr_state == 1)", 20.0),
        ("most(flow1.cwnd while flow1.bbr_state != 1)", 40.0),
        ("mean(flow1.cwnd while time_s >= 6 and time_s < 10)", 35.0),
        ("mean(flow1.cwnd while flow1.bw > 0)", 40.0),
        ("mean(flow1.bw)", 8 / 3),
        ("most(flow1.cwnd while flow1.bw != 3)", 50.0),
        ("least(flow1.cwnd while flow1.bw != 3)", 40.0),
        ("least(flow1.cwnd / flow1.bw)", 10.0),
        ("most(flow1.cwnd - flow2.cwnd)", 40.0),
        ("least(-flow1.cwnd * 2 + 1)", -99.0),
        ("first(flow1.cwnd / -2)", -5.0),
        ("first(flow1.cwnd while time_s > first(time_s while flow1.bbr_state == 1))", 30.0),
        ("first(flow1.cwnd while flow1.cwnd > first(flow1.cwnd while time_s > 99))", None),
        ("first(flow1.bw while time_s < 6)", None),
        ("mean(flow3.cwnd)", None),
        ("first(flow1.cwnd) / flow1.loss", 20.0),
        ("spells(flow1.bbr_state == 1)", 2.0),
        ("spells(flow1.bbr_state == 7)", 0.0),
        # The last sample stands for as long as the one before it.
        ("seconds(flow1.bbr_state == 1)", 6.0),
        ("longest(flow1.bbr_state == 1)", 4.0),
        ("longest(flow1.cwnd >= 0)", 10.0),
        ("longest(flow1.bbr_state == 7)", 0.0),
        ("seconds(flow1.bw >= 0)", 6.0),
    ],
)
def test_folds(text: str, value: float | None) -> None:
    measure = parse_measure(text)
    assert measure.needs_telemetry
    assert measure.evaluate(RUN) == value


@pytest.mark.parametrize("samples", [0, 1])
def test_a_lone_sample_stands_for_no_time(samples: int) -> None:
    rows = pl.DataFrame(ROWS)[:samples]
    assert parse_measure("seconds(flow1.bbr_state == 0)").evaluate({**RUN, "telemetry": Telemetry(rows)}) == 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("longest(flow1.cwnd > 0)", 4.0),
        ("seconds(flow1.cwnd > 0)", 4.0),
        ("longest(time_s > 1 and time_s <= 1.3)", 0.3),
        ("seconds(time_s > 1 and time_s <= 1.3)", 0.3),
    ],
)
def test_a_bound_of_as_many_seconds_is_met(text: str, value: float) -> None:
    rows = [{"t_ns": time * 10**8, "flow": 1, "name": "cwnd", "value": 10.0} for time in range(1, 41)]
    measure = parse_measure(text)
    assert measure.evaluate({**RUN, "telemetry": Telemetry(pl.DataFrame(rows))}) == value


def test_a_rate_over_a_stretch_is_that_of_its_bins(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    recording = filled(plan_of(("cubic",), 1, level="series")).recordings()[0]
    measure = parse_measure("mean(flow2.goodput_mbps while time_s > 12 and time_s <= 28)")
    stretch = Interval(12 * NS_PER_S, 28 * NS_PER_S)
    wanted = goodputs_mbps(recording.table("series"), [2], stretch, 100_000_000)[2]
    assert measure.evaluate({**RUN, "telemetry": Telemetry.of_run(recording)}) == pytest.approx(wanted, rel=1e-12)


def test_an_interval_that_the_end_cuts_short_has_no_rate(
    tmp_path: Path, plan_of: Callable[..., Any], tables_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1, level="series", seconds=3)
    scenario = plan.runs[0].scenario
    tables = tables_of(scenario, 1)
    rows = [(1, start * NS_PER_S, 250_000, 125_000) for start in range(3)]
    series = pl.DataFrame(rows, schema=["flow", "t_ns", "received_bytes", "goodput_bytes"], orient="row")
    scenario["record"]["interval_ns"], scenario["duration_ns"] = NS_PER_S, 2 * NS_PER_S + 1
    folder = ResultFolder.create(tmp_path / "r", plan)
    folder.write_run(plan.runs[0], tables | {"series": series})
    telemetry = Telemetry.of_run(folder.recordings()[0])
    for text, value in (
        ("last(time_s while flow1.goodput_mbps > 0)", 2.0),
        ("mean(flow1.goodput_mbps)", 1.0),
        ("mean(flow1.throughput_mbps)", 2.0),
    ):
        assert parse_measure(text).evaluate({**RUN, "telemetry": telemetry}) == value


def test_without_telemetry_nothing_is_known() -> None:
    for text in ("first(flow1.cwnd)", "spells(flow1.cwnd > 1)", "1 + mean(flow1.cwnd)"):
        assert parse_measure(text).evaluate({**RUN, "telemetry": None}) is None


def test_other_measures_need_none() -> None:
    assert not parse_measure("flow1.loss + 1").needs_telemetry


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("first(flow1.cwmd)", 'did you mean "cwnd"'),
        ("first(flow1.loss)", "not a quantity over time"),
        ("first(total.loss)", '"total" does not change with time'),
        ("first(probe1.cwnd)", '"probe1" does not change'),
        ("flow1.cwnd", "not a metric"),
        ("time_s", "not a value"),
        ("first(flow1.cwnd while)", "found the end|found"),
        ("first(flow1.cwnd while time_s)", "expected a comparison"),
        ("first(flow1.cwnd while time_s > 1 or time_s < 2)", r'expected "\)"'),
        ("spells(flow1.cwnd)", "expected a comparison"),
        ("spells(flow1.cwnd > 1 while time_s > 2)", r'expected "\)"'),
        ("first(min(1, 2))", '"min" does not change'),
        ("first(" * 60 + "1", "deep"),
    ],
)
def test_bad_folds(text: str, hint: str) -> None:
    with pytest.raises(ClaimSyntaxError, match=hint):
        parse_measure(text)


def test_a_claim_asks_for_the_telemetry_of_its_own_runs() -> None:
    asked: list[str] = []

    def telemetry_of(run: str) -> Telemetry:
        asked.append(run)
        return RUN["telemetry"]  # type: ignore[no-any-return]

    runs = [{**RUN, "id": name, "cell": {"case": name}, "status": "complete"} for name in ("a", "b")]
    claim = {"id": "c", "says": "s", "measure": "last(flow1.cwnd)", "expect": ">= 50", "where": {"case": "b"}}
    (result,) = evaluate([claim], runs, telemetry_of)
    assert (result.verdict, result.mean, asked) == ("holds", 50.0, ["b"])
