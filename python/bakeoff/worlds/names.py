"""Which implementation of a scheme a world runs.

A plain name is the world's own: bakeoff's in the simulator, the kernel's controller of that name on a real kernel, and
bakeoff's there too if the kernel has none. `kernel:NAME` and `own:NAME` say which. `STACK:CONTROLLER` is neither's: a
stack that is the same in every world that has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.experiment import catalogue
from bakeoff.experiment.catalogue import KERNEL, KERNEL_CONTROLLERS, OWN, PROGRAM, STACK, is_stack
from bakeoff.scenario import CONTROLLERS, EMULATION, FILES, NAMES, PROGRAMS, PYTHON, TRACES
from bakeoff.scheme import reference
from bakeoff.worlds import controllers
from bakeoff.worlds.outcome import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

# What the worlds take from a scenario themselves, before the core reads it.
_OF_WORLDS = frozenset({PROGRAMS, CONTROLLERS, EMULATION, PYTHON, FILES, NAMES, TRACES})


def for_simulator(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with bakeoff's own names.

    Raises:
        RunStopped: a flow asks for a controller of a kernel.
    """
    return _renamed(scenario, _simulated)


def for_kernel(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with `kernel:` or `own:` before every name.

    Raises:
        RunStopped: a flow gives parameters to a controller of the kernel, which takes none, or asks for a stack that is
            not the kernel's.
    """
    loaded = scenario.get(CONTROLLERS, ())
    return _renamed(scenario, lambda number, flow: _on_kernel(number, flow, loaded))


def for_host(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with `kernel:`, `own:` or `stack:` before every name, for the kernel of this machine.

    Raises:
        RunStopped: a flow asks for a controller that this kernel lacks, or gives one parameters.
    """
    offered = (*controllers.available(), *scenario.get(CONTROLLERS, ()))
    return _renamed(scenario, lambda number, flow: _on_host(number, flow, offered))


def _renamed(scenario: Mapping[str, Any], rename: Callable[[int, Mapping[str, Any]], str]) -> dict[str, Any]:
    common = {name: value for name, value in scenario.items() if name not in _OF_WORLDS}
    flows = [{**flow, "scheme": rename(number, flow)} for number, flow in enumerate(scenario.get("flows", ()), 1)]
    return {**common, "flows": flows} if "flows" in scenario else common


def _check_no_program(number: int, name: str, world: str) -> None:
    if name.startswith(PROGRAM):
        raise RunStopped(f"flow {number}: {name} is a program of its own, which {world} cannot run; add --world emu")


def _simulated(number: int, flow: Mapping[str, Any]) -> str:
    name = str(flow["scheme"])
    _check_no_program(number, name, "sim")
    if name.startswith(KERNEL):
        plain = name.removeprefix(KERNEL)
        choice = f', or write "{plain}" for bakeoff\'s own' if plain in catalogue.of_core().schemes else ""
        raise RunStopped(f"flow {number}: {name} needs a real kernel; add --world linux{choice}")
    return name.removeprefix(OWN)


def _on_kernel(number: int, flow: Mapping[str, Any], loaded: Collection[str]) -> str:
    name = str(flow["scheme"])
    _check_no_program(number, name, "linux")
    if name.startswith(reference.PREFIX):
        plain = name.removeprefix(reference.PREFIX)
        raise RunStopped(f"flow {number}: {plain} is written in Python, which the guest lacks; use --world sim or emu")
    if is_stack(name):
        raise RunStopped(f"flow {number}: {name} is a stack of its own, which linux cannot run; add --world sim or emu")
    if name.removeprefix(KERNEL) in loaded:
        raise RunStopped(f"flow {number}: {name} is loaded into a running kernel, which only emu has; add --world emu")
    return _with_prefix(number, flow, KERNEL_CONTROLLERS)


def _on_host(number: int, flow: Mapping[str, Any], offered: Collection[str]) -> str:
    name = str(flow["scheme"])
    if name.startswith((PROGRAM, reference.PREFIX)):
        return name
    if is_stack(name):
        return STACK + name
    plain = name.removeprefix(KERNEL)
    if name.startswith(KERNEL) and plain not in offered:
        own = f', or write "{OWN}{plain}" for bakeoff\'s own' if plain in catalogue.of_core().schemes else ""
        raise RunStopped(
            f"flow {number}: the kernel of this machine has no controller {plain}; it offers {', '.join(offered)}{own}"
        )
    return _with_prefix(number, flow, offered)


def _with_prefix(number: int, flow: Mapping[str, Any], known: Collection[str]) -> str:
    name = str(flow["scheme"])
    plain = name.removeprefix(KERNEL)
    if name.startswith(OWN):
        return name
    if name == plain and name not in known:
        return OWN + name
    if flow["parameters"]:
        raise RunStopped(
            f'flow {number}: the kernel\'s {plain} takes no parameters; leave them out, or write "{OWN}{plain}" '
            "for bakeoff's own"
        )
    return KERNEL + plain
