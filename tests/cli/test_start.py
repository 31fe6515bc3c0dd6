"""Help, completion and errors of the command line itself."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bakeoff.cli import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ended

    Command = Callable[..., Ended]

HEAVY = ("polars", "pydantic", "rich", "numpy", "jinja2", "importlib.metadata", "bakeoff.experiment", "bakeoff.reports")

PROBE = f"""
import json, sys
from bakeoff.cli import main
try:
    main(sys.argv[1:], prog_name="bakeoff")
except SystemExit as ended:
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    print("PROBE" + json.dumps([ended.code, loaded]))
"""


@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", PROBE, *words], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.partition("PROBE")[2]) == [0, []]
    assert "Usage: bakeoff" in done.stdout


def test_the_help_names_every_command(bakeoff: Command) -> None:
    shown = bakeoff("--help")
    assert shown.code == 0
    assert all(name in shown.out for name in COMMANDS)
    assert "_BAKEOFF_COMPLETE=bash_source" in shown.out
    assert shown.err == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["frob"], 'there is no command "frob"; there are run, report'),
        (["run"], "missing argument 'SUITE|FILE'; see bakeoff run --help"),
        (["run", "x", "--frob"], "no such option"),
        (["run", "x", "--seed", "5"], "no such option '--seed'; it is a key of the experiment: --set seed=VALUE"),
        (["check", "x", "--rtt=5ms"], "no such option '--rtt'; it is a key of the experiment: --set rtt=VALUE"),
        (["report", "x", "--seed", "5"], "no such option '--seed'; see bakeoff report --help"),
        (["run", "own"], '"own": neither a suite nor a file; `bakeoff list suites` names the suites'),
        (["run", "two-bbr"], '"two-bbr": neither a suite nor a file; did you mean "bbr-loss/two-bbr-one-cubic"'),
        (
            ["run", "x", "--jobs", "many"],
            "invalid value for '--jobs': 'many' is not a whole number; see bakeoff run --help",
        ),
        (
            ["run", "x", "--scheme", "cubic", "bbr", "copa"],
            "arguments (bbr copa); separate names by commas and without spaces, as in --scheme cubic,bbr; see bakeoff",
        ),
        (
            ["check", "--scheme", "cubic,", "./own.py:Own", "x"],
            "argument (x); separate names by commas and without spaces, as in --scheme cubic,./own.py:Own; see",
        ),
        (
            ["agree", "x", "--worlds", "sim", "linux"],
            "separate names by commas and without spaces, as in --worlds sim,linux; see bakeoff agree --help",
        ),
        (
            ["run", "x", "--set", "rate=2Mbit/s", "rtt=5ms"],
            "(rtt=5ms); repeat the option, as in --set rate=2Mbit/s --set rtt=5ms; see bakeoff run --help",
        ),
        (["run", "x", "y"], "got unexpected extra argument (y); see bakeoff run --help"),
        (["run", "x", "--repeats", "0"], "invalid value for '--repeats': 0 is not in the range x>=1"),
        (["run", "x", "--world", "mars"], "invalid value for '--world': 'mars' is not one of"),
        (["list"], "Choose from: suites, schemes, queues, paths, metrics; see bakeoff list --help"),
        (["list", "cakes"], "'cakes' is not one of 'suites', 'schemes', 'queues', 'paths', 'metrics'"),
        (["show", "cubik"], '"cubik" is no suite, path, scheme, queue or metric; did you mean "cubic"?'),
        (["show", "kernel:cubic"], '"kernel:cubic" is code of the kernel; `bakeoff show cubic` describes bakeoff\'s'),
        (["show", "nosuch"], '"nosuch" is no suite, path, scheme, queue or metric; write one of `bakeoff list suites|'),
        (["show", "allegro"], 'metric; did you mean "pcc" (PCC Allegro)?'),
        (["run", "dumbbell/one-cubic", "--scheme", "allegro"], 'is not a scheme; did you mean "pcc" (PCC Allegro)?'),
        (["show", "kernel:cubik"], '"kernel:cubik" is no suite, path, scheme, queue or metric'),
        (["check", "nothing.toml"], '"nothing.toml": neither a suite nor a file'),
        (["report", "nowhere"], "nowhere"),
    ],
)
def test_a_wrong_command_line_is_one_sentence_and_2(bakeoff: Command, words: list[str], sentence: str) -> None:
    ended = bakeoff(*words)
    assert ended.code == 2
    assert ended.err.startswith("bakeoff: ")
    assert sentence in ended.err
    assert ended.err.count("\n") == 1
    assert ended.out == ""


@pytest.mark.parametrize("words", [(), ("kernel",)])
def test_a_command_line_without_a_command_shows_what_there_is(bakeoff: Command, words: tuple[str, ...]) -> None:
    ended = bakeoff(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == bakeoff(*words, "--help").out


def test_other_worlds_are_refused(bakeoff: Command) -> None:
    ended = bakeoff("run", "dumbbell/one-cubic", "--set", "world=live")
    assert ended.code == 2
    assert '--set world=live: world: "live" is not part of this version' in ended.err
    assert "[sim|emu|linux]" in bakeoff("run", "--help").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scheme", "cubic bbr"], '--scheme "cubic bbr": separate names by commas, as in --scheme cubic,bbr'),
        (["--scheme", "cubik"], '--scheme cubik: "cubik" is not a scheme; did you mean "cubic"?'),
        (
            ["--scheme", "bbr", "--scheme", "bbr"],
            '--scheme bbr,bbr: matrix.scheme: "bbr" is there twice; keep one of them',
        ),
        (
            ["--scheme", "bbr", "--set", "matrix.scheme=vegas"],
            '--scheme bbr: the axis "scheme" was set by --set matrix.scheme=vegas already; keep one of them',
        ),
        (
            ["--repeats", "2", "--set", "repeats=3"],
            "--repeats 2: repeats was set by --set repeats=3 already; keep one of them",
        ),
        (["--repeats", "20000"], "--repeats 20000: repeats: must be at most 10000, not 20000"),
    ],
)
def test_a_sentence_names_the_option_that_was_given(bakeoff: Command, words: list[str], said: str) -> None:
    assert bakeoff("check", "pantheon/india-ppp0", *words).err == f"bakeoff: {said}\n"


def test_a_check_that_takes_long_says_so_before(bakeoff: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("dumbbell/one-cubic", "--set", "matrix.rate=2Mbit/s,3Mbit/s", "--set", "matrix.rtt=20ms,30ms")
    assert bakeoff("check", *words).err == ""
    monkeypatch.setattr("bakeoff.cli.execution._MANY_CELLS", 4)
    said = "bakeoff: checking 4 cells, about 0.1 s ...\n"
    assert bakeoff("check", *words).err == said
    assert bakeoff("run", *words, "--dry-run").err.startswith(said)
    assert "checking" not in bakeoff("run", *words, "--dry-run", "--quiet").err
    monkeypatch.setattr("bakeoff.experiment.limits.MAX_RUNS", 3)
    assert "checking" not in bakeoff("check", *words).err


def test_suites_that_end_in_a_name_are_all_suggested(bakeoff: Command) -> None:
    said = 'did you mean "mixed/india-ppp0" or "pantheon/india-ppp0"?'
    assert bakeoff("run", "india-ppp0").err == f'bakeoff: "india-ppp0": neither a suite nor a file; {said}\n'


def test_a_file_is_meant_where_only_its_end_lacks(bakeoff: Command, here: Path) -> None:
    (here / "own.toml").write_text("")
    assert bakeoff("run", "own").err == 'bakeoff: "own": neither a suite nor a file; did you mean "own.toml"?\n'


def test_the_folder_above_the_latest_names_it(bakeoff: Command, here: Path) -> None:
    assert bakeoff("run", "dumbbell/one-cubic", "--set", "duration=1s", "--repeats", "1", "--quiet").code == 0
    ended = bakeoff("report", "results/one-cubic")
    assert ended.code == 2
    assert "no such file or directory); there is one at results/one-cubic/latest\n" in ended.err


def test_a_fault_of_ours_is_one_sentence_with_its_place(bakeoff: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise RuntimeError(f"no\n{name}")

    monkeypatch.setattr("bakeoff.suites.names", lambda: fail("names"))
    ended = bakeoff("list", "suites")
    assert ended.code == 1
    assert ended.err.startswith("bakeoff: internal error, a fault of bakeoff: RuntimeError in cli/list.py:")
    assert ended.err.endswith(": no names\n")


@pytest.mark.parametrize(("before", "code"), [("", 130), ("trap '' INT; ", 7)])
def test_ctrl_c_ends_the_imports_without_a_word_where_it_is_heard(here: Path, before: str, code: int) -> None:
    # It comes from the first of the modules that take long.
    (here / "click.py").write_text("import os\nos.kill(os.getpid(), 2)\nos._exit(7)\n")
    done = _in_a_shell(f"{before}PYTHONPATH={shlex.quote(str(here))} BAKEOFF --help; exit $?")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_a_closed_pipe_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "bakeoff", "show", "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""


def test_completion_offers_suites_and_options(start: Callable[..., subprocess.Popen[str]]) -> None:
    process = start(COMP_WORDS="bakeoff run pantheon/ind", COMP_CWORD="2", _BAKEOFF_COMPLETE="bash_complete")
    out, _ = process.communicate(timeout=60)
    suites = ["pantheon/india-aws-india", "pantheon/india-ppp0", "pantheon/india-ppp0-one-flow"]
    assert out.splitlines() == [f"plain,{suite}" for suite in suites]


def _in_a_shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line for a shell in which BAKEOFF is the program."""
    line = line.replace("BAKEOFF", f"{shlex.quote(sys.executable)} -m bakeoff")
    return subprocess.run(line, shell=True, capture_output=True, text=True, check=False)  # noqa: S602 - our own lines


@pytest.mark.parametrize("words", ["list schemes", "--help", "list schemes --json"])
@pytest.mark.parametrize(
    ("stdout", "code", "sentence"),
    [
        (">&-", 2, "standard output is closed, where results go; send it to a file, or to /dev/null"),
        (">/dev/full", 1, "standard output: no space left on device"),
    ],
)
def test_output_that_goes_nowhere_is_one_sentence(words: str, stdout: str, code: int, sentence: str) -> None:
    done = _in_a_shell(f"BAKEOFF {words} {stdout}")
    assert (done.returncode, done.stderr) == (code, f"bakeoff: {sentence}\n")


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_the_exit_code_is_right_where_nobody_can_read_the_sentence(stderr: str) -> None:
    assert _in_a_shell(f"BAKEOFF check nothing.toml {stderr}").returncode == 2


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    done = _in_a_shell(f"cd {tmp_path}; rmdir {tmp_path}; BAKEOFF check bbr-loss/clean --set seed=3")
    assert done.stderr == "bakeoff: the folder in which bakeoff was started: no such file or directory\n"
