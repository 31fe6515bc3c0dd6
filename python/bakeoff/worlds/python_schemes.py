"""Schemes that users write in Python: where they are, whether they can be run, and the processes that run them."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from bakeoff.experiment import estimate
from bakeoff.scenario import PYTHON
from bakeoff.scheme.reference import PREFIX
from bakeoff.worlds import processes
from bakeoff.worlds.outcome import Outcome, RunInvalid, RunStopped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bakeoff.experiment.estimate import Cost

PATIENCE_S = 5.0
"""A callback that takes one to two times this long has failed."""

_MODULE = ["-X", "faulthandler", "-m", "bakeoff.scheme"]
_JOB = "job.json"
_PROBLEM = "problem.json"
_MARK = "bakeoff-scheme: "
# As Python tells where it was when a signal ended it, the innermost frame first.
_FRAME = re.compile(r'\s*File "(?P<file>.+)", line (?P<line>\d+)')
# As it tells that of a process which it has ended itself; of an exception there is a comma before `in`.
_OVERDUE = re.compile(r'\s*File ".+", line \d+ in ')
# Measured: Python's start with what reads tables; a callback that does little, and one to three of them a packet.
_CPU_S_PER_RUN = 0.5
_CPU_S_PER_PACKET = 5e-6
_RESIDENT_BYTES = 80_000_000
# Loading a file that does nothing takes a tenth of a second.
_CHECK_S = 60.0
# A callback without an end is ended in its process; a run may take as long as it takes.
_FOREVER_S = 1e7


def has_any(scenario: Mapping[str, Any]) -> bool:
    """Whether a scheme of a scenario is written in Python."""
    return bool(scenario.get(PYTHON))


def places(scenario: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """By index of the flow: the class, and how it is made."""
    files = scenario.get(PYTHON, {})
    found = {}
    for index, flow in enumerate(scenario["flows"]):
        if flow["scheme"].startswith(PREFIX):
            name = flow["scheme"].removeprefix(PREFIX)
            # Processes of runs have folders of their own, and a path may be relative to this one's.
            file = Path(files[name]["file"]).absolute()
            here = Path.cwd()
            shown = str(file.relative_to(here) if file.is_relative_to(here) else file)
            place = {"file": str(file), "name": name, "sha256": files[name]["sha256"], "shown": shown}
            found[index] = place | {"parameters": flow["parameters"], "patience_s": PATIENCE_S}
    return found


def command(what: str, place: Mapping[str, Any]) -> list[str]:
    """The words that start a process for one class."""
    isolated = "-I" if "user" in place else "-P"
    return [sys.executable, isolated, *_MODULE, what, json.dumps(place)]


def environment() -> dict[str, str]:
    """Variables of such a process: nothing may depend on chance that is not seeded."""
    return {**os.environ, "PYTHONHASHSEED": "0"}


def check(scenario: Mapping[str, Any], identity: tuple[int, int] | None = None) -> None:
    """Checks, before anything is run, that the classes of a scenario are schemes. It runs their files, not the classes.

    Args:
        scenario: what is to be run.
        identity: user and group to run them as; this user by default.

    Raises:
        RunStopped: one is not; the message names flow and file.
    """
    for index, place in places(scenario).items():
        problem = _problem(json.dumps(place | _rights(identity) | {"mark": _MARK}))
        if problem is not None:
            raise RunStopped(f"flow {index + 1}: {problem}")


def servers(scenario: Mapping[str, Any], identity: tuple[int, int]) -> list[dict[str, Any]]:
    """By flow, the words that start a process which answers for a class over the socket at its standard input."""
    return [
        {"flow": index, "command": command("serve", place | _rights(identity))}
        for index, place in places(scenario).items()
    ]


def _rights(identity: tuple[int, int] | None) -> dict[str, int]:
    return {} if identity is None else {"user": identity[0], "group": identity[1]}


@functools.lru_cache(maxsize=256)
def _problem(job: str) -> str | None:
    """What is wrong with a class; the same class is asked for once."""
    asked = json.loads(job)
    try:
        done = subprocess.run(  # noqa: S603 - our own words
            command("check", asked),
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_CHECK_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{asked['shown']}: loading it takes longer than {_CHECK_S:g} s"
    told = [line.removeprefix(_MARK) for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if told:
        return told[-1]
    if done.returncode:
        console = (done.stdout + done.stderr).splitlines()
        return end([asked], "loading it", ending(done.returncode, console), console)
    return None


def end(places: Sequence[Mapping[str, Any]], what: str, how: str, console: Sequence[str]) -> str:
    """One sentence about a process that ended before its time: the files that it ran, and the line if Python told it.

    Args:
        places: the classes in it.
        what: what has ended.
        how: in what way.
        console: the last lines that it printed.
    """
    # Python tells a file by the path that it was loaded from.
    shown = {str(Path(place["file"]).resolve()): place["shown"] for place in places}
    for told in filter(None, map(_FRAME.match, console)):
        if told["file"] in shown:
            return f"{shown[told['file']]}:{told['line']}: {what} {how}"
    last = " / ".join(line.strip() for line in console[-3:])
    return f"{' and '.join(shown.values())}: {what} {how}{'; its last lines: ' if last else ''}{last}"


def ending(status: int, console: Sequence[str]) -> str:
    """In what way a process ended.

    Args:
        status: its status, or less than zero the signal that ended it.
        console: the last lines that it printed.
    """
    if status == 1 and any(map(_OVERDUE.match, console)):
        return "did not go on and was ended (an endless loop, or a wait?)"
    if status >= 0:
        return f"ended early with status {status}"
    # Most real-time signals have no name.
    name = next((known.name for known in signal.Signals if known == -status), f"signal {-status}")
    return f"was ended by {name}"


def cost(scenario: Mapping[str, Any]) -> Cost:
    """What one run in virtual time costs, in its process."""
    simulated = estimate.cost(scenario)
    return replace(
        simulated,
        cpu_s=simulated.cpu_s + _CPU_S_PER_RUN + _CPU_S_PER_PACKET * simulated.packets,
        memory_bytes=simulated.memory_bytes + _RESIDENT_BYTES,
    )


def execute(scenario: Mapping[str, Any], for_core: Mapping[str, Any]) -> Outcome:
    """Runs a scenario in virtual time, in a process of its own, which its classes cannot leave.

    Args:
        scenario: what is to be run.
        for_core: the same as the core reads it.

    Raises:
        RunStopped: a class failed; the message names flow, file and line.
        RunInvalid: the packets of the run do not add up.
    """
    job: dict[str, Any] = {"scenario": for_core, "schemes": places(scenario), "patience_s": PATIENCE_S}
    with processes.folder() as folder:
        # A scenario may be longer than a word of a command line.
        (folder / _JOB).write_text(json.dumps(job), encoding="utf-8")
        words = [sys.executable, "-P", *_MODULE, "run", _JOB]
        with processes.started(words, folder, environment()) as process:
            watched = processes.watch(process, _FOREVER_S)
        outcome = Outcome(cpu_s=watched.cpu_s, console=watched.console)
        if (folder / _PROBLEM).is_file():
            problem = json.loads((folder / _PROBLEM).read_text(encoding="utf-8"))
            invalid = problem["kind"] == "ConservationError"
            raise (RunInvalid if invalid else RunStopped)(problem["sentence"], outcome)
        tables = {file.stem: pl.read_ipc(file.read_bytes()) for file in sorted(folder.glob("*.arrow"))}
        # A class may end its process with any status, 0 too.
        if watched.status != 0 or not tables:
            called = "its process" if len(job["schemes"]) == 1 else "the process of its schemes in Python"
            how = ending(watched.status, watched.console)
            sentence = end(list(job["schemes"].values()), called, how, watched.console)
            raise RunStopped(sentence, outcome)
    return Outcome(tables, cpu_s=watched.cpu_s)
