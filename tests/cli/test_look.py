"""The commands that only look: list, show, check, doctor, run --dry-run."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import termios
import tomllib
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from bakeoff import suites
from bakeoff.cli import output
from bakeoff.cli.list import KINDS
from bakeoff.errors import RunFailed
from bakeoff.worlds import privilege

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ended

    Command = Callable[..., Ended]


@pytest.mark.parametrize("kind", KINDS)
def test_lists_are_tables_and_json(bakeoff: Command, kind: str) -> None:
    table = bakeoff("list", kind)
    rows = json.loads(bakeoff("list", kind, "--json").out)
    assert table.code == 0
    assert len(table.out.splitlines()) >= len(rows) + 1 > 1
    assert all(next(iter(row.values())) in table.out for row in rows)
    assert "\x1b" not in table.out


@pytest.mark.parametrize(
    ("number", "text"), [(999, "999 B"), (999.6, "1 kB"), (52_400, "52.4 kB"), (999_600, "1 MB"), (2e15, "2000 TB")]
)
def test_sizes_have_no_exponent(number: float, text: str) -> None:
    assert output.amount_of_bytes(number) == text


def test_a_scheme_is_shown_by_the_name_that_says_it_is_bakeoffs(bakeoff: Command) -> None:
    assert bakeoff("show", "own:cubic").out == bakeoff("show", "cubic").out


def test_the_list_of_schemes_says_where_they_run_and_what_they_need(bakeoff: Command) -> None:
    rows = {row["scheme"]: row for row in json.loads(bakeoff("list", "schemes", "--json").out)}
    assert rows["cubic"]["worlds"] == "sim, emu, linux"
    assert rows["quinn:cubic"]["worlds"] == "sim, emu"
    assert rows["copa"]["profiles"].startswith("paper, ")
    shown = bakeoff("show", "copa").out.splitlines()
    source = "genericCC at 80b516c, as Pantheon named it in January 2018: delta constant"
    assert any(line.split(maxsplit=1) == ["pantheon-2018-01", source] for line in map(str.rstrip, shown))
    assert (rows["indigo"]["needs"], rows["cubic"]["needs"]) == ("a weights file", "")


def test_defaults_are_shown_as_they_are(bakeoff: Command) -> None:
    shown = bakeoff("show", "dualpi2").out
    assert re.search(r"^alpha +0\.16015625 ", shown, re.MULTILINE)
    assert re.search(r"^beta +3\.19921875 ", shown, re.MULTILINE)


def test_schemes_and_queues_show_where_they_deviate(bakeoff: Command) -> None:
    assert "\nDeviations: When a reduction is undone, the window returns" in bakeoff("show", "cubic").out
    assert "\nDeviations:\n- The kernel corrects the packets in flight" in bakeoff("show", "bbr").out
    assert "\nDeviations: The packet that the link is sending" in bakeoff("show", "fifo").out


@pytest.mark.parametrize("kind", ["schemes", "queues"])
@pytest.mark.parametrize("width", [50, 80, 120, 200])
def test_a_list_is_whole_in_a_terminal_of_any_width(bakeoff: Command, kind: str, width: int) -> None:
    rows = json.loads(bakeoff("list", kind, "--json").out)
    out = in_terminal(width, "list", kind)
    lines = out.splitlines()
    assert all(cell_len(line) <= width for line in lines)
    # Long cells go on in the next line.
    words = " ".join(out.split())
    for row in rows:
        assert all(" ".join(cell.split()) in words for cell in row.values())
    if width >= 80:
        by_name = [line for line in lines[1:] if not line.startswith(" ")]
        assert [line.split()[0] for line in by_name] == [next(iter(row.values())) for row in rows]


@pytest.mark.parametrize("name", ["copa", "fq_codel", "jain"])
def test_what_is_shown_breaks_between_words_in_a_terminal(bakeoff: Command, name: str) -> None:
    shown = in_terminal(60, "show", name)
    assert all(cell_len(line) <= 60 for line in shown.splitlines())
    prose = bakeoff("show", name).out.partition("\n\nparameter ")[0]
    assert " ".join(prose.split()) in " ".join(shown.split())


def test_in_a_pipe_a_list_is_one_table(bakeoff: Command) -> None:
    rows = json.loads(bakeoff("list", "schemes", "--json").out)
    head, *lines = bakeoff("list", "schemes").out.splitlines()
    assert all(column in head for column in rows[0])
    assert len(lines) == len(rows)
    assert all(row["source"] in line for row, line in zip(rows, lines, strict=True))


def in_terminal(width: int, *words: str) -> str:
    """What a command writes to a terminal of this width, without styles."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, width))
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-m", "bakeoff", *words]
    with subprocess.Popen(command, stdout=theirs, env=environment):
        os.close(theirs)
        out = b""
        # The end of a terminal whose other side is closed is an error.
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 1 << 16):
                out += piece
        os.close(ours)
    return re.sub(r"\x1b\[[\d;]*m", "", out.decode())


@pytest.mark.parametrize("name", suites.names())
def test_a_suite_is_shown_as_a_file_that_can_be_run(bakeoff: Command, here: Path, name: str) -> None:
    shown = bakeoff("show", name)
    assert shown.out.startswith("# # ")
    assert tomllib.loads(shown.out) == tomllib.loads(suites.file(name).read_text())
    (here / "my.toml").write_text(shown.out)
    (here / "a.trace").write_text("1\n")
    change = ["--set", "path.trace=a.trace"] if name == "cellular/trace" else []
    checked = bakeoff("check", "my.toml", *change)
    assert checked.code == 0
    assert checked.out.startswith("my.toml: sound; ")


