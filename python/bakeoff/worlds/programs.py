"""Programs of others that send and receive by themselves: what the emulator is told of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

from bakeoff.experiment.catalogue import PROGRAM
from bakeoff.scenario import PROGRAMS
from bakeoff.worlds import privilege
from bakeoff.worlds.outcome import RunStopped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

# How long a wrapper may take to say which end runs first.
_PATIENCE_S = 20.0
_SIDES = ("sender", "receiver")


def of(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The programs of a scenario by flow, as the emulator wants them.

    Raises:
        RunStopped: a wrapper does not say which end runs first.
    """
    commands = {name: _commands(name, program) for name, program in scenario.get(PROGRAMS, {}).items()}
    return [{"flow": number - 1, **commands[name]} for number, name in _flows(scenario)]


def check(scenario: Mapping[str, Any]) -> None:
    """Looks for the programs of a scenario, before anything is run.

    Raises:
        RunStopped: one is missing or cannot be started; the message names it.
    """
    declared = scenario.get(PROGRAMS, {})
    for number, name in _flows(scenario):
        program = declared[name]
        for word in {program["wrapper"]} if "wrapper" in program else {program[side][0] for side in _SIDES}:
            if shutil.which(word) is None:
                there = os.path.isfile(word)  # noqa: PTH113 - never raises
                state = "cannot be executed (chmod +x)" if there else "is not there: install it, or mend its path"
                raise RunStopped(f"flow {number}: {PROGRAM}{name}: {word} {state}")


def silent(
    scenario: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], endings: Sequence[Mapping[str, Any]]
) -> str | None:
    """One sentence about the first program whose sender got no data across; None if all have.

    Args:
        scenario: of the run.
        tables: of the run.
        endings: of the senders that have ended by themselves, and well.
    """
    flows = {row[0]: row[1:] for row in tables["flows"].select("flow", "sent_packets", "goodput_bytes").iter_rows()}
    for number, name in _flows(scenario):
        sent, goodput = flows[number]
        if sent == 0:
            sender = f"flow {number}: the sender of {PROGRAM}{name}"
            if (ending := next((ending for ending in endings if ending["flow"] == number - 1), None)) is None:
                return f"{sender} sent nothing; run its command by hand to see why"
            said = f"it said: {' / '.join(ending['said'])}" if ending["said"] else "it said nothing"
            return (
                f"{sender} ended after {ending['after_ns'] / 1e9:.2f} s with status 0 before it had sent anything; "
                f"make it send until it is stopped, or end with another status if it cannot ({said})"
            )
        if goodput == 0:
            return (
                f"flow {number}: of {sent} packets that the sender of {PROGRAM}{name} sent, none brought data to the "
                "receiver: it never connected, or the path loses everything"
            )
    return None


def _flows(scenario: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    for number, flow in enumerate(scenario["flows"], 1):
        if flow["scheme"].startswith(PROGRAM):
            yield number, flow["scheme"].removeprefix(PROGRAM)


def _commands(name: str, program: Mapping[str, Any]) -> dict[str, Any]:
    if "wrapper" not in program:
        return dict(program)
    wrapper = program["wrapper"]
    first = _first(name, wrapper)
    second = "sender" if first == "receiver" else "receiver"
    return {
        "first": first,
        first: [wrapper, first, "{port}"],
        second: [wrapper, second, "{address}", "{port}"],
    }


def _first(name: str, wrapper: str) -> str:
    """Asks a wrapper of Pantheon which end is started first, with the rights of an ordinary user."""
    user, group = privilege.ordinary()
    try:
        answer = subprocess.run(  # noqa: S603 - the user names it
            [wrapper, "run_first"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
            stdin=subprocess.DEVNULL,
            user=user,
            group=group,
            extra_groups=[],
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunStopped(f"{PROGRAM}{name}: {wrapper} run_first: {error}") from error
    word = answer.stdout.strip()
    if answer.returncode != 0 or word not in _SIDES:
        said = (answer.stdout + answer.stderr).strip().splitlines()[-1:]
        raise RunStopped(
            f'{PROGRAM}{name}: {wrapper} run_first must print "receiver" or "sender", and ended with '
            f"status {answer.returncode} after {said[0] if said else 'nothing'!r}"
        )
    return word
