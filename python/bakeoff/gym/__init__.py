"""Gymnasium environments over the simulator, for schemes that learn. They need the extra `gym`.

    import gymnasium
    import bakeoff.gym

    env = gymnasium.make("bakeoff/CongestionControl-v0")
    envs = gymnasium.make_vec("bakeoff/CongestionControl-v0", num_envs=64, vectorization_mode="vector_entry_point")

Read first: `Task` (what is observed, decided and rewarded), then `CongestionControl`.
"""

import gymnasium

from bakeoff.gym.environment import CongestionControl, CongestionControlVector
from bakeoff.gym.intervals import Intervals
from bakeoff.gym.paths import aurora_paths, of_experiment
from bakeoff.gym.task import Feature, Task

__all__ = [
    "CongestionControl",
    "CongestionControlVector",
    "Feature",
    "Intervals",
    "Task",
    "aurora_paths",
    "of_experiment",
]

ID = "bakeoff/CongestionControl-v0"

if ID not in gymnasium.registry:
    gymnasium.register(
        id=ID,
        entry_point="bakeoff.gym.environment:CongestionControl",
        vector_entry_point="bakeoff.gym.environment:CongestionControlVector",
    )
