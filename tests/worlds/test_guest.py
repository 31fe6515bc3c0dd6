"""Guests that misbehave: a shell script stands in for the kernel."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.errors import RunFailed
from bakeoff.experiment import PlannedRun
from bakeoff.kernel import cache
from bakeoff.worlds import guest, linux, processes, registry, scratch
from bakeoff.worlds.outcome import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable

    Boot = Callable[..., guest.Ended]

PLENTY = guest.Limits(cpu_s=60, wall_s=120, memory_bytes=1 << 20)
TELL = 'echo $$ >"$HOME/run/pid"\n'
SCENARIO: dict[str, Any] = {
    "seed": 1,
    "duration_ns": 10**9,
    "record": {"level": "summary", "interval_ns": 10**8},
    "forward": [{"link": {"kind": "constant", "rate_bps": 10**6}, "queue": {"kind": "fifo"}, "delay_ns": 10**7}],
    "reverse": [{"link": {"kind": "unlimited"}, "queue": {"kind": "fifo"}, "delay_ns": 10**7}],
    "flows": [
        {
            "scheme": "cubic",
            "parameters": {},
            "traffic": {"kind": "bulk"},
            "direction": "forward",
            "start_ns": 0,
            "stop_ns": 10**9,
            "extra_delay_ns": 0,
            "mss_bytes": 1448,
            "header_bytes": 52,
            "receive_window_bytes": None,
        }
    ],
}


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[[str], Path]:
    """Makes a program out of a shell script."""

    def function(script: str) -> Path:
        path = tmp_path / "kernel"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return function


@pytest.fixture
def boot(kernel: Callable[[str], Path], tmp_path: Path) -> Boot:
    """Boots a script; `boot(script, limits)`. Keeps the processes that it names in `boot.pids`."""
    init = tmp_path / "init"
    init.write_text("")

    def function(script: str, limits: guest.Limits = PLENTY) -> guest.Ended:
        with processes.folder() as place:
            shared = guest.prepare(place, init)
            ended = guest.boot(kernel(script), place, 1, limits)
            for name in ("pid", "child"):
                if (shared / name).is_file():
                    assert_ends(int((shared / name).read_text()))
        assert not place.exists()
        return ended

    return function


def assert_ends(pid: int) -> None:
    """Waits for a process, which must be dying already."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 60)[0], f"process {pid} is still there"
    finally:
        os.close(handle)


def test_what_a_guest_refuses_is_its_own_sentence(boot: Boot) -> None:
    ended = boot('echo "bakeoff-guest: flow 1: this kernel has no controller x"; echo "reboot: Power down"; exit 0')
    assert ended.problem() == "flow 1: this kernel has no controller x"


def test_a_guest_that_does_nothing(boot: Boot) -> None:
    assert boot("exit 0").problem() == "the guest failed; its last lines: it printed nothing"


def test_a_panic_is_quoted_without_noise(boot: Boot) -> None:
    noise = (
        "Using a channel type which is configured out of UML\nsetup_one_line failed for device 1 : Configuration failed"
    )
    lines = "\n".join(f"line {number}" for number in range(30))
    ended = boot(f"cat <<'END'\n{lines}\n{noise}\n\n  Kernel panic - not syncing: no init \n{noise}\nEND\nexit 134")
    assert ended.console == (*(f"line {number}" for number in range(11, 30)), "Kernel panic - not syncing: no init")
    quoted = "line 28 / line 29 / Kernel panic - not syncing: no init"
    assert ended.problem() == f"the guest failed; its last lines: {quoted}"


@pytest.mark.parametrize("script", ["exec sleep 1000", "trap '' TERM INT HUP XCPU; while :; do sleep 1000; done"])
def test_a_guest_that_hangs_is_stopped(boot: Boot, script: str) -> None:
    limits = guest.Limits(cpu_s=60, wall_s=0.5, memory_bytes=1 << 20)
    ended = boot(f"{TELL} echo booting\n{script}", limits)
    assert ended.has_hung
    assert ended.problem().startswith("the guest hung and was stopped after 0.5 s; its last lines: ")


def test_a_guest_that_works_for_ever_is_stopped(boot: Boot) -> None:
    limits = guest.Limits(cpu_s=1, wall_s=120, memory_bytes=1 << 20)
    ended = boot(f"{TELL} echo booting\nwhile :; do :; done", limits)
    assert ended.problem() == "the guest did not end within 1 CPU seconds and was stopped; its last lines: booting"


