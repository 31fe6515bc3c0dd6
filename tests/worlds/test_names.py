"""Which implementation of a scheme a world runs."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bakeoff.worlds import names
from bakeoff.worlds.outcome import RunStopped


def scenario(scheme: str, **parameters: Any) -> dict[str, Any]:
    return {"seed": 1, "flows": [{"scheme": scheme, "parameters": parameters}]}


def scheme_of(changed: dict[str, Any]) -> str:
    return str(changed["flows"][0]["scheme"])


@pytest.mark.parametrize(
    ("name", "simulated", "real"),
    [
        ("cubic", "cubic", "kernel:cubic"),
        ("ledbat", "ledbat", "own:ledbat"),
        ("own:cubic", "cubic", "own:cubic"),
        ("own:ledbat", "ledbat", "own:ledbat"),
    ],
)
def test_a_plain_name_is_the_worlds_own(name: str, simulated: str, real: str) -> None:
    asked = scenario(name)
    before = copy.deepcopy(asked)
    assert scheme_of(names.for_simulator(asked)) == simulated
    assert scheme_of(names.for_kernel(asked)) == real
    assert asked == before


def test_the_simulator_has_no_kernel() -> None:
    assert scheme_of(names.for_kernel(scenario("kernel:bbr"))) == "kernel:bbr"
    with pytest.raises(
        RunStopped, match=r'^flow 1: kernel:bbr needs .*; add --world linux, or write "bbr" for bakeoff'
    ):
        names.for_simulator(scenario("kernel:bbr"))
    with pytest.raises(RunStopped, match=r"^flow 1: kernel:cdg needs a real kernel; add --world linux$"):
        names.for_simulator(scenario("kernel:cdg"))


def test_a_stack_has_one_name_in_every_world_that_has_it() -> None:
    assert scheme_of(names.for_simulator(scenario("quinn:cubic"))) == "quinn:cubic"
    assert scheme_of(names.for_host(scenario("quinn:cubic"))) == "stack:quinn:cubic"
    with pytest.raises(
        RunStopped, match=r"^flow 1: quinn:cubic is a stack .* linux cannot run; add --world sim or emu$"
    ):
        names.for_kernel(scenario("quinn:cubic"))


def test_the_kernels_controllers_take_no_parameters() -> None:
    assert scheme_of(names.for_kernel(scenario("own:cubic", beta=0.5))) == "own:cubic"
    with pytest.raises(RunStopped, match=r'^flow 1: the kernel\'s cubic takes no parameters; .* write "own:cubic"'):
        names.for_kernel(scenario("cubic", beta=0.5))


def test_a_controller_that_is_loaded_needs_a_running_kernel() -> None:
    asked = {**scenario("kernel:mine"), "controllers": {"mine": "mine.o"}}
    with pytest.raises(RunStopped, match=r"^flow 1: kernel:mine is loaded .*, which only emu has; add --world emu$"):
        names.for_kernel(asked)
    assert scheme_of(names.for_host(asked)) == "kernel:mine"


def test_the_core_does_not_see_what_is_for_reports() -> None:
    assert names.for_simulator({"seed": 1, "traces": {"forward.0": "a.trace"}, "names": {"1": "mine"}}) == {"seed": 1}


def test_a_scenario_without_flows_is_left_to_the_core() -> None:
    assert names.for_simulator({"seed": 1}) == {"seed": 1}
