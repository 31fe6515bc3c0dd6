"""`bakeoff run` and what follows from it, over a pretended world."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff import suites
from bakeoff.recording import ResultFolder
from bakeoff.reports import words
from bakeoff.worlds import linux, sim
from bakeoff.worlds.outcome import Outcome, RunInvalid, RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ended

    from bakeoff.experiment import PlannedRun

    Command = Callable[..., Ended]

TWO_SCHEMES = ("run", "pantheon/india-ppp0", "--scheme", "cubic,bbr", "--repeats", "2")
FILE = """
    name = "x"
    duration = "5s"
    record = { level = "packets" }
    [[path.forward]]
    rate = "2.1Mbit/s"
    delay = "20ms"
    queue = { limit = "infinite" }
    [[flow]]
    scheme = "cubic"
    [[claim]]
    id = "fast"
    says = "It is fast"
    measure = "flow1.throughput_mbps"
    expect = ">= 0"
"""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tables_of: Callable[..., Any]) -> dict[str, Any]:
    """A pretended world; `world["fail"]` maps runs to errors, `world["done"]` lists what it ran."""
    state: dict[str, Any] = {"fail": {}, "done": []}

    def execute(run: PlannedRun) -> Any:
        if run.id in state["fail"]:
            raise state["fail"][run.id]
        state["done"].append(run.id)
        return Outcome(tables_of(run.scenario, run.seed))

    monkeypatch.setattr(sim, "WORLD", replace(sim.WORLD, execute=execute))
    return state


def test_a_run_leaves_recordings_and_a_report(bakeoff: Command, here: Path, world: Any) -> None:
    ended = bakeoff(*TWO_SCHEMES)
    assert ended.code == 0
    assert len(world["done"]) == 4
    latest = here / "results" / "india-ppp0" / "latest"
    assert {folder.name for folder in (latest / "runs").iterdir()} == set(world["done"])
    page = (latest / "report.html").read_text()
    assert "TCP Cubic" in page
    assert "not implemented" in page
    assert "TCP Cubic" in ended.out
    assert "4 runs in sim on " in ended.err
    assert "report: results/india-ppp0/" in ended.err


def test_json_is_one_object_on_stdout(bakeoff: Command, world: Any) -> None:
    ended = bakeoff(*TWO_SCHEMES, "--json", "--quiet")
    found = json.loads(ended.out)
    assert found["experiment"] == "india-ppp0"
    assert found["world"] == "sim"
    assert [run["id"] for run in found["runs"]] == ["cubic_run1", "bbr_run1", "cubic_run2", "bbr_run2"]
    assert {"flows", "total", "hops", "status", "seed", "cell"} <= found["runs"][0].keys()
    assert ended.err.count("\n") == 1


def test_what_a_stack_does_not_tell_is_null(bakeoff: Command) -> None:
    words = ("--set", "duration=2s", "--repeats", "1", "--quiet")
    for scheme, timeouts in (("cubic", 0), ("quinn:cubic", None)):
        change = f"flow.1.scheme={scheme}"
        assert bakeoff("run", "dumbbell/one-cubic", "--set", change, *words, "--out", scheme[:5]).code == 0
        ended = bakeoff("report", scheme[:5], "--json")
        assert json.loads(ended.out)["runs"][0]["flows"][0]["timeouts"] == timeouts


def test_a_failed_run_is_reported_and_resumed(bakeoff: Command, world: Any) -> None:
    world["fail"] = {"bbr_run1": RunStopped("the queue is on fire"), "cubic_run2": RunInvalid("3 packets too many")}
    ended = bakeoff(*TWO_SCHEMES)
    assert ended.code == 1
    assert "bakeoff: run bbr_run1 failed: the queue is on fire" in ended.err
    assert "bakeoff: run cubic_run2 invalid: 3 packets too many" in ended.err
    world["fail"], world["done"] = {}, []
    ended = bakeoff(*TWO_SCHEMES, "--resume")
    assert ended.code == 0
    assert sorted(world["done"]) == ["bbr_run1", "cubic_run2"]
    assert "2 runs (2 complete already) in sim" in ended.err


def test_repeats_can_be_added(bakeoff: Command, here: Path) -> None:
    words = ("run", "dumbbell/one-cubic", "--set", "duration=1s", "--quiet")

    def runs(folder: str) -> dict[str, bytes]:
        return {
            str(file.relative_to(here / folder)): file.read_bytes() for file in (here / folder / "runs").rglob("*.*")
        }

    assert bakeoff(*words, "--repeats", "3", "--out", "grown").code == 0
    before = runs("grown")
    ended = bakeoff(*words[:-1], "--set", "repeats=10", "--out", "grown", "--resume")
    assert (ended.code, "7 runs (3 complete already) in sim" in ended.err) == (0, True)
    assert bakeoff(*words, "--repeats", "10", "--out", "whole").code == 0
    assert runs("grown") == runs("whole")
    assert before.items() <= runs("grown").items()
    ended = bakeoff(*words, "--repeats", "9", "--out", "grown", "--resume")
    assert "(claim_repeats, repeats changed), so it cannot be resumed" in ended.err


def test_a_truncated_recording_is_run_again(bakeoff: Command, here: Path, world: Any) -> None:
    bakeoff(*TWO_SCHEMES)
    latest = here / "results" / "india-ppp0" / "latest"
    table = latest / "runs" / "cubic_run1" / "flows.parquet"
    table.write_bytes(table.read_bytes()[:100])
    ended = bakeoff("report", str(latest))
    assert ended.code == 2
    assert "flows.parquet: the table is cut short (100 of" in ended.err
    world["done"] = []
    assert bakeoff(*TWO_SCHEMES, "--resume").code == 0
    assert world["done"] == ["cubic_run1"]
    assert bakeoff("report", str(latest)).code == 0


def test_nothing_is_left_to_resume(bakeoff: Command, world: Any) -> None:
    bakeoff(*TWO_SCHEMES)
    world["done"] = []
    ended = bakeoff(*TWO_SCHEMES, "--resume")
    assert ended.code == 0
    assert world["done"] == []


def test_a_folder_in_which_another_process_runs_is_refused(bakeoff: Command, here: Path, world: Any) -> None:
    bakeoff(*TWO_SCHEMES, "--out", "mine")
    world["done"] = []
    (here / "mine" / "runs" / "cubic_run1" / "manifest.json").unlink()
    with ResultFolder.open(here / "mine").taken():
        ended = bakeoff(*TWO_SCHEMES, "--out", "mine", "--resume")
    sentence = "bakeoff: mine: another bakeoff is running in this folder; wait for it, or choose another --out\n"
    assert (ended.code, ended.err, world["done"]) == (2, sentence, [])


def test_runs_of_another_build_are_run_again(bakeoff: Command, here: Path, world: Any) -> None:
    bakeoff(*TWO_SCHEMES)
    for run, name, value in (("cubic_run1", "bakeoff", "0.0.1"), ("bbr_run2", "build", "0123456789ab")):
        file = here / "results" / "india-ppp0" / "latest" / "runs" / run / "manifest.json"
        found = json.loads(file.read_text())
        now = found["versions"][name]
        found["versions"][name] = value
        file.write_text(json.dumps(found))
        world["done"] = []
        ended = bakeoff(*TWO_SCHEMES, "--resume")
        assert ended.code == 0
        assert world["done"] == [run]
        sentence = f"1 complete run came from another build, to be run again: {name} {value} (now {now})\n"
        assert ended.err.startswith(f"bakeoff: {sentence}")
    world["done"] = []
    assert "another build" not in bakeoff(*TWO_SCHEMES, "--resume").err
    assert world["done"] == []


def test_runs_on_another_kernel_are_run_again(bakeoff: Command, world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bakeoff(*TWO_SCHEMES)
    world["done"] = []
    kernel = {"kernel": "6.12-0123456789abcdef"}
    monkeypatch.setattr(sim, "WORLD", replace(sim.WORLD, provenance=lambda: kernel))
    ended = bakeoff(*TWO_SCHEMES, "--resume")
    assert len(world["done"]) == 4
    assert "4 complete runs came from another build, to be run again: kernel unknown (now 6.12-0123456)" in ended.err


def test_resuming_nothing_is_refused(bakeoff: Command, world: Any) -> None:
    ended = bakeoff(*TWO_SCHEMES, "--resume")
    assert ended.code == 2
    assert "--resume: there is no results/india-ppp0/latest; name the folder with --out" in ended.err


def test_resuming_another_experiment_is_refused(bakeoff: Command, world: Any) -> None:
    bakeoff(*TWO_SCHEMES, "--out", "mine")
    ended = bakeoff(*TWO_SCHEMES, "--out", "mine", "--resume", "--set", "rate=3Mbit/s")
    assert ended.code == 2
    assert "mine: holds a different experiment or an older version of this one (path.forward changed), so" in ended.err
    ended = bakeoff(*TWO_SCHEMES, "--out", "mine", "--resume", "--repeats", "5", "--set", "duration=40s")
    assert "(claim_repeats, duration, repeats changed)" in ended.err
    ended = bakeoff(*TWO_SCHEMES, "--out", "mine")
    assert ended.code == 2
    assert "mine: already holds an experiment; add --resume" in ended.err


def test_a_folder_that_cannot_be_written_is_one_sentence(bakeoff: Command, here: Path, world: Any) -> None:
    (here / "file").write_text("")
    ended = bakeoff(*TWO_SCHEMES, "--out", "file/results")
    assert ended.code == 2
    assert "file/results: the result folder could not be written (not a directory)" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("words", [("run", "x.toml"), ("agree", "x.toml", "--worlds", "sim,linux")])
def test_a_name_that_is_too_long_is_one_sentence(
    bakeoff: Command, here: Path, world: Any, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linux, "WORLD", replace(linux.WORLD, prepare=lambda: None))
    (here / "x.toml").write_text(FILE)
    ended = bakeoff(*words, "--out", "o" * 300)
    assert ended.code == 2
    assert "could not be written (file name too long); choose a folder that you may write to with --out\n" in ended.err
    assert ended.err.count("\n") == 1


def test_an_experiment_that_cannot_be_read_is_one_sentence(bakeoff: Command, here: Path, world: Any) -> None:
    file = here / "mine" / "experiment.json"
    file.mkdir(parents=True)
    ended = bakeoff(*TWO_SCHEMES, "--out", "mine", "--resume")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "mine: the result folder could not be written (is a directory)" in ended.err
    file.rmdir()
    file.write_text("{")
    ended = bakeoff(*TWO_SCHEMES, "--out", "mine", "--resume")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "mine/experiment.json: damaged or cut short; run the experiment again into a new folder\n" in ended.err


def test_resuming_by_another_spelling(bakeoff: Command, here: Path, world: Any) -> None:
    (here / "x.toml").write_text(FILE)
    assert bakeoff("run", "x.toml", "--set", "path.rate=2Mbit/s", "--out", "mine").code == 0
    before = (here / "mine" / "experiment.json").read_bytes()
    world["done"] = []
    for name in (f"{here}/x.toml", "./x.toml"):
        assert bakeoff("run", name, "--set", "rate=2000kbit/s", "--out", "mine", "--resume").code == 0
    assert world["done"] == []
    assert (here / "mine" / "experiment.json").read_bytes() == before
    ended = bakeoff("run", "./x.toml", "--set", "rate=3Mbit/s", "--out", "mine", "--resume")
    assert "mine: holds a different experiment" in ended.err


@pytest.mark.parametrize("words", [("run", "x.toml", "--world", "emu"), ("agree", "x.toml", "--worlds", "sim,emu")])
def test_more_runs_at_a_time_than_a_world_takes_are_refused(
    bakeoff: Command, here: Path, world: Any, words: tuple[str, ...]
) -> None:
    (here / "x.toml").write_text(FILE)
    ended = bakeoff(*words, "--jobs", "2", "--out", "mine")
    sentence = "--jobs 2: runs in emu would disturb each other, so 1 goes at a time; omit --jobs"
    assert (ended.code, ended.err) == (2, f"bakeoff: {sentence}\n")
    assert not (here / "mine").exists()


def test_a_full_folder_stops_with_one_sentence(bakeoff: Command, world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    bakeoff(*TWO_SCHEMES, "--out", "mine", "--repeats", "1")
    monkeypatch.setattr("os.fsync", full)
    ended = bakeoff(*TWO_SCHEMES, "--out", "other")
    assert ended.code == 1
    assert "could not be written (no space left on device); make room, then repeat the command: run, agree" in ended.err
    assert ended.err.count("\n") == 1


def test_an_interrupt_while_the_report_is_written_says_that_the_runs_are_kept(
    bakeoff: Command, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("bakeoff.reports.html.render", interrupted)
        ended = bakeoff(*TWO_SCHEMES, "--out", "my runs")
    assert ended.code == 130
    assert ended.err.endswith("interrupted: the runs are kept; `bakeoff report 'my runs'` writes their report\n")
    assert bakeoff("report", "my runs").code == 0


def test_claims_decide_the_exit_code_if_asked(bakeoff: Command, here: Path, world: Any) -> None:
    (here / "x.toml").write_text(FILE)
    assert bakeoff("run", "x.toml", "--check").code == 0
    (here / "x.toml").write_text(FILE.replace(">= 0", ">= 1000"))
    assert bakeoff("run", "x.toml").code == 0
    ended = bakeoff("run", "x.toml", "--check")
    assert ended.code == 1
    assert "1 claim failed: fast" in ended.err


def test_report_and_compare(bakeoff: Command, here: Path, world: Any) -> None:
    bakeoff(*TWO_SCHEMES, "--out", "one")
    bakeoff(*TWO_SCHEMES, "--out", "two", "--set", "seed=2")
    written = bakeoff("report", "one", "--out", "page.html", "--json")
    assert json.loads(written.out)["experiment"] == "india-ppp0"
    assert (here / "page.html").read_text().startswith("<!doctype html>")
    assert "bbr" in bakeoff("compare", "one", "two").out.lower()
    compared = json.loads(bakeoff("compare", "one", "pantheon/india-ppp0", "--json").out)
    assert compared["right"] == "pantheon/india-ppp0"
    ended = bakeoff("compare", "one", "pantheon/india")
    assert ended.code == 2
    assert '"pantheon/india": neither a result folder nor a published reference' in ended.err


def test_progress_without_a_terminal_is_a_line(bakeoff: Command, world: Any) -> None:
    ended = bakeoff(*TWO_SCHEMES)
    assert "bakeoff: 4/4 runs, " in ended.err
    assert "simulated seconds per second" in ended.err
    assert "\x1b" not in ended.err + ended.out
    assert ended.err.splitlines()[-2] == "bakeoff: writing the report of 4 runs ..."
    assert bakeoff("report", "results/india-ppp0/latest").err.startswith("bakeoff: writing the report of 4 runs ...\n")
    assert bakeoff(*TWO_SCHEMES, "--quiet", "--out", "q").err.startswith("bakeoff: report: ")


def test_a_report_may_show_another_world_beside(bakeoff: Command, here: Path) -> None:
    # The same world stands in for another one, under its name: what is compared is which folder a number comes from.
    line = ("run", "pantheon/india-ppp0", "--set", "duration=25s", "--repeats", "1", "--quiet")
    assert bakeoff(*line, "--scheme", "cubic,vegas", "--out", "one").code == 0
    assert bakeoff(*line, "--scheme", "cubic", "--out", "two").code == 0
    refused = bakeoff("report", "one", "--beside", "two")
    assert refused.code == 2
    assert refused.err == "bakeoff: --beside two: is of sim too; `bakeoff compare` shows folders of one world\n"
    file = here / "two" / "experiment.json"
    file.write_text(file.read_text().replace('"world": "sim"', '"world": "emu"'))
    assert bakeoff("report", "one", "--beside", "two", "--out", "page.html").code == 0
    page = (here / "page.html").read_text()
    section = page[page.index('<section id="worlds">') :]
    section = section[: section.index("</section>")]
    numbers = re.findall(
        r"<td[^>]*><b>([^<]*)</b></td>", section[section.index("TCP Cubic") : section.index("TCP Vegas")]
    )
    assert len(numbers) == 6
    assert numbers[0::2] == numbers[1::2]
    assert words.MISSING in section[section.index("TCP Vegas") :], "the other folder has no Vegas"
    assert bakeoff("run", "dumbbell/one-cubic", "--set", "duration=1s", "--quiet", "--out", "three").code == 0
    refused = bakeoff("report", "one", "--beside", "three")
    assert refused.code == 2
    assert refused.err == "bakeoff: --beside three: holds one-cubic; give a folder of india-ppp0\n"


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ("rate=20Mbit/s", "path.forward.0.link.rate is 20Mbit/s there and 50Mbit/s in one"),
        ("duration=3s", "duration is 3s there and 2s in one"),
        ("rtt=90ms", "path.forward.0.delay is 45ms there and 25ms in one"),
        ("start_jitter=1ms", "start_jitter is 1ms there and 100ms in one"),
        ("flow.2.start=1s", "start of flow 2 is 1s there and 500ms in one"),
        ('flow.1.traffic={kind="finite",size="1MB"}', 'traffic.kind of flow 1 is "finite" there and "bulk" in one'),
        ('flow=[{scheme="cubic"}]', "start of flow 1 is 0ns there and 100ms in one"),
        ("probe=[{}]", "probe.1 is a table there and not set in one"),
        ("flow.1.scheme=reno", None),
        ('flow.1={scheme="prague",parameters={profile="linux"},start="100ms"}', None),
        ("seed=7", None),
        ("record.level=summary", None),
    ],
)
def test_what_is_shown_beside_has_the_same_path_traffic_and_times(
    bakeoff: Command, here: Path, change: str, difference: str | None
) -> None:
    (here / "x.toml").write_text(
        'name = "x"\nduration = "2s"\n[[path.forward]]\nrate = "50Mbit/s"\ndelay = "25ms"\nqueue = { limit = "1bdp" }\n'
        '[[flow]]\nscheme = "cubic"\nstart = "100ms"\n[[flow]]\nscheme = "cubic"\nstart = "500ms"\n'
    )
    assert bakeoff("run", "x.toml", "--quiet", "--out", "one").code == 0
    assert bakeoff("run", "x.toml", "--quiet", "--out", "two", "--set", change).code == 0
    file = here / "two" / "experiment.json"
    file.write_text(file.read_text().replace('"world": "sim"', '"world": "emu"'))
    ended = bakeoff("report", "one", "--beside", "two")
    if difference is None:
        assert ended.code == 0, ended.err
    else:
        expected = f"--beside two: another experiment of this name: {difference}; give a folder of the same experiment"
        assert (ended.code, ended.err) == (2, f"bakeoff: {expected}\n")


def test_cells_are_compared_with_those_of_the_same_place(bakeoff: Command, here: Path) -> None:
    line = ("run", "dumbbell/one-cubic", "--set", "duration=1s", "--quiet")
    assert bakeoff(*line, "--set", "matrix.rate=5Mbit/s,10Mbit/s", "--out", "one").code == 0
    assert bakeoff(*line, "--set", "matrix.rate=10Mbit/s,20Mbit/s", "--out", "some").code == 0
    assert bakeoff(*line, "--set", "matrix.rate=20Mbit/s", "--out", "none").code == 0
    assert bakeoff(*line, "--set", "matrix.rate=5Mbit/s,10Mbit/s", "--set", "loss=1%", "--out", "lossy").code == 0
    for name in ("some", "none", "lossy"):
        file = here / name / "experiment.json"
        file.write_text(file.read_text().replace('"world": "sim"', '"world": "emu"'))
    assert bakeoff("report", "one", "--beside", "some").code == 0
    assert bakeoff("report", "one", "--beside", "none").err == (
        "bakeoff: --beside none: has no cell of one; give a folder of the same experiment\n"
    )
    assert "--beside lossy (rate 5Mbit/s): another experiment of this name: path.forward.0.loss is 0.01 there" in (
        bakeoff("report", "one", "--beside", "lossy").err
    )


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A family of two suites."""
    members = ["dumbbell/rtt-fairness", "dumbbell/three-cubic"]
    monkeypatch.setattr(suites, "families", lambda: {"dumbbell": members})
    return members


