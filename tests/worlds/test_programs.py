"""Programs of others: what the emulator is told of them, as whom they run, and what is said of one that is silent."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from bakeoff.errors import UserError
from bakeoff.worlds import privilege, programs
from bakeoff.worlds.outcome import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS = {"first": "sender", "sender": ["send", "{port}"], "receiver": ["receive", "{address}"]}


def scenario(*schemes: str, **declared: Any) -> dict[str, Any]:
    return {"flows": [{"scheme": scheme} for scheme in schemes], "programs": declared}


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Makes wrappers print a text and end with a status."""

    def function(text: str, status: int) -> None:
        done = subprocess.CompletedProcess([], status, text, "")
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)

    return function


def test_the_emulator_is_told_of_flows_that_are_programs() -> None:
    asked = scenario("cubic", "program:mine", "own:cubic", "program:mine", mine=COMMANDS)
    assert programs.of(asked) == [{"flow": 1, **COMMANDS}, {"flow": 3, **COMMANDS}]


@pytest.mark.parametrize("first", ["sender", "receiver"])
def test_a_wrapper_says_who_is_first_and_the_second_is_given_the_address(
    answer: Callable[[str, int], None], first: str
) -> None:
    answer(f"{first}\n", 0)
    second = {"sender": "receiver", "receiver": "sender"}[first]
    (told,) = programs.of(scenario("program:mine", mine={"wrapper": "/w"}))
    commands = {first: ["/w", first, "{port}"], second: ["/w", second, "{address}", "{port}"]}
    assert told == {"flow": 0, "first": first, **commands}


@pytest.mark.parametrize(("text", "status"), [("sender\n", 3), ("both\n", 0)])
def test_a_wrapper_that_fails_has_said_nothing(answer: Callable[[str, int], None], text: str, status: int) -> None:
    answer(text, status)
    ended = rf"/w run_first must print .*, and ended with status {status} after '{text.strip()}'$"
    with pytest.raises(RunStopped, match=ended):
        programs.of(scenario("program:mine", mine={"wrapper": "/w"}))


@pytest.mark.parametrize(
    ("sent", "goodput", "sentence"),
    [
        (0, 0, "flow 2: the sender of program:mine sent nothing; run its command by hand to see why"),
        (3, 0, "flow 2: of 3 packets that the sender of program:mine sent, none brought data to the receiver"),
        (3, 1, None),
    ],
)
def test_a_program_that_gets_nothing_across_is_told_of(sent: int, goodput: int, sentence: str | None) -> None:
    flows = pl.DataFrame({"flow": [0, 1, 2], "sent_packets": [0, 0, sent], "goodput_bytes": [0, 0, goodput]})
    found = programs.silent(scenario("cubic", "program:mine", mine=COMMANDS), {"flows": flows}, [])
    assert (found or "")[: len(sentence or "")] == (sentence or "")
    assert (found is None) == (sentence is None)


@pytest.mark.parametrize(("said", "quoted"), [([], "it said nothing"), (["usage: x", "-h"], "it said: usage: x / -h")])
def test_a_sender_that_ended_well_before_it_sent_is_told_of(said: list[str], quoted: str) -> None:
    flows = pl.DataFrame({"flow": [1, 2], "sent_packets": [0, 0], "goodput_bytes": [0, 0]})
    endings = [{"flow": 0, "after_ns": 10**9, "said": []}, {"flow": 1, "after_ns": 40_000_000, "said": said}]
    found = programs.silent(scenario("cubic", "program:mine", mine=COMMANDS), {"flows": flows}, endings)
    assert found == (
        "flow 2: the sender of program:mine ended after 0.04 s with status 0 before it had sent anything; make it send "
        f"until it is stopped, or end with another status if it cannot ({quoted})"
    )


@pytest.mark.parametrize(
    ("caller", "identity"),
    [
        ({"SUDO_UID": "1000", "SUDO_GID": "1001"}, (1000, 1001)),
        ({}, (65534, 65534)),
        ({"SUDO_UID": "0", "SUDO_GID": "0"}, (65534, 65534)),
        ({"SUDO_UID": "", "SUDO_GID": ""}, (65534, 65534)),
    ],
)
def test_programs_run_as_who_called_sudo_or_as_nobody_and_never_as_root(
    monkeypatch: pytest.MonkeyPatch, caller: dict[str, str], identity: tuple[int, int]
) -> None:
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in caller.items():
        monkeypatch.setenv(name, value)
    assert privilege.ordinary() == identity


@pytest.mark.parametrize("number", ["root", "-1", "²"])
def test_a_caller_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    monkeypatch.setenv("SUDO_UID", number)
    with pytest.raises(UserError, match=f"^the environment's SUDO_UID is '{number}', no number; call bakeoff by sudo"):
        privilege.ordinary()
