"""Which implementation of a scheme a world runs.

A plain name is the world's own: bakeoff's in the simulator, the kernel's controller of that name on a real kernel, and
bakeoff's there too if the kernel has none. `kernel:NAME` and `own:NAME` say which.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from bakeoff.experiment.catalogue import KERNEL, KERNEL_CONTROLLERS, OWN
from bakeoff.worlds.outcome import RunStopped

if TYPE_CHECKING:
    from collections.abc import Mapping


def for_simulator(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with bakeoff's own names.

    Raises:
        RunStopped: a flow asks for a controller of a kernel.
    """
    return _renamed(scenario, _simulated)


def for_kernel(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """The scenario with `kernel:` or `own:` before every name.

    Raises:
        RunStopped: a flow gives parameters to a controller of the kernel, which takes none.
    """
    return _renamed(scenario, _on_kernel)


def _renamed(scenario: Mapping[str, Any], rename: Any) -> dict[str, Any]:
    changed = copy.deepcopy(dict(scenario))
    for number, flow in enumerate(changed.get("flows", ()), 1):
        flow["scheme"] = rename(number, flow)
    return changed


def _simulated(number: int, flow: Mapping[str, Any]) -> str:
    name = str(flow["scheme"])
    if name.startswith(KERNEL):
        plain = name.removeprefix(KERNEL)
        raise RunStopped(
            f'flow {number}: {name} needs a real kernel; add --world linux, or write "{plain}" for bakeoff\'s own'
        )
    return name.removeprefix(OWN)


def _on_kernel(number: int, flow: Mapping[str, Any]) -> str:
    name = str(flow["scheme"])
    if name.startswith(OWN):
        return name
    plain = name.removeprefix(KERNEL)
    if plain not in KERNEL_CONTROLLERS:
        return OWN + name
    if flow["parameters"]:
        raise RunStopped(
            f'flow {number}: the kernel\'s {plain} takes no parameters; leave them out, or write "{OWN}{plain}" '
            "for bakeoff's own"
        )
    return KERNEL + plain
