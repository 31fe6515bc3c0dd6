"""The journal: what varies from one execution to the next, kept apart from the recordings.

One JSON object a line, appended when a run ends. Recordings stay byte-identical; time and load live here.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.recording.atomic import explained

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How long one run took.

    Attributes:
        started: UTC time at which it began, ISO 8601.
        wall_s: seconds that passed.
        cpu_s: user and system seconds of the thread that ran it.
    """

    started: str
    wall_s: float
    cpu_s: float


def append(path: Path, run: str, status: str, timing: Timing | None) -> None:
    """Adds a line about one run.

    Raises:
        UserError: the journal cannot be written.
    """
    line: dict[str, Any] = {"run": run, "status": status}
    if timing is not None:
        line |= asdict(timing)
    line["load"] = list(os.getloadavg())
    with explained(path, writing="the journal"), path.open("a+b") as file:
        # What was cut short, as by a full disk, is a line by itself.
        end = file.seek(0, os.SEEK_END)
        file.seek(max(end - 1, 0))
        begun = b"" if file.read(1) in {b"", b"\n"} else b"\n"
        # One write of a whole line: lines of several threads do not mix.
        file.write(begun + (json.dumps(line) + "\n").encode())


def read(path: Path) -> dict[str, Timing]:
    """The latest timing of each run; lines cut short by a crash are passed over."""
    timings: dict[str, Timing] = {}
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return timings
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            timings[str(entry["run"])] = Timing(
                started=str(entry["started"]), wall_s=float(entry["wall_s"]), cpu_s=float(entry["cpu_s"])
            )
        except (ValueError, KeyError, TypeError):
            continue
    return timings
