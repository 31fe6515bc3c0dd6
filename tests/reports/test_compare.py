"""Two results side by side: which way a difference goes, what the runs do not show, and what cannot be compared."""

from __future__ import annotations

import io
import statistics
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from tests.conftest import SECOND, fill

from bakeoff.errors import UserError
from bakeoff.metrics.statistics import Estimate, paired, unpaired
from bakeoff.recording import ResultFolder
from bakeoff.reports import compare, comparison_table, model, titles, words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def shown(found: compare.Comparison, width: int = 400) -> str:
    file = io.StringIO()
    comparison_table.show(found, Console(file=file, width=width))
    return file.getvalue()


def test_comparison_of_two_folders(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], india: ResultFolder
) -> None:
    folder = filled(plan_of(("cubic", "reno"), 3))
    found = compare.compare(str(india.path), str(folder.path))
    assert {line.row for line in found.lines} == {"TCP Cubic"}
    assert all(line.ratio in {1, None} for line in found.lines)
    group = next(group for group in model.load(india).groups if group.key == "cubic")
    for line in found.lines:
        values = [getattr(summary.total, line.metric) for summary in group.summaries]
        assert line.left == pytest.approx(statistics.fmean(values)), line.metric
    assert all(line.verdict == "same" for line in found.lines if line.difference)
    assert found.only_right == (titles.scheme("reno"),)
    assert "TCP Cubic  all   throughput_mbps" in shown(found)


@pytest.mark.parametrize("width", [80, 50])
def test_a_narrow_terminal_has_every_row_and_number(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], india: ResultFolder, width: int
) -> None:
    folder = filled(plan_of(("cubic", "reno"), 3))
    found = compare.compare(str(india.path), str(folder.path))
    text = shown(found, width)
    assert max(map(len, text.splitlines())) <= width
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert "\nTCP Cubic, all flows\n" in text
    for line in found.lines:
        assert f"{line.metric}: {words.significant(line.left, 4)}, {words.significant(line.right, 4)}" in text


def test_comparison_with_a_reference(india: ResultFolder) -> None:
    found = compare.compare(str(india.path), "pantheon/india-ppp0")
    line = next(line for line in found.lines if (line.row, line.flow, line.metric) == ("TCP Cubic", 1, "pantheon.loss"))
    assert line.right == pytest.approx(0.0275)
    assert line.left is not None
    assert line.ratio == pytest.approx(line.left / 0.0275)
    assert "Sprout" in found.only_right
    value = found.to_json()
    assert value["lines"][0]["verdict"] is None


def test_a_comparison_is_by_the_definition_of_the_reference(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("quic_bbr",), 1, level="summary", reference=None)
    runs = tuple(replace(run, cell={"sender": "BBR(false)", "case": "1"}) for run in plan.runs)
    folder = filled(replace(plan, runs=runs))
    total = model.load(folder).runs[0].summary.total
    assert total is not None
    lines = compare.compare(str(folder.path), "bbr-loss/clean").lines
    assert [line.left for line in lines if line.metric == "packet_loss"] == [total.packet_loss]
    assert not [line for line in lines if line.metric == "pantheon.loss"]


def test_a_loss_that_is_not_published_goes_by_its_name(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1, level="summary", reference=None, flows=2)
    plan.runs[0].scenario["flows"][0]["scheme"] = "prague"
    runs = tuple(replace(run, cell={"queue": "pie", "pair": "prague, cubic-ecn"}) for run in plan.runs)
    folder = filled(replace(plan, runs=runs))
    total = model.load(folder).runs[0].summary.total
    assert total is not None
    lines = [line for line in compare.compare(str(folder.path), "l4s-tests/s6").lines if line.metric.endswith("loss")]
    assert [(line.metric, line.left) for line in lines if line.flow is None] == [("loss", total.loss)]


def test_a_rate_of_a_part_of_a_run_is_compared_with_that_of_the_same_part(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1, level="series", flows=2, seconds=60)
    plan.runs[0].scenario["flows"][1]["scheme"] = "reno"
    cell = {"queue": "pie", "pair": "prague, reno-ecn"}
    folder = filled(replace(plan, runs=tuple(replace(run, cell=cell) for run in plan.runs)))
    series = model.load(folder).runs[0].recording.table("series")
    # The 40 s from 18 s on, of payload.
    within = series.filter(series["t_ns"].is_between(18 * SECOND, 58 * SECOND, closed="left") & (series["flow"] == 1))
    found = compare.compare(str(folder.path), "l4s-tests/s6")
    rates = {line.flow: line for line in found.lines if line.metric.endswith("put_mbps")}
    assert [rates[flow].metric for flow in (None, 1)] == ["pantheon.throughput_mbps", "goodput_mbps"]
    assert rates[1].left == pytest.approx(8 * int(within["goodput_bytes"].sum()) / 40e6)
    remark = "The goodput_mbps of a flow is that over the 40 s that end 2 s before the end, as published."
    assert remark in shown(found)


