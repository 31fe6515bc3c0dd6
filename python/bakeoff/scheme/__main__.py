"""What runs the files of users, each time as a process of its own: `python -m bakeoff.scheme check|run|serve JOB`.

A job is JSON, for `run` in a file. `check` prints what is wrong with a class; `run` runs a scenario in virtual time
with the classes in it, and leaves its tables in a folder; `serve` answers the messages that come over the socket at its
standard input.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from bakeoff.scheme.events import Setup
from bakeoff.scheme.host import Host, refusal
from bakeoff.scheme.loading import Place, SchemeProblem, arguments, load
from bakeoff.scheme.patience import Patience

PROBLEM = "problem.json"
_MESSAGE_BYTES = 256


def main() -> None:
    """Does one job."""
    what, words = sys.argv[1:]
    job = json.loads(Path(words).read_bytes() if what == "run" else words)
    become(job.get("user"), job.get("group"))
    patience = Patience(job["patience_s"])
    {"check": _check, "run": _run, "serve": _serve}[what](job, patience)
    # What a class has registered for the end is to come to one, too.
    patience.begin()


def become(user: int | None, group: int | None) -> None:
    """Gives up the rights of root for good, before anything of the user is read."""
    if user is None or group is None:
        return
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def _place(job: dict[str, Any]) -> Place:
    return Place(job["file"], job["name"], job["parameters"], job["sha256"], job["shown"])


def _check(job: dict[str, Any], patience: Patience) -> None:
    place = _place(job)
    patience.begin()
    try:
        arguments(load(place), place, Setup(1448, 1500, None))  # type: ignore[arg-type] # it is only counted
    except SchemeProblem as problem:
        sys.stdout.buffer.write(f"{job['mark']}{problem}\n".encode(errors="backslashreplace"))


def _run(job: dict[str, Any], patience: Patience) -> None:
    from bakeoff import _core  # noqa: PLC0415 - only here
    from bakeoff.worlds import frames  # noqa: PLC0415

    # The classes may go elsewhere.
    here = Path.cwd()
    schemes = {int(flow): Host(_place(place), patience=patience) for flow, place in job["schemes"].items()}
    try:
        tables = _core.run(json.dumps(job["scenario"]), schemes)["tables"]
    except (_core.SchemeError, _core.ScenarioError, _core.ConnectionLost, _core.ConservationError) as error:
        problem = {"kind": type(error).__name__, "sentence": str(error)}
        (here / PROBLEM).write_text(json.dumps(problem), encoding="utf-8")
        return
    for name, frame in frames.of_core(tables).items():
        frame.write_ipc(here / f"{name}.arrow")


def _serve(job: dict[str, Any], patience: Patience) -> None:
    place = _place(job)
    with socket.socket(fileno=_take_input()) as line:
        try:
            host = Host(place, load(place), patience)
        except SchemeProblem as problem:
            host, sentence = None, str(problem)
        while message := line.recv(_MESSAGE_BYTES):
            line.send(host(message) if host else refusal(sentence))


def _take_input() -> int:
    """The socket at the standard input, from where a class that reads gets nothing."""
    number = sys.stdin.fileno()
    own = os.dup(number)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), number)
    return own


def _end() -> None:
    """Ends this process as Python does, but for waiting for threads that a class has left behind."""
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no other way to what a class has registered
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
    _end()