@pytest.mark.parametrize("name", ["nepal-aws-india", "cubic", "fifo", "jain", "owd_p95_ms", "schema"])
def test_show(bakeoff: Command, name: str) -> None:
    shown = bakeoff("show", name)
    assert shown.code == 0
    assert len(shown.out) > 20


def test_the_schema_is_a_json_schema(bakeoff: Command) -> None:
    schema = json.loads(bakeoff("show", "schema").out)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert {"name", "path", "flow", "matrix", "claim"} <= schema["properties"].keys()
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Hop"]["properties"]["delay"]["default"] == "0s"


def test_check_names_axes_and_claims(bakeoff: Command) -> None:
    assert bakeoff("check", "dumbbell/rtt-fairness").out.startswith(
        "dumbbell/rtt-fairness: sound; 25 runs, axes scheme (5)"
    )


def test_check_refuses_what_run_refuses(bakeoff: Command, here: Path) -> None:
    (here / "my.toml").write_text(
        """
        name = "my"
        duration = "1s"
        [[path.forward]]
        rate = "5Mbit/s"
        queue = { kind = "codel", target = "200ms", interval = "100ms" }
        [[flow]]
        scheme = "cubic"
        """
    )
    checked, run = bakeoff("check", "my.toml"), bakeoff("run", "my.toml")
    assert (checked.code, run.code) == (2, 2)
    assert checked.out == ""
    assert "is longer than the interval" in checked.err
    assert checked.err == run.err


def test_the_list_of_commands_is_not_cut(bakeoff: Command) -> None:
    assert "..." not in bakeoff("--help").out.partition("Commands:")[2]


def test_a_family_that_is_nearly_right_is_suggested(bakeoff: Command) -> None:
    assert 'did you mean "sce-l4s"?' in bakeoff("run", "sce-l4").err
    assert "`bakeoff list suites` names the suites" in bakeoff("run", "qqqqqqqq").err


def test_a_dry_run_shows_the_plan_and_runs_nothing(bakeoff: Command, here: Path) -> None:
    shown = bakeoff("run", "pantheon/india-ppp0", "--dry-run")
    assert shown.code == 0
    assert "cubic_run3" in shown.out
    assert "27 runs, about " in shown.err
    assert "taova needs a tree file: --set variant.taova.parameters.tree=FILE" in shown.err
    assert "nothing was run" in shown.err
    assert list(here.iterdir()) == []


def test_a_dry_run_as_json_has_every_scenario(bakeoff: Command) -> None:
    shown = bakeoff("run", "pantheon/india-ppp0", "--dry-run", "--json", "--scheme", "bbr,vegas", "--repeats", "2")
    found = json.loads(shown.out)
    assert [run["id"] for run in found["runs"]] == ["bbr_run1", "vegas_run1", "bbr_run2", "vegas_run2"]
    assert found["runs"][0]["scenario"]["flows"][2]["start_ns"] == 20 * 10**9
    assert found["experiment"]["name"] == "india-ppp0"
    assert found["cpu_s"] > 0
    assert found["report_cpu_s"] > found["cpu_s"]


def test_a_dry_run_in_real_time_says_how_long_it_takes(bakeoff: Command) -> None:
    words = ("run", "dumbbell/one-cubic", "--dry-run", "--repeats", "2")
    assert " 2 runs, about 500,000 packets, 0.3 s of CPU, 1.2 s for the report, and " in bakeoff(*words).err
    shown = bakeoff(*words, "--world", "emu")
    assert shown.out.splitlines()[0].split() == ["run", "repeat", "packets", "time", "disk"]
    assert " of time, 1.2 s for the report, and " in shown.err


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that may not emulate, so that the doctor need not measure."""

    def refuse() -> None:
        raise RunFailed("the emu world needs something")

    monkeypatch.setattr(privilege, "check", refuse)


@pytest.mark.usefixtures("unmeasured")
def test_the_doctor_finds_this_machine_sound(bakeoff: Command) -> None:
    findings = {entry["subject"]: entry for entry in json.loads(bakeoff("doctor", "--json").out)}
    assert findings["core"]["fine"]
    assert findings["polars"]["fine"]
    needs = "the emu world needs something"
    assert findings["emu world"] == {"subject": "emu world", "fine": True, "text": needs, "is_there": False}
    assert findings["disk"]["text"].endswith("free here") or not findings["disk"]["fine"]


@pytest.mark.usefixtures("unmeasured")
def test_the_doctor_does_not_call_a_world_ok_that_is_not_there(bakeoff: Command) -> None:
    rows = bakeoff("doctor").out.splitlines()
    assert any(re.match(r"-- +emu world +the emu world needs something", row) for row in rows)
    assert any(re.match("ok +core ", row) for row in rows)


@pytest.mark.usefixtures("unmeasured")
def test_the_doctor_says_what_is_missing(bakeoff: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bakeoff.cli.doctor.PACKAGES", ("no-such-package",))
    ended = bakeoff("doctor")
    assert ended.code == 1
    assert "no-such-package" in ended.out
    assert "is missing; start ./bakeoff once to install it" in ended.out
