"""How far an experiment has come, on stderr: a bar on a terminal, a line now and then elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from bakeoff.cli.output import amount_of_time, say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_LINE_EVERY_S = 10.0


class _Counter:
    """What every display counts."""

    def __init__(self, runs: int, weight: float) -> None:
        self.runs = runs
        self.weight = weight
        self.done = 0
        self.done_weight = 0.0
        self.simulated_s = 0.0
        self.begun = time.monotonic()

    def add(self, weight: float, simulated_s: float) -> None:
        self.done += 1
        self.done_weight += weight
        self.simulated_s += simulated_s

    @property
    def sentence(self) -> str:
        elapsed = max(time.monotonic() - self.begun, 1e-6)
        left = elapsed * (self.weight - self.done_weight) / self.done_weight if self.done_weight else 0.0
        speed = self.simulated_s / elapsed
        text = f"{self.done}/{self.runs} runs, {speed:.0f} simulated seconds per second"
        return f"{text}, about {amount_of_time(left)} left" if self.done < self.runs else text


class Silent:
    """Shows nothing."""

    def advance(self, weight: float, simulated_s: float) -> None:
        """Does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Lines(Silent):
    """One line every ten seconds, and one at the end."""

    def __init__(self, runs: int, weight: float) -> None:
        self._counter = _Counter(runs, weight)
        self._last = time.monotonic()

    def advance(self, weight: float, simulated_s: float) -> None:
        """Counts, and says so if it is time."""
        self._counter.add(weight, simulated_s)
        now = time.monotonic()
        if now - self._last >= _LINE_EVERY_S or self._counter.done == self._counter.runs:
            say(self._counter.sentence)
            self._last = now


class Bar(Silent):
    """A bar that stays while runs are computed, and leaves nothing behind."""

    def __init__(self, runs: int, weight: float) -> None:
        from rich.console import Console  # noqa: PLC0415 - loaded when there is a terminal
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        self._counter = _Counter(runs, weight)
        self._progress: Progress = Progress(
            SpinnerColumn(),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task: TaskID = self._progress.add_task(f"0/{runs} runs", total=weight)

    def advance(self, weight: float, simulated_s: float) -> None:
        """Moves the bar."""
        self._counter.add(weight, simulated_s)
        self._progress.update(self._task, advance=weight, description=self._counter.sentence)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def display(runs: int, weight: float, *, quiet: bool) -> Silent:
    """The display that fits where stderr goes.

    Args:
        runs: number of runs.
        weight: the sum of their estimated seconds of CPU.
        quiet: show nothing.
    """
    if quiet:
        return Silent()
    return Bar(runs, weight) if sys.stderr.isatty() else Lines(runs, weight)