def test_a_guest_that_somebody_kills(boot: Boot) -> None:
    problem = boot("echo booting; kill -9 $$").problem()
    assert problem == "the guest was killed, as happens where memory is short (try --jobs 1); its last lines: booting"


def test_what_a_guest_leaves_behind_ends_with_it(boot: Boot) -> None:
    ended = boot(f'{TELL} sleep 1000 & echo $! >"$HOME/run/child"; echo gone; exit 1')
    assert ended.console == ("gone",)


def test_a_kernel_that_is_not_there_is_a_sentence(boot: Boot, tmp_path: Path) -> None:
    problem = boot("rm -f $0; exec /no/such/kernel").problem()
    assert problem.startswith("the guest failed; its last lines: ")
    assert "/no/such/kernel" in problem


def test_missing_programs_are_one_sentence(boot: Boot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guest.check_tools()
    monkeypatch.setattr(guest, "_PATH", str(tmp_path))
    with pytest.raises(
        RunFailed, match=r"^the linux world needs setpriv, taskset, prlimit, setarch in \S+: apt install "
    ):
        guest.check_tools()
    with pytest.raises(RunFailed, match=r"^there is no program setpriv$"):
        boot("exit 0")
    (tmp_path / "setpriv").write_text("")
    (tmp_path / "setpriv").chmod(0o755)
    with pytest.raises(RunFailed, match=r"^the linux world needs taskset, prlimit, setarch in "):
        guest.check_tools()


def test_a_missing_program_of_the_guest_is_one_sentence(pretended: Callable[[str], None], tmp_path: Path) -> None:
    pretended("exit 1")
    linux.prepare()
    (tmp_path / "init").unlink()
    with pytest.raises(RunFailed, match=r"^the guest's program is missing; start \./bakeoff once to compile it$"):
        linux.prepare()


def test_stopping_ends_guests_and_removes_their_folders(kernel: Callable[[str], Path], tmp_path: Path) -> None:
    fifo, init, ended = tmp_path / "fifo", tmp_path / "init", []
    os.mkfifo(fifo)
    init.write_text("")

    def run() -> None:
        with processes.folder() as place:
            guest.prepare(place, init)
            places.append(place)
            ended.append(guest.boot(kernel(f"echo $$ >{fifo}; exec sleep 1000"), place, 1, PLENTY))

    places: list[Path] = []
    thread = threading.Thread(target=run)
    thread.start()
    pid = int(fifo.read_text())
    processes.stop()
    assert not places[0].exists()
    assert_ends(pid)
    thread.join()
    assert len(ended) == 1


def test_nothing_is_started_after_a_stop(kernel: Callable[[str], Path]) -> None:
    with processes.folder() as place:
        processes.stop()
        with pytest.raises(RunFailed, match="interrupted"):
            guest.boot(kernel("exit 0"), place, 1, PLENTY)


def test_folders_of_dead_processes_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stale, other = tmp_path / f"{scratch.PREFIX}stale", tmp_path / "bakeoff-other"
    (stale / "run").mkdir(parents=True)
    other.mkdir()
    (tmp_path / f"{scratch.PREFIX}link").symlink_to(other)
    with scratch.folder() as mine:
        scratch.sweep()
        assert mine.is_dir()
        assert not stale.exists()
        assert other.is_dir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bakeoff-other", f"{scratch.PREFIX}link"]


@pytest.fixture
def pretended(kernel: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets the linux world run on a script: `pretended(script)`."""

    def function(script: str) -> None:
        path = kernel(script)
        built = SimpleNamespace(name="1-abc", version="1", sha256="00")
        monkeypatch.setattr(cache, "default", lambda: built)
        monkeypatch.setattr(cache, "kernel_of", lambda _: path)
        monkeypatch.setattr(linux, "_INIT", tmp_path / "init")
        monkeypatch.setattr(linux, "_digest_of_init", lambda: "11")

    (tmp_path / "init").write_text("")
    return function


def test_a_failed_run_knows_its_kernel_and_its_console(pretended: Callable[[str], None]) -> None:
    pretended("echo one; echo two; exit 1")
    with pytest.raises(RunStopped, match=r"^the guest failed; its last lines: one / two$") as failure:
        linux.execute(PlannedRun("run1", {}, 1, 1, SCENARIO))
    assert failure.value.outcome.console == ("one", "two")
    provenance = {"kernel": "1-abc", "kernel_version": "1", "kernel_sha256": "00", "guest_sha256": "11"}
    assert failure.value.outcome.provenance == provenance
    assert registry.world("linux").provenance() == provenance, "what a run is compared with that is resumed"
    assert failure.value.outcome.tables == {}


def test_a_guest_that_says_it_is_done_and_left_nothing(pretended: Callable[[str], None]) -> None:
    pretended('echo hello; : >"$HOME/run/done"')
    with pytest.raises(RunStopped, match=r"packets\.bin: No such file") as failure:
        linux.execute(PlannedRun("run1", {}, 1, 1, SCENARIO))
    assert failure.value.outcome.console == ("hello",)


def test_a_guest_gets_its_job(pretended: Callable[[str], None], tmp_path: Path) -> None:
    pretended(f'cp "$HOME/run/job.json" {tmp_path}; echo "$@" >{tmp_path}/arguments; exit 1')
    with pytest.raises(RunStopped):
        linux.execute(PlannedRun("run1", {}, 1, 7, SCENARIO))
    assert '"kernel:cubic"' in (tmp_path / "job.json").read_text()
    words = (tmp_path / "arguments").read_text().split()
    assert {"seed=7", "folder=/proc/self/cwd/run", "time-travel=inf-cpu"} <= set(words)
    assert str(Path(tempfile.gettempdir())) not in " ".join(words)


def test_guests_have_a_terminal_of_their_own(boot: Boot) -> None:
    ended = boot("cut -d' ' -f6 /proc/$$/stat")
    assert int(ended.console[0]) != os.getsid(0)


def test_the_last_thing_that_a_guest_says_itself_is_the_cause() -> None:
    console = ("bakeoff-guest: first", "a line of the kernel", "bakeoff-guest: second", "another")
    assert guest.Ended(console, 1.0, PLENTY, has_hung=False, status=1).problem() == "second"


@pytest.mark.parametrize(("free", "in_memory"), [(2, False), (3, True)])
def test_memory_is_a_file_in_memory_where_there_is_room_for_two(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, *, in_memory: bool
) -> None:
    monkeypatch.setattr(guest, "_SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free * PLENTY.memory_bytes))
    assert guest._memory_folder(Path("place"), PLENTY) == (tmp_path if in_memory else Path("place"))


def test_a_processor_is_lent_to_one_guest_at_a_time() -> None:
    processors = guest._Processors()
    there = os.sched_getaffinity(0)
    for _ in range(2):
        with contextlib.ExitStack() as guests:
            lent = [guests.enter_context(processors.lend()) for _ in range(len(there) + 1)]
            assert lent[-1] is None
            assert set(lent[:-1]) == there


@pytest.mark.parametrize(
    ("limit", "held_bytes"),
    [
        ({}, 0),
        ({"limit_packets": 1000, "limit_bytes": None, "limit_time_ns": None}, 1_500_000),
        ({"limit_packets": None, "limit_bytes": 700_000, "limit_time_ns": None}, 700_000),
        ({"limit_packets": 1000, "limit_bytes": None, "limit_time_ns": 10**9}, 125_000_000),
    ],
)
def test_a_guest_has_memory_for_what_queues_and_wires_hold(limit: dict[str, int | None], held_bytes: int) -> None:
    link = {"kind": "constant", "rate_bps": 10**9}
    scenario = SCENARIO | {"forward": [SCENARIO["forward"][0] | {"queue": {"kind": "fifo", **limit}, "link": link}]}
    # Wires of 20 ms there and back at 1 Gbit/s, and the queue; in the kernel each byte takes eight.
    assert linux._memory(scenario) == 2**30 + 8 * (2_500_000 + held_bytes)


def test_a_packet_of_our_own_schemes_costs_more_than_one_of_the_kernel() -> None:
    kernels, ours = (
        linux.cost(SCENARIO | {"flows": [SCENARIO["flows"][0] | {"scheme": scheme}]}) for scheme in ("cubic", "ledbat")
    )
    assert kernels.packets == ours.packets
    assert ours.cpu_s > kernels.cpu_s