SHORT = ("--set", "duration=12s", "--repeats", "1")


def test_a_family_runs_all_its_suites_and_gathers_their_claims(
    bakeoff: Command, here: Path, world: Any, family: list[str]
) -> None:
    ended = bakeoff("run", "dumbbell", *SHORT)
    assert ended.code == 0
    root = here / "results" / "dumbbell" / "latest"
    assert sorted(f"dumbbell/{place.name}" for place in root.iterdir() if place.is_dir()) == family
    page = (root / "claims.html").read_text()
    assert 'href="three-cubic/report.html"' in page
    assert "Equal Cubic flows share equally" in page
    assert "Equal Cubic flows share equally" in ended.out
    assert "all claims: results/dumbbell/" in ended.err
    done = len(world["done"])
    assert bakeoff("run", "dumbbell", *SHORT, "--resume").code == 0
    assert len(world["done"]) == done


def test_a_family_is_one_json_object_and_may_fail_on_claims(bakeoff: Command, world: Any, family: list[str]) -> None:
    ended = bakeoff("run", "dumbbell", *SHORT, "--json", "--check")
    found = json.loads(ended.out)
    assert found["family"] == "dumbbell"
    assert len(found["experiments"]) == len(family)
    broken = [c["id"] for e in found["experiments"] for c in e["claims"] if c["verdict"] == "fails"]
    assert broken
    assert ended.code == 1
    assert f"failed: {broken[0]}" in ended.err


