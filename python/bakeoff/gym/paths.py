"""Where episodes take place: a function from random numbers to a scenario, called at every reset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bakeoff.errors import UserError
from bakeoff.experiment.catalogue import KERNEL, PROGRAM
from bakeoff.gym.arguments import is_number, quoted
from bakeoff.worlds import names, python_schemes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Paths = Callable[[np.random.Generator], dict[str, Any]]

FIRST_RATE = "first_rate_bps"
"""What a scenario may say of the flow that is steered: the rate that it begins with."""

_PACKET = 1500
_DURATION_NS = 60 * 10**9


def function_of(paths: str | Path | Paths | None) -> Paths:
    """What the argument `paths` of an environment stands for; None: `aurora_paths`.

    Raises:
        UserError: it is nothing of the kind, or the experiment is wrong.
    """
    if paths is None:
        return aurora_paths
    if isinstance(paths, (str, Path)):
        return of_experiment(paths)
    if not callable(paths):
        raise UserError(
            f"paths: {quoted(paths)}; give a suite, an experiment file, or a function from random numbers to a scenario"
        )
    return paths


def drawn(paths: Paths, random: np.random.Generator) -> dict[str, Any]:
    """A scenario that has flows; the core finds what else may be wrong with it.

    Raises:
        UserError: the function gave no such thing.
    """
    scenario: Any = paths(random)
    flows = scenario.get("flows") if isinstance(scenario, Mapping) else None
    if not isinstance(flows, list | tuple) or not flows or not all(isinstance(flow, Mapping) for flow in flows):
        raise UserError(
            f"paths: the function gave {quoted(scenario)}; it has to give a scenario as bakeoff.gym.aurora_paths does, "
            "a dict whose flows are a list of dicts"
        )
    for number, flow in enumerate(flows, 1):
        rate = flow.get(FIRST_RATE)
        if rate is not None and not (is_number(rate) and rate >= 0):
            raise UserError(f"paths: {FIRST_RATE} of flow {number} is {quoted(rate)}; give a rate in bit/s, or none")
    return dict(scenario)


def aurora_paths(random: np.random.Generator) -> dict[str, Any]:
    """A scenario of one flow for 60 s over a random link, as Aurora was trained.

    Rate 100 to 500 packets/s, delay 50 to 500 ms one way, queue 2 to 2981 packets (its logarithm is uniform), loss 0 to
    5 %, first rate 0.3 to 1.5 times that of the link (Jay et al., ICML 2019, section 5; PCC-RL `network_sim.py`,
    `create_new_links_and_senders`).

    Raises:
        UserError: what it is given draws no random numbers.
    """
    _check_random(random)
    rate = round(random.uniform(100, 500) * _PACKET * 8)
    delay_ns = round(random.uniform(0.05, 0.5) * 1e9)
    packets = 1 + int(math.exp(random.uniform(0, 8)))
    wire: dict[str, Any] = {"delay_ns": delay_ns, "jitter_ns": 0}
    forward = {
        "link": {"kind": "constant", "rate_bps": rate},
        "queue": {"kind": "fifo", "limit_packets": packets},
        "loss": random.uniform(0, 0.05),
    }
    flow = {"scheme": "agent", "traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": _DURATION_NS}
    return {
        "duration_ns": _DURATION_NS,
        "record": {"level": "summary", "interval_ns": 10**8},
        "forward": [forward | wire],
        "reverse": [{"link": {"kind": "unlimited"}, "queue": {"kind": "fifo"}} | wire],
        "flows": [flow | {FIRST_RATE: random.uniform(0.3, 1.5) * rate}],
    }


def of_experiment(name_or_path: str | Path, changes: Sequence[str] = ()) -> Paths:
    """The scenarios of a suite or an experiment file: a cell of its matrix at random, each time.

    Args:
        name_or_path: as for `bakeoff run`.
        changes: `KEY=VALUE`, as for `--set`.

    Raises:
        UserError: an argument is not what it has to be, or the experiment is wrong, or cannot be run here.
    """
    from bakeoff.experiment import load  # noqa: PLC0415 - only where experiments are read
    from bakeoff.experiment.cell import Unmet  # noqa: PLC0415

    if not isinstance(name_or_path, (str, Path)):
        raise UserError(f"name_or_path: {quoted(name_or_path)}; give a suite or an experiment file")
    if not isinstance(changes, list | tuple) or not all(isinstance(change, str) for change in changes):
        raise UserError(f'changes: {quoted(changes)}; give a list of KEY=VALUE, as in ["rate=20Mbit/s"]')
    name = str(name_or_path)
    scenarios = []
    for cell in load(name, changes).cells():
        if isinstance(cell, Unmet):
            raise UserError(
                f"{name}: {', '.join(cell.labels.values())} {cell.reason}; give it, or leave it out, as in "
                f'paths=bakeoff.gym.of_experiment("{name}", ["matrix.scheme=cubic,bbr"])'
            )
        if python_schemes.has_any(cell.scenario):
            raise UserError(f"{name}: schemes in Python cannot run beside an agent; leave them out")
        for number, flow in enumerate(cell.scenario["flows"], 1):
            if flow["scheme"].startswith((KERNEL, PROGRAM)):
                of_others = f"{flow['scheme']} needs a real kernel, and an agent is in the simulator"
                raise UserError(f"{name}: flow {number}: {of_others}; give another scheme, or leave the flow out")
        scenario = names.for_simulator(cell.scenario)
        # Nobody reads what would be recorded.
        scenarios.append(scenario | {"record": {**scenario["record"], "level": "summary"}})
    return partial(_one_of, scenarios)


def _one_of(scenarios: list[dict[str, Any]], random: np.random.Generator) -> dict[str, Any]:
    _check_random(random)
    return scenarios[int(random.integers(len(scenarios)))]


def _check_random(random: object) -> None:
    if not isinstance(random, np.random.Generator):
        raise UserError(f"random: {quoted(random)}; give random numbers of numpy, as in np.random.default_rng(1)")
