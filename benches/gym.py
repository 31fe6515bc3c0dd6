"""Measures the Gymnasium environments: steps per second of user CPU, and how many times those of a single run."""

from __future__ import annotations

import resource
import statistics
import sys
from typing import Any

import gymnasium
import numpy as np

import bakeoff.gym as lab
from run import warn_if_busy

_STEPS = 2_000
_ROUNDS = 3
_SEED = 1


def _user_s() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def measure_one() -> float:
    """Steps per CPU-second of an environment whose actions are random."""
    environment: Any = gymnasium.make(lab.ID)
    environment.action_space.seed(_SEED)
    environment.reset(seed=_SEED)
    begun = _user_s()
    for _ in range(_STEPS):
        *_, truncated, _ = environment.step(environment.action_space.sample())
        if truncated:
            environment.reset()
    return _STEPS / (_user_s() - begun)


def measure_many(count: int) -> float:
    """Steps of all runs together per CPU-second."""
    environments: Any = gymnasium.make_vec(lab.ID, num_envs=count, vectorization_mode="vector_entry_point")
    environments.reset(seed=_SEED)
    random = np.random.default_rng(_SEED)
    steps = max(_STEPS // count, 100)
    begun = _user_s()
    for _ in range(steps):
        environments.step(random.uniform(-1, 1, (count, 1)).astype(np.float32))
    return steps * count / (_user_s() - begun)


def main() -> int:
    """Measures one after the other, several times; prints medians."""
    warn_if_busy()
    counts = (1, 16, 64)
    alone: list[float] = []
    many: list[list[float]] = [[] for _ in counts]
    for _ in range(_ROUNDS):
        alone.append(measure_one())
        for found, count in zip(many, counts, strict=True):
            found.append(measure_many(count))
    print(f"{'environments':20}{'steps per CPU-second':>22}{'gymnasium.make = 1':>20}")
    print(f"{'gymnasium.make':20}{statistics.median(alone):22.0f}{1:20.1f}")
    for found, count in zip(many, counts, strict=True):
        ratio = statistics.median(steps / beside for steps, beside in zip(found, alone, strict=True))
        print(f"{f'make_vec, {count}':20}{statistics.median(found):22.0f}{ratio:20.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
