"""`bakeoff agree` over a pretended simulator and a second world that differs from it by known amounts."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.errors import Interrupted
from bakeoff.experiment import estimate
from bakeoff.worlds import registry, sim
from bakeoff.worlds.outcome import Outcome, RunStopped
from bakeoff.worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ended

    from bakeoff.experiment import PlannedRun

    Command = Callable[..., Ended]

FILE = """
    name = "x"
    title = "Two flows"
    duration = "5s"
    repeats = 3
    [[path.forward]]
    rate = "2.1Mbit/s"
    delay = "20ms"
    [[flow]]
    [[flow]]
    [matrix]
    scheme = ["cubic", "bbr"]
"""
AGREE = ("agree", "x.toml", "--worlds", "sim,linux", "--out", "r")


@pytest.fixture
def worlds(monkeypatch: pytest.MonkeyPatch, here: Path, tables_of: Callable[..., Any]) -> dict[str, Any]:
    """Two worlds: `linux` receives half of what `sim` does, waits 1.01 times as long in queues, and has its own tail.

    `fail` maps names of runs to errors in linux; `schemes` lists what each world was asked to run.
    """
    (here / "x.toml").write_text(FILE)
    state: dict[str, Any] = {"fail": {}, "schemes": {"sim": [], "linux": []}}

    def run_in(world: str, run: PlannedRun) -> Any:
        state["schemes"][world] += [flow["scheme"] for flow in run.scenario["flows"]]
        return tables_of(run.scenario, run.seed)

    def linux(run: PlannedRun) -> Any:
        if run.id in state["fail"]:
            raise state["fail"][run.id]
        tables = run_in("linux", run)
        flows = tables["flows"].with_columns(
            (pl.col("received_bytes") // 2).alias("received_bytes"),
            (pl.col("queue_p95_ns") * 1.01).cast(pl.Int64).alias("queue_p95_ns"),
            (pl.col("retransmits") + 25).alias("retransmits"),
        )
        return Outcome(tables | {"flows": flows})

    monkeypatch.setattr(sim, "WORLD", replace(sim.WORLD, execute=lambda run: Outcome(run_in("sim", run))))
    monkeypatch.setitem(sys.modules, "pretended_linux", SimpleNamespace(WORLD=World(execute=linux, cost=estimate.cost)))
    monkeypatch.setitem(registry.MODULES, "linux", "pretended_linux")
    return state


def test_known_differences_are_found(bakeoff: Command, worlds: Any) -> None:
    ended = bakeoff(*AGREE, "--json", "--quiet")
    assert ended.code == 0
    found = json.loads(ended.out)
    rows = {(row["cell"]["scheme"], row["flow"], row["metric"]): row for row in found["cells"]}
    assert len(rows) == len(found["cells"]) == 2 * (2 * 8 + 5)
    rate = rows["cubic", 1, "throughput_mbps"]
    assert rate["relative"] == pytest.approx(1, rel=1e-3)
    assert rate["difference"] == pytest.approx(rate["a"]["mean"] - rate["b"]["mean"])
    assert rate["tolerance_ratio"] == pytest.approx(1 / 0.03, rel=1e-3)
    assert rate["a"]["n"] == rate["b"]["n"] == 3
    delay = rows["bbr", 2, "queue_p95_ms"]
    assert delay["relative"] == pytest.approx(-0.01 / 1.01, rel=1e-3)
    assert delay["tolerance_ratio"] == pytest.approx(0.01 / 1.01 / 0.07, rel=1e-3)
    again = rows["cubic", 2, "retransmits"]
    assert again["difference"] == pytest.approx(-25)
    same = rows["cubic", 1, "owd_p50_ms"]
    assert (same["difference"], same["within"], same["tolerance_ratio"]) == (0, True, 0)
    assert rows["cubic", None, "utilisation"]["difference"] == 0


def test_the_json_contract(bakeoff: Command, here: Path, worlds: Any) -> None:
    ended = bakeoff(*AGREE, "--json", "--quiet")
    found = json.loads(ended.out)
    assert json.loads((here / "r" / "agreement.json").read_text()) == found
    assert found.keys() == {"bakeoff", "experiment", "worlds", "runs", "stand_ins", "metrics", "cells"}
    assert found["experiment"] == "x"
    assert found["worlds"] == ["sim", "linux"]
    assert found["runs"] == {"sim": {"planned": 6, "complete": 6}, "linux": {"planned": 6, "complete": 6}}
    row = found["cells"][0]
    assert row.keys() == {
        *("cell", "flow", "probe", "scheme", "metric", "a", "b", "difference", "relative"),
        *("median_difference", "median_relative", "spread", "within", "tolerance_ratio"),
    }
    assert row["a"].keys() == {"mean", "median", "sd", "n"}
    rate = found["metrics"]["flow.throughput_mbps"]
    assert rate["tolerance"] == {"relative": 0.03, "absolute": 0.0}
    assert rate["all"]["cells"] == rate["all"]["far"] == 4
    assert rate["all"]["agrees"] is False
    assert rate["all"]["worst"].keys() == {"cell", "flow", "probe", "tolerance_ratio"}
    assert rate["schemes"].keys() == {"cubic", "bbr"}
    assert rate["schemes"]["bbr"]["relative"]["median"] == pytest.approx(1, rel=1e-3)
    assert found["metrics"]["flow.queue_p95_ms"]["all"]["agrees"] is True
    assert ended.err.count("\n") == 1


def test_probes_are_compared_one_by_one(
    bakeoff: Command, here: Path, worlds: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "x.toml").write_text(FILE + "[[probe]]\n[[probe]]\ninterval = '50ms'\n")

    def answered(execute: Callable[[PlannedRun], Outcome], factor: int) -> Callable[[PlannedRun], Outcome]:
        def run(planned: PlannedRun) -> Outcome:
            # The second probe's round trips are twice those of the first one, and in linux all last longer.
            rows = [(probe, factor * probe * (40 + number) * 1_000_000) for probe in (1, 2) for number in range(100)]
            table = {"probe": [row[0] for row in rows], "rtt_ns": [row[1] for row in rows], "fate": "received"}
            return Outcome(execute(planned).tables | {"probes": pl.DataFrame(table)})

        return run

    for factor, module in enumerate((sim, sys.modules["pretended_linux"]), 1):
        monkeypatch.setattr(module, "WORLD", replace(module.WORLD, execute=answered(module.WORLD.execute, factor)))
    found = json.loads(bakeoff(*AGREE, "--json", "--quiet").out)
    rows = {(row["probe"], row["metric"]): row for row in found["cells"] if row["cell"]["scheme"] == "bbr"}
    median, tail = rows[2, "rtt_p50_ms"], rows[2, "rtt_p95_ms"]
    assert (median["a"]["mean"], median["b"]["mean"], tail["a"]["mean"]) == (180, 360, 268)
    assert (median["flow"], median["scheme"]) == (None, "bbr")
    assert median["tolerance_ratio"] == pytest.approx(0.5 / 0.07)
    assert rows[1, "rtt_p50_ms"]["a"]["mean"] == 90
    assert found["metrics"]["probe.rtt_p50_ms"]["all"]["cells"] == 4
    shown = bakeoff("agree", "x.toml", "--worlds", "sim,linux", "--out", "again", "--quiet").out
    assert "median round trip, each probe" in shown


def test_one_repeat_has_no_spread(bakeoff: Command, worlds: Any) -> None:
    found = json.loads(bakeoff(*AGREE, "--json", "--repeats", "1", "--scheme", "bbr").out)
    assert {(row["spread"], row["within"], row["a"]["sd"]) for row in found["cells"]} == {(None, None, None)}
    assert len(found["cells"]) == 21


def test_the_terminal_shows_the_summary_and_the_worst(bakeoff: Command, here: Path, worlds: Any) -> None:
    ended = bakeoff(*AGREE)
    assert ended.out.startswith("Two flows\nsim against linux, the reference: 6 of 6 runs in sim and 6 of 6 runs in ")
    line = next(line for line in ended.out.splitlines() if line.startswith("throughput, each flow"))
    assert "100 %" in line
    assert "no" in line.split()
    assert "Beyond three tolerances" in ended.out
    assert "6 runs in sim on " in ended.err
    assert "6 runs in linux on " in ended.err
    assert ended.err.endswith("bakeoff: agreement: r/agreement.html\n")
    assert "Every line" in bakeoff(*AGREE[:-1], "one", "--scheme", "bbr").out
    page = (here / "r" / "agreement.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "Two flows" in page


def test_results_lie_beside_those_of_runs(bakeoff: Command, here: Path, worlds: Any) -> None:
    assert bakeoff(*AGREE[:-2], "--repeats", "1").code == 0
    results = here / "results" / "x"
    assert {path.name for path in (results / "latest-agree").iterdir()} == {
        *("sim", "linux", "agreement.json", "agreement.html")
    }
    assert not (results / "latest").exists()
    assert (results / "latest-agree").resolve().name.endswith("-agree")
    experiment = json.loads((results / "latest-agree" / "linux" / "experiment.json").read_text())["experiment"]
    assert experiment["world"] == "linux"
    assert bakeoff("report", str(results / "latest-agree" / "linux")).code == 0


def test_a_failed_run_is_exit_1_and_resumed(bakeoff: Command, worlds: Any) -> None:
    worlds["fail"] = {f"bbr_run{repeat}": RunStopped("the kernel is tired") for repeat in (1, 2, 3)}
    ended = bakeoff(*AGREE, "--json")
    assert ended.code == 1
    assert "bakeoff: run bbr_run1 failed: the kernel is tired" in ended.err
    found = json.loads(ended.out)
    assert found["runs"]["linux"] == {"planned": 6, "complete": 3}
    assert found["metrics"]["flow.loss"]["all"]["missing"] == 2
    gone = next(row for row in found["cells"] if row["cell"] == {"scheme": "bbr"})
    assert (gone["difference"], gone["b"]["mean"], gone["b"]["n"]) == (None, None, 0)
    worlds["fail"], worlds["schemes"] = {}, {"sim": [], "linux": []}
    ended = bakeoff(*AGREE, "--resume")
    assert ended.code == 0
    assert worlds["schemes"] == {"sim": [], "linux": ["bbr"] * 6}


def test_a_world_in_which_everything_fails_still_has_a_page(bakeoff: Command, here: Path, worlds: Any) -> None:
    worlds["fail"] = {f"{scheme}_run1": RunStopped("no <kernel>") for scheme in ("bbr", "cubic")}
    ended = bakeoff(*AGREE, "--repeats", "1")
    assert ended.code == 1
    assert "2 of 2 runs in sim and 0 of 2 runs in linux" in ended.out
    assert "no &lt;kernel&gt;" in (here / "r" / "agreement.html").read_text()


def test_what_no_run_has_is_not_shown(bakeoff: Command, here: Path, worlds: Any) -> None:
    (here / "x.toml").write_text(FILE.replace("[[flow]]\n", "", 1))
    ended = bakeoff(*AGREE, "--repeats", "1", "--json")
    assert json.loads(ended.out)["metrics"]["total.jain"]["all"]["cells"] == 0
    assert "Jain" not in (here / "r" / "agreement.html").read_text()
    assert "Jain" not in bakeoff(*AGREE, "--repeats", "1", "--resume").out


def test_our_model_stands_in_for_the_kernels(bakeoff: Command, here: Path, worlds: Any) -> None:
    ended = bakeoff(*AGREE, "--scheme", "kernel:cubic,bbr", "--repeats", "1", "--json")
    assert ended.code == 0
    assert ended.err.count("our models stand in for kernel:cubic\n") == 1
    assert worlds["schemes"] == {
        "sim": ["cubic", "cubic", "bbr", "bbr"],
        "linux": ["kernel:cubic", "kernel:cubic", "bbr", "bbr"],
    }
    found = json.loads(ended.out)
    assert found["stand_ins"] == {"sim": {"kernel:cubic": "cubic"}}
    assert {row["scheme"] for row in found["cells"]} == {"kernel:cubic", "bbr"}
    assert "TCP Cubic (kernel)" in (here / "r" / "agreement.html").read_text()
    ended = bakeoff(*AGREE[:-1], "other", "--scheme", "kernel:cdg")
    assert ended.code == 2
    assert '"kernel:cdg" cannot run in sim, which has no model of it; ' in ended.err


def test_an_interrupt_says_how_to_go_on(bakeoff: Command, worlds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise Interrupted("interrupted: 1 of 6 runs are complete and kept")

    monkeypatch.setattr("bakeoff.worlds.runner.run_plan", interrupted)
    monkeypatch.delenv("SUDO_USER", raising=False)
    ended = bakeoff(*AGREE)
    assert ended.code == 130
    assert "; `bakeoff agree x.toml --worlds sim,linux --out r --resume` runs the rest" in ended.err
    monkeypatch.setenv("SUDO_USER", "somebody")
    assert "; `sudo bakeoff agree x.toml --worlds sim,linux" in bakeoff(*AGREE, "--resume").err


@pytest.mark.parametrize(
    ("worlds_option", "sentence"),
    [
        ("sim", '--worlds: "sim" must name two worlds, as in --worlds sim,linux'),
        ("sim,linux,emu", '--worlds: "sim,linux,emu" must name two worlds'),
        ("sim,sim", '--worlds: "sim" is there twice; name two different worlds'),
        ("sim,mars", '"mars" is not a world; '),
        ("sim,live", 'the world "live" is not part of this version; there are "sim", "emu", "linux"'),
        ("", '--worlds: "" must name two worlds'),
    ],
)
def test_wrong_worlds_are_refused(bakeoff: Command, worlds: Any, worlds_option: str, sentence: str) -> None:
    ended = bakeoff("agree", "x.toml", "--worlds", worlds_option)
    assert ended.code == 2
    assert sentence in ended.err
    assert ended.err.count("\n") == 1


def test_worlds_must_be_named(bakeoff: Command, worlds: Any) -> None:
    ended = bakeoff("agree", "x.toml")
    assert ended.code == 2
    assert "missing option '--worlds'" in ended.err


def test_a_folder_of_something_else_is_refused(bakeoff: Command, here: Path, worlds: Any) -> None:
    (here / "r").mkdir()
    (here / "r" / "notes.txt").write_text("mine")
    ended = bakeoff(*AGREE)
    assert ended.code == 2
    assert "r: not empty, and not an agreement of sim and linux; choose another --out" in ended.err
    ended = bakeoff(*AGREE[:-2], "--resume")
    assert ended.code == 2
    assert "--resume: there is no results/x/latest-agree; name the folder with --out, or omit --resume" in ended.err


def test_an_earlier_agreement_is_not_overwritten(bakeoff: Command, worlds: Any) -> None:
    assert bakeoff(*AGREE, "--repeats", "2").code == 0
    ended = bakeoff(*AGREE, "--repeats", "2")
    assert ended.code == 2
    assert "r/sim: already holds an experiment; add --resume to run what is missing" in ended.err
    ended = bakeoff(*AGREE, "--repeats", "1", "--resume")
    assert ended.code == 2
    assert "r/sim: holds a different experiment" in ended.err