def test_a_family_is_told_from_a_suite(bakeoff: Command, family: list[str]) -> None:
    for command in (("check", "dumbbell"), ("show", "dumbbell")):
        ended = bakeoff(*command)
        assert ended.code == 2
        assert ended.err.endswith('"dumbbell" is a family of suites; name one of them: ' + ", ".join(family) + "\n")


def test_the_world_is_named_once(bakeoff: Command, world: Any) -> None:
    ended = bakeoff(*TWO_SCHEMES, "--set", "world=emu", "--world", "sim")
    assert ended.code == 2
    assert ended.err == "bakeoff: --world sim: --set world=emu names a world already; keep one of them\n"


def test_names_are_suggested_in_whatever_case(bakeoff: Command) -> None:
    assert 'did you mean "cubic"?' in bakeoff("run", "pantheon/india-ppp0", "--scheme", "CUBIC").err


def test_the_cores_that_are_told_are_there(bakeoff: Command, world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: {0, 1})
    assert "4 runs in sim on 2 cores" in bakeoff(*TWO_SCHEMES, "--jobs", "3").err


def test_a_queue_without_limit_is_told_once(bakeoff: Command, here: Path, world: Any) -> None:
    (here / "x.toml").write_text("repeats = 3\n" + FILE.replace('queue = { limit = "infinite" }', ""))
    for line in (("check", "x.toml"), ("run", "x.toml", "--out", "one"), ("run", "x.toml", "--dry-run")):
        ended = bakeoff(*line)
        assert ended.err.count("bakeoff: x.toml: forward.0 has a queue without limit") == 1, line
        assert "without limit" not in ended.out
    assert "without limit" not in bakeoff("run", "x.toml", "--out", "two", "--quiet").err


