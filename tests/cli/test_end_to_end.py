"""The real core behind the real command line, each in a process of its own."""

from __future__ import annotations

import filecmp
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Start = Callable[..., subprocess.Popen[str]]

# mahimahi's own traces are not ours to ship: they are looked for beside the checkout.
TRACES = Path(os.environ.get("BAKEOFF_TRACES", Path(__file__).parents[3] / "shared" / "traces"))

# Three runs of a moment, and two that take long enough to be interrupted.
LONG = """
name = "long"
duration = "30s"
[[path.forward]]
delay = "10ms"
queue = { limit = "1bdp" }
[[flow]]
scheme = "reno"
[record]
level = "summary"
[matrix]
rate = ["1Mbit/s", "2Mbit/s", "3Mbit/s", "1Gbit/s", "1.1Gbit/s"]
"""


def complete(folder: Path) -> set[str]:
    """Names of the runs that are on disk."""
    runs = folder / "runs"
    return {run.name for run in runs.iterdir() if not run.name.startswith(".")} if runs.is_dir() else set()


def test_an_interrupted_experiment_is_resumed(start: Start, here: Path) -> None:
    (here / "long.toml").write_text(LONG)
    process = start("run", "long.toml", "--jobs", "2", "--out", "r")
    deadline = time.monotonic() + 60
    while len(complete(here / "r")) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    sentence = "bakeoff: interrupted: 3 of 5 runs are complete and kept; "
    assert f"{sentence}`bakeoff run long.toml --jobs 2 --out r --resume` runs the rest\n" in err
    assert "Traceback" not in err
    kept = complete(here / "r")
    assert kept == {"1Mbit-s_run1", "2Mbit-s_run1", "3Mbit-s_run1"}
    before = {name: (here / "r" / "runs" / name / "manifest.json").stat().st_mtime_ns for name in kept}
    process = start("run", "long.toml", "--jobs", "2", "--out", "r", "--resume")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert len(complete(here / "r")) == 5
    assert all((here / "r" / "runs" / name / "manifest.json").stat().st_mtime_ns == at for name, at in before.items())


def test_recordings_do_not_depend_on_the_number_of_threads(start: Start, here: Path) -> None:
    for jobs in ("1", "4"):
        process = start("run", "pantheon/india-ppp0", "--scheme", "reno", "--jobs", jobs, "--out", jobs)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    files = sorted(file.relative_to(here / "1") for file in (here / "1" / "runs").rglob("*") if file.is_file())
    assert len(files) == 3 * 9
    same, different, missing = filecmp.cmpfiles(here / "1", here / "4", [str(file) for file in files], shallow=False)
    assert (len(same), different, missing) == (len(files), [], [])


def test_a_folder_that_takes_no_more_is_one_sentence(here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bakeoff", "run", "dumbbell/one-cubic", "--set", "flow.1.scheme=reno", "--out", "r"],
        capture_output=True,
        text=True,
        cwd=here,
        check=False,
        # Python would leave the cached bytecode of a module cut short, and every later start would stumble over it.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)),
    )
    assert done.returncode == 1
    assert "could not be written (file too large); make room, then repeat the command: run, agree" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("bakeoff: r/")
    assert "Traceback" not in done.stderr
    assert complete(here / "r") == set()


@pytest.mark.parametrize("name", ["Verizon-LTE-short.down", "TMobile-LTE-short.up", "TMobile-LTE-driving.down"])
def test_a_recorded_trace_can_be_run(start: Start, name: str) -> None:
    if not (TRACES / name).is_file():
        pytest.skip("needs mahimahi's traces: set BAKEOFF_TRACES to their folder")
    change = f"path.trace={TRACES / name}"
    process = start("run", "cellular/trace", "--set", change, "--set", "scheme=reno", "--repeats", "1", "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    (run,) = json.loads(out)["runs"]
    total = run["total"]
    assert 0 < total["throughput_mbps"] < 100
    assert 0.5 < total["utilisation"] <= 1
    assert total["loss"] == 0
