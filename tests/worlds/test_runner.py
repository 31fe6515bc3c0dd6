"""Running a plan: all cores, failures apart, interrupts that lose nothing."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.errors import Interrupted, RunFailed, UserError
from bakeoff.experiment import PlannedRun
from bakeoff.worlds import runner
from bakeoff.worlds.outcome import Outcome, RunInvalid, RunStopped
from bakeoff.worlds.runner import Finished, run_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bakeoff.recording import Origin, Timing

RUNS = [PlannedRun(f"run{number}", {}, number, number, {"number": number}) for number in range(1, 9)]
TABLES = {"flows": pl.DataFrame({"flow": [0, 1]})}


class Memory:
    """A store in memory."""

    def __init__(self) -> None:
        self.complete: list[str] = []
        self.failures: dict[str, tuple[str, str]] = {}
        self.details: dict[str, tuple[Origin, Sequence[str]]] = {}

    def write_run(
        self,
        run: PlannedRun,
        run_tables: Mapping[str, pl.DataFrame],
        timing: Timing | None = None,
        *,
        origin: Origin,
    ) -> None:
        assert run_tables is TABLES
        assert timing is not None
        self.complete.append(run.id)
        self.details[run.id] = (origin, ())

    def write_failure(
        self,
        run: PlannedRun,
        error: str,
        timing: Timing | None = None,
        *,
        status: str = "failed",
        origin: Origin,
        console: Sequence[str],
    ) -> None:
        self.failures[run.id] = (status, error)
        self.details[run.id] = (origin, console)


def execute(store: Any, world: Any, *, jobs: int = 4, on_finished: Any = None) -> list[Finished]:
    finished: list[Finished] = []
    run_plan(RUNS, store, world, jobs=jobs, on_finished=on_finished or finished.append)
    return finished


def test_the_time_of_a_run_is_its_own_and_that_of_its_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    passed, worked = iter([100.0, 103.5]), iter([7.0, 7.25])
    clocks = SimpleNamespace(perf_counter=lambda: next(passed), thread_time=lambda: next(worked))
    monkeypatch.setattr(runner, "time", clocks)
    finished: list[Finished] = []
    run_plan(RUNS[:1], Memory(), lambda _: Outcome(TABLES, cpu_s=2.0), jobs=1, on_finished=finished.append)
    assert (finished[0].timing.wall_s, finished[0].timing.cpu_s) == (3.5, 2.25)


@pytest.mark.parametrize("jobs", [1, 3, 100])
def test_every_run_is_executed_once(jobs: int) -> None:
    store = Memory()
    finished = execute(store, lambda _: Outcome(TABLES), jobs=jobs)
    assert sorted(store.complete) == [run.id for run in RUNS]
    assert sorted(entry.run.id for entry in finished) == [run.id for run in RUNS]
    assert all(entry.status == "complete" and entry.error is None for entry in finished)


def test_runs_are_started_in_order() -> None:
    store = Memory()
    execute(store, lambda _: Outcome(TABLES), jobs=1)
    assert store.complete == [run.id for run in RUNS]


def test_runs_overlap_on_several_threads() -> None:
    meeting = threading.Barrier(4, timeout=20)

    def world(_: PlannedRun) -> Any:
        meeting.wait()
        return Outcome(TABLES)

    store = Memory()
    execute(store, world, jobs=4)
    assert store.failures == {}
    assert sorted(store.complete) == [run.id for run in RUNS]


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (RunStopped("no"), "failed", "no"),
        (RunInvalid("3 packets too many"), "invalid", "3 packets too many"),
        (RunFailed("no kernel is built"), "failed", "no kernel is built"),
        (MemoryError(), "failed", "there was not enough memory"),
        (OSError(28, "No space left on device", "/far/x"), "failed", "/far/x: no space left on device"),
        (OSError(24, "Too many open files"), "failed", "too many open files"),
        (ZeroDivisionError("x"), "failed", "internal error: ZeroDivisionError: x"),
        (BaseException("a panic"), "failed", "internal error: BaseException: a panic"),
    ],
)
def test_a_failure_stops_one_run_only(error: BaseException, status: str, sentence: str) -> None:
    store = Memory()

    def world(run: PlannedRun) -> Any:
        if run.repeat == 3:
            raise error
        return Outcome(TABLES)

    finished = execute(store, world)
    assert len(store.complete) == 7
    assert store.failures.keys() == {"run3"}
    assert store.failures["run3"][0] == status
    assert store.failures["run3"][1].startswith(sentence)
    assert [entry.run.id for entry in finished if entry.status != "complete"] == ["run3"]


def test_what_a_world_knows_of_a_run_is_kept() -> None:
    store = Memory()

    def world(run: PlannedRun) -> Any:
        outcome = Outcome(TABLES, cpu_s=3.0, provenance={"kernel": "7"}, console=("panic",))
        if run.repeat == 3:
            raise RunStopped("no", outcome)
        if run.repeat == 4:
            raise RunInvalid("no", outcome)
        return outcome

    finished = execute(store, world)
    assert {origin.provenance["kernel"] for origin, _ in store.details.values()} == {"7"}
    assert {run: console for run, (_, console) in store.details.items() if console} == {
        "run3": ("panic",),
        "run4": ("panic",),
    }
    assert all(entry.timing.cpu_s >= 3 for entry in finished)


def test_an_interrupt_keeps_what_is_complete_and_drops_the_rest() -> None:
    store = Memory()
    release = threading.Event()
    threads: set[threading.Thread] = set()

    def world(run: PlannedRun) -> Any:
        threads.add(threading.current_thread())
        if run.repeat > 2:
            assert release.wait(20)
        return Outcome(TABLES)

    def on_finished(_: Finished) -> None:
        if len(store.complete) == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match=r"interrupted: 2 of 8 runs are complete and kept"):
        execute(store, world, jobs=3, on_finished=on_finished)
    assert sorted(store.complete) == ["run1", "run2"]
    release.set()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert sorted(store.complete) == ["run1", "run2"]
    assert store.failures == {}


def test_an_interrupt_waits_for_a_file_being_written(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, awaited = threading.Event(), threading.Event()

    class Gate(threading.Condition):
        def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
            awaited.set()
            return super().wait_for(predicate, timeout)

    class Slow(Memory):
        def write_run(self, *arguments: Any, **options: Any) -> None:
            if self.complete:
                begun.set()
                assert awaited.wait(20)
            super().write_run(*arguments, **options)

    monkeypatch.setattr(threading, "Condition", Gate)
    store = Slow()

    def on_finished(_: Finished) -> None:
        assert begun.wait(20)
        raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        execute(store, lambda _: Outcome(TABLES), jobs=1, on_finished=on_finished)
    assert store.complete == ["run1", "run2"]


def test_a_full_disk_stops_everything() -> None:
    class Full(Memory):
        def write_run(self, *_: Any, **__: Any) -> None:
            raise UserError("no space left")

    calls = []

    def world(run: PlannedRun) -> Any:
        calls.append(run)
        return Outcome(TABLES)

    with pytest.raises(UserError, match="no space left"):
        execute(Full(), world, jobs=1)
    assert len(calls) == 1
