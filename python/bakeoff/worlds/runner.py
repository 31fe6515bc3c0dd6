"""Running a plan: threads over all cores, failures kept apart, interrupts that lose nothing that was complete."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from bakeoff.errors import BakeoffError, Interrupted, reason
from bakeoff.recording import Origin, Timing
from bakeoff.worlds.outcome import Outcome, RunInvalid, RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from bakeoff.experiment import PlannedRun
    from bakeoff.recording.manifest import Status

    Execute = Callable[[PlannedRun], Outcome]

# How long a thread that is writing when the user interrupts may take to finish its file.
_WRITE_GRACE_S = 10.0
_POLL_S = 0.2
_NO_MEMORY = "there was not enough memory; record less, or run fewer at a time with --jobs 1"


class Store(Protocol):
    """Where runs go; `bakeoff.recording.ResultFolder` is one."""

    def write_run(
        self,
        run: PlannedRun,
        run_tables: Mapping[str, pl.DataFrame],
        timing: Timing | None = None,
        *,
        origin: Origin,
    ) -> None:
        """Writes a complete run."""

    def write_failure(  # noqa: PLR0913 - what a failed run leaves
        self,
        run: PlannedRun,
        error: str,
        timing: Timing | None = None,
        *,
        status: Status = "failed",
        origin: Origin,
        console: Sequence[str],
    ) -> None:
        """Notes that a run failed."""


@dataclass(frozen=True)
class Finished:
    """A run that has ended and is on disk.

    Attributes:
        run: which.
        status: how it ended.
        error: one sentence if it did not end well.
        timing: how long it took.
    """

    run: PlannedRun
    status: Status
    error: str | None
    timing: Timing


class _Crew:
    """The threads and what they share."""

    def __init__(self, runs: Sequence[PlannedRun], store: Store, execute: Execute) -> None:
        self._pending: queue.SimpleQueue[PlannedRun] = queue.SimpleQueue()
        for run in runs:
            self._pending.put(run)
        self._store = store
        self._run = execute
        self._results: queue.SimpleQueue[Finished | BaseException] = queue.SimpleQueue()
        self._gate = threading.Condition()
        self._stopped = False
        self._writing = 0
        self._kept = 0

    def start(self, jobs: int) -> None:
        # Daemon threads: a run of hours cannot be interrupted from outside, and must not keep the program alive.
        for number in range(jobs):
            threading.Thread(target=self._work, name=f"run-{number}", daemon=True).start()

    def next_result(self) -> Finished | None:
        """The next run that has ended, or None after a short while; raises what a thread could not deal with."""
        try:
            # A wait without an end would hold back Ctrl-C on some platforms.
            result = self._results.get(timeout=_POLL_S)
        except queue.Empty:
            return None
        if isinstance(result, BaseException):
            raise result
        return result

    def stop(self) -> int:
        """Keeps the threads from starting or writing anything more, and waits for files being written.

        Returns:
            number of runs on disk; an interrupt may have swallowed the news of one.
        """
        with self._gate:
            self._stopped = True
            self._gate.wait_for(lambda: self._writing == 0, _WRITE_GRACE_S)
            return self._kept

    def _work(self) -> None:
        try:
            while not self._stopped:
                self._one(self._pending.get_nowait())
        except queue.Empty:
            return
        except BaseException as error:  # noqa: BLE001 - the main thread decides what to do with it
            self._results.put(error)

    def _one(self, run: PlannedRun) -> None:
        started = datetime.now(tz=UTC).isoformat(timespec="milliseconds")
        wall, cpu = time.perf_counter(), time.thread_time()
        outcome, status, error = self._execute(run)
        cpu_s = time.thread_time() - cpu + outcome.cpu_s
        timing = Timing(started=started, wall_s=time.perf_counter() - wall, cpu_s=cpu_s)
        with self._gate:
            if self._stopped:
                return
            self._writing += 1
        try:
            origin = Origin(outcome.provenance, outcome.measurements)
            if error is None:
                self._store.write_run(run, outcome.tables, timing, origin=origin)
            else:
                console = outcome.console
                self._store.write_failure(run, error, timing, status=status, origin=origin, console=console)
            with self._gate:
                self._kept += 1
            self._results.put(Finished(run, status, error, timing))
        finally:
            with self._gate:
                self._writing -= 1
                self._gate.notify_all()

    def _execute(self, run: PlannedRun) -> tuple[Outcome, Status, str | None]:
        try:
            return self._run(run), "complete", None
        except RunInvalid as error:
            return error.outcome, "invalid", str(error)
        except RunStopped as error:
            return error.outcome, "failed", str(error)
        except BaseException as error:  # noqa: BLE001 - a panic of the core is no Exception, and stops one run only
            return Outcome(), "failed", _sentence(error)


def _sentence(error: BaseException) -> str:
    """What a run failed of."""
    if isinstance(error, BakeoffError):
        return str(error)
    if isinstance(error, MemoryError):
        return _NO_MEMORY
    if isinstance(error, OSError):
        return f"{error.filename}: {reason(error)}" if error.filename else reason(error)
    return f"internal error: {type(error).__name__}: {error}"


def run_plan(
    runs: Sequence[PlannedRun],
    store: Store,
    execute: Execute,
    *,
    jobs: int,
    on_finished: Callable[[Finished], None],
) -> None:
    """Executes runs on several threads and stores each as it ends. A run that fails does not stop the others.

    Args:
        runs: what is to be run, in the order in which they are started.
        store: where the runs go.
        execute: executes a run; releases the interpreter lock.
        jobs: number of threads.
        on_finished: told of each run when it is on disk, from the calling thread.

    Raises:
        Interrupted: the user pressed Ctrl-C, or a signal asked to end; what was complete is on disk, the rest was
            dropped.
        UserError: the store cannot be written to; nothing more was started.
    """
    crew = _Crew(runs, store, execute)
    left = len(runs)
    try:
        crew.start(min(jobs, left))
        while left:
            finished = crew.next_result()
            if finished is not None:
                left -= 1
                on_finished(finished)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted: {crew.stop()} of {len(runs)} runs are complete and kept") from None
    except BaseException:
        crew.stop()
        raise
