"""Other programs at work, and the signals that end them."""

from __future__ import annotations

import os
import select
import signal
import threading
from pathlib import Path

import pytest

from bakeoff.errors import RunFailed
from bakeoff.kernel import command
from bakeoff.kernel.interruption import Interrupted, interruptible, shielded

LATE_S = 60.0
NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("one\ntwo\n\n", "two"),
        ("  CC  a.o\na.c:1:2: error: no\nmake: *** [a.o] Error 1\n", "a.c:1:2: error: no"),
        (
            "tar: x: No space left on device\ntar: Exiting with failure status due to previous errors\n",
            "tar: x: No space left on device",
        ),
        ("W: hm\nE: Unable to locate package x\nmore\n", "E: Unable to locate package x"),
    ],
)
def test_the_line_that_says_why_is_found(text: str, line: str) -> None:
    assert command.complaint(text) == line


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["sh", "-c", "echo first; echo last words >&2; exit 3"], "it failed: last words"),
        (["sh", "-c", "exit 3"], "it failed: exit code 3"),
        (["bakeoff-nothing"], "it failed: there is no program bakeoff-nothing"),
    ],
)
def test_a_program_that_fails_is_one_sentence(tmp_path: Path, words: list[str], sentence: str) -> None:
    with pytest.raises(RunFailed) as failed:
        command.run(words, cwd=tmp_path, failing="it failed", environment=command.environment(tmp_path))
    assert str(failed.value) == sentence


def test_leaving_a_step_ends_its_program_and_all_that_it_has_started(tmp_path: Path) -> None:
    def leave() -> None:
        words = ["sh", "-c", f"exec 9> {fifo}; tail -f /dev/null & echo begun >&9; wait"]
        environment = command.environment(tmp_path)
        with command.started(words, cwd=tmp_path, failing="it failed", environment=environment):
            assert select.select([reader], [], [], LATE_S)[0]
            raise KeyboardInterrupt

    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(KeyboardInterrupt):
            leave()
        assert os.read(reader, 100) == b"begun\n"
        assert os.read(reader, 100) == b"", "a process still has the pipe open"
    finally:
        os.close(reader)


def test_what_a_program_leaves_behind_is_ended_while_its_number_is_still_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killpg = os.killpg

    def kill_group(number: int, what: int) -> None:
        os.waitid(os.P_PID, number, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        killpg(number, what)

    monkeypatch.setattr(os, "killpg", kill_group)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        words = ["sh", "-c", f"exec 9> {fifo}; tail -f /dev/null > /dev/null 2>&1 & echo done"]
        said = command.run(words, cwd=tmp_path, failing="it failed", environment=command.environment(tmp_path))
        assert said == "done\n"
        assert select.select([reader], [], [], LATE_S)[0]
        assert os.read(reader, 100) == b"", "a process still has the pipe open"
    finally:
        os.close(reader)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_leaves_the_block_and_its_handler_is_put_back(number: signal.Signals) -> None:
    before = [signal.getsignal(each) for each in NUMBERS]
    with pytest.raises(Interrupted, match="interrupted") as ended, interruptible():
        signal.raise_signal(number)
    assert ended.value.exit_code == 128 + number
    assert [signal.getsignal(each) for each in NUMBERS] == before


def test_later_signals_do_not_break_into_the_cleaning_up() -> None:
    cleaned = []

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            cleaned.append(True)

    with pytest.raises(Interrupted) as ended, interruptible():
        work()
    assert cleaned == [True]
    assert ended.value.exit_code == 128 + signal.SIGTERM


def test_a_signal_that_does_not_break_into_what_blocks_is_sent_again() -> None:
    reader, writer = os.pipe()
    main, seen, late = threading.get_native_id(), threading.Event(), []

    def disturb() -> None:
        while "pipe" not in Path(f"/proc/self/task/{main}/wchan").read_text(encoding="ascii"):
            pass
        # It is this thread's handler that runs, and the main thread goes on reading.
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        if not seen.wait(LATE_S):
            late.append(True)
            os.write(writer, b"x")

    disturber = threading.Thread(target=disturb, daemon=True)

    def read() -> None:
        disturber.start()
        os.read(reader, 1)

    with pytest.raises(Interrupted), interruptible():
        read()
    seen.set()
    disturber.join()
    os.close(reader)
    os.close(writer)
    assert late == []


def test_a_signal_waits_until_a_shield_is_left() -> None:
    seen = []

    def make() -> None:
        with shielded():
            signal.raise_signal(signal.SIGTERM)
            seen.append("made")
        seen.append("forgotten")

    with pytest.raises(Interrupted), interruptible():
        make()
    assert seen == ["made"]


def test_a_failure_after_a_signal_is_an_interruption() -> None:
    def fail() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            raise OSError

    with pytest.raises(Interrupted), interruptible():
        fail()


def test_a_build_under_nohup_goes_on() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_leave_signals_alone() -> None:
    done = []

    def work() -> None:
        with interruptible():
            done.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [signal.getsignal(signal.SIGTERM)]