def test_an_export_says_what_it_leaves_out(bakeoff: Command, world: Any) -> None:
    world["fail"] = {"bbr_run2": RunStopped("flow 1: no")}
    assert bakeoff(*TWO_SCHEMES, "--out", "one", "--set", "record.level=series").code == 1
    ended = bakeoff("export", "one", "--format", "flent")
    assert "bakeoff: 3 files of 3 runs in one/flent\n" in ended.err
    assert "1 run left out, which did not end well: `bakeoff report one` says why" in ended.err


def test_runs_that_pantheon_would_not_count_have_other_numbers(bakeoff: Command, here: Path) -> None:
    short = FILE.replace('scheme = "cubic"', 'scheme = "cubic"\nstart = "2s"')
    (here / "short.toml").write_text(short)
    ended = bakeoff(
        "run", "short.toml", "--quiet", "--set", "duration=20s", "--set", "flow.1.stop=6s", "--repeats", "3"
    )
    assert ended.code == 0
    line = next(line for line in ended.out.splitlines() if "without Pantheon's rules" in line)
    number = ended.out.splitlines()[ended.out.splitlines().index(line) + 1].split()
    assert "Throughput (Mbit/s)" in line
    assert 1.5 < float(number[2]) < 2.4, "all runs"
    assert re.search(r"^TCP Cubic +0 of 3 ", ended.out, re.MULTILINE)
    (told,) = (line for line in ended.out.splitlines() if "not counted" in line)
    assert re.match(r"run1 and 2 runs more: not counted, as Pantheon would: arrivals span", told)


def test_a_family_is_shown_before_it_runs(bakeoff: Command, world: Any, family: list[str]) -> None:
    ended = bakeoff("run", "dumbbell", "--dry-run")
    assert ended.code == 0
    assert ended.err.count("nothing was run") == len(family)
    assert not world["done"]
