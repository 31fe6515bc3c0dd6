"""The linux world from the command line: what is refused before anything runs, and how interrupts end it."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import signal
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.cli.doctor import Finding
from bakeoff.kernel import cache
from bakeoff.worlds import guest, scratch

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ended

    Command = Callable[..., Ended]
    Start = Callable[..., subprocess.Popen[str]]

FILE = """
    name = "x"
    duration = "5s"
    repeats = 2
    [[path.forward]]
    rate = "2Mbit/s"
    delay = "20ms"
    queue = { limit = "infinite" }
    [[flow]]
    [matrix]
    scheme = ["cubic", "bbr"]
"""
LINUX = ("run", "x.toml", "--world", "linux")
TRACE = ("--set", "rate={trace=[1,2]}")


@pytest.fixture
def built(here: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """An experiment in x.toml, and no kernel until `built(script)` puts a script in its place."""
    (here / "x.toml").write_text(FILE)
    (here / "scratch").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "cache"))
    monkeypatch.setenv("TMPDIR", str(here / "scratch"))
    monkeypatch.setattr(tempfile, "tempdir", None)

    def function(script: str) -> None:
        folder = cache.folder() / "1-abc"
        folder.mkdir(parents=True)
        kernel = folder / cache.KERNEL
        kernel.write_text(f"#!/bin/sh\n{script}\n")
        kernel.chmod(0o755)
        values: dict[str, Any] = {"str": "1-abc", "int": kernel.stat().st_size, "bool": False}
        fields = {field.name: values[str(field.type)] for field in dataclasses.fields(cache.Built)}
        (folder / cache.MANIFEST).write_text(json.dumps(fields))

    return function


NO_TRACE = "path.forward.0: the kernel has no link that follows a trace; give a rate or a schedule"
NO_KERNEL = "flow 1: kernel:{0} needs a real kernel; add --world linux"


@pytest.mark.parametrize(
    ("words", "cell", "sentence"),
    [
        (
            ("run", "x.toml", "--scheme", "cubic,kernel:bbr"),
            "kernel:bbr",
            NO_KERNEL.format("bbr") + ', or write "bbr" for bakeoff\'s own',
        ),
        (("run", "x.toml", "--scheme", "kernel:cdg"), "kernel:cdg", NO_KERNEL.format("cdg")),
        ((*LINUX, *TRACE), "cubic", NO_TRACE),
        ((*LINUX, *TRACE, "--dry-run"), "cubic", NO_TRACE),
        (("agree", "x.toml", "--worlds", "sim,linux", *TRACE), "cubic", NO_TRACE),
        (
            (*LINUX, "--set", "flow.1.send_jitter=1ms"),
            "cubic",
            "flow 1: send_jitter: real senders have no such setting; leave it out",
        ),
    ],
)
def test_what_the_world_cannot_run_is_refused_first(
    bakeoff: Command, here: Path, built: Any, *, words: tuple[str, ...], cell: str, sentence: str
) -> None:
    ended = bakeoff(*words)
    assert (ended.code, ended.err) == (2, f"bakeoff: x.toml (scheme {cell}): {sentence}\n")
    assert not (here / "results").exists()


@pytest.mark.parametrize("words", [LINUX, ("agree", "x.toml", "--worlds", "sim,linux")])
def test_without_a_kernel_nothing_is_run(
    bakeoff: Command, here: Path, built: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    ended = bakeoff(*words)
    assert ended.code == 1
    assert ended.err.startswith("bakeoff: no kernel is built yet")
    assert "`bakeoff kernel build`" in ended.err
    built("exit 1")
    monkeypatch.setattr(guest, "_PATH", str(here))
    ended = bakeoff(*words)
    assert ended.code == 1
    assert ended.err.startswith("bakeoff: the linux world needs setpriv, ")
    assert ended.err.count("\n") == 1
    assert not (here / "results").exists()


def test_a_dry_run_needs_no_kernel_and_knows_what_a_guest_costs(bakeoff: Command, built: Any) -> None:
    def cost(*words: str) -> Any:
        return json.loads(bakeoff("run", "x.toml", "--dry-run", "--json", *words).out)

    simulated, real = cost("--scheme", "cubic"), cost("--world", "linux", "--scheme", "cubic")
    own = cost("--world", "linux", "--scheme", "own:cubic")
    packets = real["runs"][0]["packets"]
    assert simulated["runs"][0]["packets"] == packets == own["runs"][0]["packets"]
    assert simulated["cpu_s"] < real["cpu_s"] < own["cpu_s"]
    assert real["runs"][0]["cpu_s"] == pytest.approx(0.15 + 13e-6 * packets, abs=1e-3)


def test_the_doctor_looks_at_the_linux_world(
    bakeoff: Command, here: Path, built: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finding() -> Any:
        return next(entry for entry in json.loads(bakeoff("doctor", "--json").out) if entry["subject"] == "linux world")

    monkeypatch.setattr("bakeoff.cli.doctor._emu_world", lambda: Finding(subject="emu world", fine=True, text=""))
    missing = finding()
    assert (missing["fine"], missing["is_there"]) == (True, False)
    assert missing["text"].startswith("no kernel is built yet")
    built("exit 1")
    text = "kernel 1-abc; " + ", ".join(guest.TOOLS)
    assert finding() == {"subject": "linux world", "fine": True, "text": text, "is_there": True}
    monkeypatch.setattr(guest, "_PATH", str(here))
    assert not finding()["fine"]
    assert finding()["text"].endswith("apt install util-linux")


def test_a_failed_run_keeps_its_console(bakeoff: Command, here: Path, built: Any) -> None:
    built('i=0; while [ $i -lt 40 ]; do i=$((i + 1)); echo "line $i"; done; exit 1')
    ended = bakeoff(*LINUX, "--scheme", "cubic", "--repeats", "1", "--out", "r")
    sentence = "the guest failed; its last lines: line 38 / line 39 / line 40"
    assert ended.code == 1
    assert f"bakeoff: run cubic_run1 failed: {sentence}\n" in ended.err
    found = json.loads((here / "r" / "runs" / "cubic_run1" / "manifest.json").read_text())
    assert (found["status"], found["error"], found["world"]) == ("failed", sentence, "linux")
    assert found["console"] == [f"line {number}" for number in range(21, 41)]
    assert found["provenance"]["kernel"] == "1-abc"
    assert list((here / "scratch").iterdir()) == []


def started_guests(start: Start, here: Path, built: Any) -> tuple[subprocess.Popen[str], list[int]]:
    """Bakeoff with two guests that sleep, and pid-fds of their processes."""
    fifo = here / "fifo"
    os.mkfifo(fifo)
    built(f"[ -p {fifo} ] || exit 1; echo $$ >{fifo}; exec sleep 1000")
    process = start(*LINUX, "--jobs", "2")
    # Open for both, so that no guest writes where nobody reads any more, which would end it.
    with os.fdopen(os.open(fifo, os.O_RDWR)) as lines:
        pids = [int(lines.readline()) for _ in range(2)]
    return process, [os.pidfd_open(pid) for pid in pids]


def assert_end(handles: list[int]) -> None:
    """Waits for processes, which must be dying already."""
    for handle in handles:
        assert select.select([handle], [], [], 60)[0], "a guest is still there"
        os.close(handle)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_neither_guests_nor_folders(start: Start, here: Path, built: Any, number: int) -> None:
    process, guests = started_guests(start, here, built)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "bakeoff: interrupted: 0 of 4 runs are complete and kept; `bakeoff run x.toml --world linux " in err
    assert list((here / "scratch").iterdir()) == []
    assert_end(guests)


def test_a_killed_bakeoff_takes_its_guests_along_and_the_next_run_its_folders(
    start: Start, bakeoff: Command, here: Path, built: Any
) -> None:
    process, guests = started_guests(start, here, built)
    process.kill()
    process.communicate(timeout=60)
    assert_end(guests)
    left = list((here / "scratch").iterdir())
    assert len(left) == 2
    assert all(path.name.startswith(scratch.PREFIX) for path in left)
    (here / "fifo").unlink()
    bakeoff(*LINUX, "--out", "other")
    assert not any(path.exists() for path in left)
