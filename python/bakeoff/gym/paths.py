"""Where episodes take place: a function from random numbers to a scenario, called at every reset."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.worlds import names, python_schemes
from bakeoff.worlds.outcome import RunStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    Paths = Callable[[np.random.Generator], dict[str, Any]]

FIRST_RATE = "first_rate_bps"
"""What a scenario may say of the flow that is steered: the rate that it begins with."""

_PACKET = 1500
_DURATION_NS = 60 * 10**9


def aurora_paths(random: np.random.Generator) -> dict[str, Any]:
    """A scenario of one flow for 60 s over a random link, as Aurora was trained.

    Rate 100 to 500 packets/s, delay 50 to 500 ms one way, queue 2 to 2981 packets (its logarithm is uniform), loss 0 to
    5 %, first rate 0.3 to 1.5 times that of the link (Jay et al., ICML 2019, section 5; PCC-RL `network_sim.py`,
    `create_new_links_and_senders`).
    """
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


def of_experiment(name_or_path: str, changes: Sequence[str] = ()) -> Paths:
    """The scenarios of a suite or an experiment file: a cell of its matrix at random, each time.

    Args:
        name_or_path: as for `bakeoff run`.
        changes: `KEY=VALUE`, as for `--set`.

    Raises:
        UserError: the experiment is wrong, or cannot be run here.
    """
    from bakeoff.experiment import load  # noqa: PLC0415 - only where experiments are read
    from bakeoff.experiment.load import Unmet  # noqa: PLC0415

    scenarios = []
    for cell in load(name_or_path, changes).cells():
        if isinstance(cell, Unmet):
            raise UserError(
                f"{name_or_path}: {', '.join(cell.labels.values())} {cell.reason}; give it, or leave it out, as in "
                f'paths=bakeoff.gym.of_experiment("{name_or_path}", ["matrix.scheme=cubic,bbr"])'
            )
        if python_schemes.has_any(cell.scenario):
            raise UserError(f"{name_or_path}: schemes in Python cannot run beside an agent; leave them out")
        try:
            scenario = names.for_simulator(cell.scenario)
        except RunStopped as error:
            raise UserError(f"{name_or_path}: {error}") from error
        # Nobody reads what would be recorded.
        scenarios.append(scenario | {"record": {**scenario["record"], "level": "summary"}})
    return partial(_one_of, scenarios)


def _one_of(scenarios: list[dict[str, Any]], random: np.random.Generator) -> dict[str, Any]:
    return scenarios[int(random.integers(len(scenarios)))]