def test_the_kernels_scheme_is_compared_with_the_published_one(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 1, level="summary", reference=None)
    plan.runs[0].scenario["flows"] = [flow | {"scheme": "kernel:cubic"} for flow in plan.runs[0].scenario["flows"]]
    found = compare.compare(str(filled(plan).path), "pantheon/india-ppp0")
    assert found.only_left == ()
    assert "TCP Cubic" not in found.only_right


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 0.2, "higher"),
        (-0.2, -0.1, "lower"),
        (-0.242, 0.0217, "undecided"),
        (0.0, 0.1, "undecided"),
        (0, 0, "same"),
    ],
)
def test_an_interval_around_zero_is_undecided(low: float, high: float, verdict: str) -> None:
    line = compare.Line(
        row="TCP Cubic",
        flow=None,
        metric="jain",
        left=0.8869,
        right=0.9969,
        ratio=0.89,
        difference=Estimate((low + high) / 2, low, high, 3),
    )
    assert line.verdict == verdict
    text = shown(compare.Comparison(left="a/one", right="b/two", lines=(line,), only_left=(), only_right=()))
    assert (f"one {verdict}" in text) == (verdict in {"higher", "lower"})
    assert ("these runs show no difference" in text) == (verdict == "undecided")


def test_columns_are_named_after_the_sides(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    plan = plan_of(("cubic",), 2, level="summary", seconds=3)
    paths = [str(fill(tmp_path / name, plan).path) for name in ("one", "two", "a-name-that-is-too-long-for-a-heading")]
    text = " ".join(shown(compare.compare(paths[0], paths[1] + "/")).split())
    assert text.startswith(f"one: {paths[0]} two: {paths[1]}/ ")
    assert "metric one two" in text
    assert "one / one -" in text
    assert shown(compare.compare(paths[0], paths[2])).startswith("left: ")


def _folders(tmp_path: Path, plan: Any, *seeds: Sequence[int]) -> list[str]:
    """Folders with a run of each seed."""
    found = []
    for place, own in enumerate(seeds):
        runs = tuple(
            replace(plan.runs[0], id=f"run{number}", repeat=number, seed=seed) for number, seed in enumerate(own, 1)
        )
        found.append(str(fill(tmp_path / f"{place}", replace(plan, runs=runs)).path))
    return found


@pytest.mark.parametrize(
    ("left", "right", "is_paired"),
    [
        ((1, 2, 3), (11, 12, 13, 14), False),
        ((1, 2, 3), (3, 4, 5), False),
        ((1, 2, 3), (3, 1, 2), True),
        ((1, 2, 3), (2, 3), True),
    ],
)
def test_runs_are_paired_where_each_of_a_side_has_a_partner(
    tmp_path: Path, plan_of: Callable[..., Any], left: Sequence[int], right: Sequence[int], *, is_paired: bool
) -> None:
    one, two = _folders(tmp_path, plan_of(("cubic",), 1, level="summary", seconds=3), left, right)
    found = compare.compare(one, two)
    line = next(line for line in found.lines if line.metric == "throughput_mbps")
    ours, theirs = (
        {run.seed: total.throughput_mbps or 0.0 for run in summaries if (total := run.total)}
        for summaries in (model.load(ResultFolder.open(Path(path))).complete for path in (one, two))
    )
    expected = paired(ours, theirs) if is_paired else unpaired([*ours.values()], [*theirs.values()])
    assert (line.difference, line.is_paired) == (expected, is_paired)
    assert line.left is not None
    assert line.right is not None
    assert expected is not None
    assert line.left - line.right == pytest.approx(expected.mean)
    assert found.to_json()["lines"][0]["is_paired"] is is_paired
    text = shown(found)
    assert ("Means and intervals are over pairs of runs with equal seeds." in text) == is_paired
    assert ("Intervals are of the difference of two means (Welch's t)" in text) == (not is_paired)
    assert "No intervals" not in text


def test_single_runs_without_a_common_seed_have_no_intervals(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    one, two = _folders(tmp_path, plan_of(("cubic",), 1, level="summary", seconds=3), (1, 2), (11,))
    text = shown(compare.compare(one, two))
    assert text.count("No intervals: the runs have no seed in common, and a side has one run only") == 1
    assert "interval\n" not in text


def test_a_single_pair_has_no_interval(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    one = str(fill(tmp_path / "one", plan_of(("cubic",), 1, level="summary", seconds=3)).path)
    assert "One pair of runs with equal seeds has no interval" in shown(compare.compare(one, one))


def test_sides_without_a_row_in_common_are_refused(
    tmp_path: Path, plan_of: Callable[..., Any], india: ResultFolder
) -> None:
    reno = str(fill(tmp_path / "r", plan_of(("reno",), 1, level="summary", seconds=3)).path)
    with pytest.raises(UserError, match=r'the first has "TCP Reno", the second .*and 1 more; .*--scheme A,B'):
        compare.compare(reno, str(india.path))
    with pytest.raises(UserError, match=r"and 12 more; run the schemes that were published"):
        compare.compare(reno, "pantheon/india-ppp0")
