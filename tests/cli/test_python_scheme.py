"""A scheme in Python from the command line: where it is looked for, what it is called, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).resolve().parents[2]
EXAMPLE = (FOLDER / "examples" / "my_scheme.py").read_text()
EXPERIMENT = """
name = "own"
duration = "300ms"
[[path.forward]]
rate = "10Mbit/s"
delay = "20ms"
queue = { limit = "1bdp" }
[[flow]]
[matrix]
scheme = ["reno"]
"""


def experiment(folder: Path) -> Path:
    """An experiment, and a folder beside it with the example."""
    (folder / "own.toml").write_text(EXPERIMENT)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "my_scheme.py").write_text(EXAMPLE)
    return elsewhere


def test_a_path_is_relative_to_where_it_is_typed(here: Path, bakeoff: Callable[..., Any], monkeypatch: Any) -> None:
    monkeypatch.chdir(experiment(here))
    schemes = "cubic,./my_scheme.py:MyScheme"
    ended = bakeoff("run", "../own.toml", "--scheme", schemes, "--json", "--quiet", "--jobs", "2", "--out", "../out")
    assert ended.code == 0, ended.err
    runs = json.loads(ended.out)["runs"]
    assert [run["cell"]["scheme"] for run in runs] == ["cubic", "MyScheme"]
    shown = bakeoff("report", "../out")
    assert "\nMyScheme " in shown.out
    assert "my_scheme.py" in (here / "out" / "runs" / "MyScheme_run1" / "manifest.json").read_text()


def test_the_command_of_the_example_works(here: Path, bakeoff: Callable[..., Any], monkeypatch: Any) -> None:
    command = next(line for line in EXAMPLE.splitlines() if line.startswith("bakeoff run"))
    monkeypatch.chdir(FOLDER)
    ended = bakeoff(*command.split()[1:], "--quiet", "--repeats", "1", "--out", str(here / "out"))
    assert ended.code == 0, ended.err
    assert "\nMyScheme " in ended.out


@pytest.mark.parametrize("names", ["", "cubic,", "cubic, ,bbr"])
def test_a_name_that_is_missing_is_told(here: Path, bakeoff: Callable[..., Any], names: str) -> None:
    experiment(here)
    ended = bakeoff("check", "own.toml", "--scheme", names)
    assert ended.code == 2
    assert ended.err == f'bakeoff: --scheme "{names}": a name is missing; write them as in --scheme cubic,bbr\n'


def test_a_path_in_the_file_is_relative_to_the_file(here: Path, bakeoff: Callable[..., Any], monkeypatch: Any) -> None:
    elsewhere = experiment(here)
    text = EXPERIMENT.replace('["reno"]', '["./elsewhere/my_scheme.py:MyScheme"]')
    (here / "own.toml").write_text(text)
    monkeypatch.chdir(elsewhere)
    ended = bakeoff("check", "../own.toml")
    assert (ended.code, ended.out) == (0, "../own.toml: sound; 1 run, axes scheme (1)\n")


def test_an_edited_file_is_named_where_it_cannot_be_resumed(here: Path, bakeoff: Callable[..., Any]) -> None:
    edited = experiment(here) / "my_scheme.py"
    words = ("run", "own.toml", "--scheme", "reno,./elsewhere/my_scheme.py:MyScheme", "--out", "r", "--quiet")
    assert bakeoff(*words).code == 0
    edited.write_text(EXAMPLE.replace("/ 2", "/ 3"))
    ended = bakeoff(*words, "--resume")
    assert ended.code == 2
    assert f"r: holds a different experiment or an older version of this one ({edited} changed), so" in ended.err


def test_a_failure_is_a_run_that_failed(here: Path, bakeoff: Callable[..., Any]) -> None:
    elsewhere = experiment(here)
    broken = EXAMPLE.replace("self.cwnd += self.mss", "self.cwnd += self.no_such")
    (elsewhere / "my_scheme.py").write_text(broken)
    ended = bakeoff("run", "own.toml", "--scheme", "cubic,./elsewhere/my_scheme.py:MyScheme", "--quiet")
    assert ended.code == 1
    line = 1 + next(number for number, text in enumerate(broken.splitlines()) if "no_such" in text)
    assert (
        f"my_scheme.py:{line}: MyScheme.on_ack: AttributeError: 'MyScheme' object has no attribute 'no_such'"
        in ended.err
    )
    assert "run MyScheme_run1 failed: flow 1: " in ended.err
    missing = bakeoff("run", "own.toml", "--scheme", "./elsewhere/my_scheme.py:Other")
    assert missing.code == 2
    assert "my_scheme.py: has no class Other; known are MyScheme" in missing.err
