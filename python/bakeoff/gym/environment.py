"""The environments: one run at a time, and many at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeGuard

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from bakeoff import _core
from bakeoff.errors import UserError
from bakeoff.gym import paths as paths_of
from bakeoff.gym.arguments import checked, is_count, quoted
from bakeoff.gym.intervals import Intervals
from bakeoff.gym.task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from bakeoff.gym.intervals import Numbers
    from bakeoff.gym.paths import Paths

    Observation = NDArray[np.float32]

# No window: UDT's, as in PCC.
_WINDOW = 100_000
_INITIAL_PACKETS = 10
_PACKET_BITS = 8 * 1500
# Their observations take a quarter of a gigabyte.
_MOST_RUNS = 1_000_000
# Seeds keep their value in any reader of JSON.
_SEEDS = 2**53


class _Runs:
    """Several runs, each with the flow that is steered: all that single and many environments share."""

    def __init__(self, count: int, paths: str | Path | Paths | None, flow: int, task: Task | None) -> None:
        if not is_count(flow):
            raise UserError(f"flow: {quoted(flow)}; give a whole number, at least 1")
        if not isinstance(task, Task | None):
            raise UserError(f"task: {quoted(task)}; give a bakeoff.gym.Task")
        self.task = task or Task()
        self._paths = paths_of.function_of(paths)
        self._flow = flow
        self._episodes = _core.Episodes(count)
        features = self.task.features
        shape = (count, self.task.history, len(features))
        self._low, self._high = (np.array([getattr(f, side) for f in features]) for side in ("low", "high"))
        self._history = np.zeros(shape, np.float64)
        self._rate, self._rtt, self._least, self._end, self._now, self._wait = (np.zeros(count) for _ in range(6))
        self._window = np.full(count, _WINDOW, np.uint32)

    def spaces(self) -> tuple[gymnasium.Space[Observation], gymnasium.Space[Observation]]:
        """What is observed and what is decided in one run."""
        low, high = (np.tile(side, self.task.history).astype(np.float32) for side in (self._low, self._high))
        observed: Any = gymnasium.spaces.Box(low, high, dtype=np.float32)
        decided: Any = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
        return observed, decided

    def begin(self, place: int, random: np.random.Generator) -> None:
        """A new run in a place, up to the first acknowledgement.

        Raises:
            UserError: the scenario is none, or cannot be run.
        """
        scenario = {**paths_of.drawn(self._paths, random), "seed": int(random.integers(_SEEDS))}
        flows = len(scenario["flows"])
        if self._flow > flows:
            raise UserError(f"flow {self._flow}: the scenario has flows 1 to {flows}; choose one of them")
        steered = scenario["flows"][self._flow - 1]
        first_rate = steered.get(paths_of.FIRST_RATE)
        plain = [{key: flow[key] for key in flow if key != paths_of.FIRST_RATE} for flow in scenario["flows"]]
        try:
            row = self._episodes.begin(place, json.dumps(scenario | {"flows": plain}), self._flow - 1)
        except TypeError as error:
            raise UserError(f"paths: {error}; a scenario is of dict, list, str, int, float, bool and None") from error
        except _core.ScenarioError as error:
            raise UserError(f"paths: {error}") from error
        rows = row[np.newaxis]
        srtt = float(rows[0, _SRTT])
        if not srtt > 0:
            raise UserError(f"flow {self._flow} has no acknowledgement before the run ends; make the run longer")
        self._end[place] = min(scenario["duration_ns"], steered["stop_ns"]) / 1e9
        self._rtt[place] = self._least[place] = srtt
        rate = _INITIAL_PACKETS * _PACKET_BITS / srtt if first_rate is None else first_rate
        self._rate[place] = np.clip(rate, self.task.slowest_bps, self.task.fastest_bps)
        first = Intervals(rows, self._rtt[[place]], self._least[[place]], self._rate[[place]])
        self._now[place] = first.end_s[0]
        self._wait[place] = self._length(first)[0]
        # As if it had always been like this.
        self._history[place] = self._features(first, np.zeros(1, np.bool_))

    def step(
        self, decided: Observation, resting: NDArray[np.bool_]
    ) -> tuple[Intervals, Numbers, NDArray[np.bool_], dict[int, str]]:
        """Takes the runs that do not rest to the next decision.

        Returns:
            What happened, its worth, which are over, and what to say of those in which a flow lost its connection.

        Raises:
            ResetNeeded: no run has begun.
            UserError: there is not one action for each run, or one is not a number, or so with what the task gives.
        """
        if not self._end.all():
            raise ResetNeeded("there is no run yet; call reset() before step()")
        try:
            actions = np.asarray(decided, np.float64).reshape(-1)
        except (TypeError, ValueError, OverflowError) as error:
            raise UserError(f"actions: {quoted(decided)}; give one number for each run, from -1 to 1") from error
        if actions.size != self._end.size:
            raise UserError(f"actions: {actions.size}; give one number for each run: {self._end.size}")
        unheard = np.isnan(actions) & ~resting
        if unheard.any():
            raise UserError(f"action of run {np.flatnonzero(unheard)[0] + 1}: is not a number; it is from -1 to 1")
        task = self.task
        decided_bps = task.decide(self._rate, np.clip(actions, -1, 1))
        rate = checked("task.decide", decided_bps, "a rate in bit/s", resting)
        rate = np.clip(rate, task.slowest_bps, task.fastest_bps)
        until = np.where(resting, 0.0, np.minimum(self._now + self._wait, self._end))
        rows = self._episodes.step(self._window, rate, until)
        unknown = np.isnan(rows[:, _RTT])
        self._rate = np.where(resting, self._rate, rate)
        self._rtt = np.where(unknown, self._rtt, rows[:, _RTT])
        self._least = np.minimum(self._least, self._rtt)
        intervals = Intervals(rows, self._rtt, self._least, self._rate)
        self._now = np.where(resting, self._now, until)
        self._wait = self._length(intervals)
        self._history = np.where(
            resting[:, np.newaxis, np.newaxis],
            self._history,
            np.concatenate([self._history[:, 1:], self._features(intervals, resting)[:, np.newaxis]], axis=1),
        )
        losses = {place: sentence for place, sentence in self._episodes.losses() if not resting[place]}
        over = self._now >= self._end
        over[list(losses)] = True
        worth = checked("task.reward", task.reward(intervals), "a finite number", resting, finite=True)
        return intervals, worth, over, losses

    def observation(self) -> Observation:
        """The last intervals of every run, the newest last."""
        return self._history.reshape(len(self._history), -1).astype(np.float32)

    def _length(self, intervals: Intervals) -> Numbers:
        if self.task.interval_s is not None:
            return np.full(len(intervals.rows), self.task.interval_s)
        return np.maximum(intervals.rtt_s / 2, self.task.shortest_s)

    def _features(self, intervals: Intervals, resting: NDArray[np.bool_]) -> Numbers:
        columns = [
            checked(f'feature "{feature.name}"', feature.of(intervals), "a number", resting)
            for feature in self.task.features
        ]
        return np.clip(np.stack(columns, axis=1), self._low, self._high)


_RTT, _SRTT = (_core.INTERVAL_FIELDS.index(name) for name in ("rtt_mean_s", "srtt_s"))


def _told(intervals: Intervals) -> dict[str, Numbers]:
    return {
        "time_s": intervals.end_s,
        "throughput_bps": intervals.throughput_bps,
        "rtt_s": intervals.rtt_s,
        "loss": intervals.loss,
        "rate_bps": intervals.rate_bps,
    }


class CongestionControl(gymnasium.Env["Observation", "Observation"]):
    """One flow of a run: an action a monitor interval decides its pacing rate.

    An episode is a run; at its end it is truncated, never terminated. Where a stack beside the agent loses its
    connection the run is over too, and `info["connection_lost"]` says how.

    Args:
        paths: where it takes place: a suite, an experiment file, or a function from random numbers to a scenario; by
            default random links as Aurora's.
        flow: number of the flow that is steered, from 1. Of its scheme in the file only what it asks for in ECN is
            heeded, and marks are not observed; the others run theirs.
        task: what is observed, decided and rewarded; by default as in Aurora.

    Raises:
        UserError: an argument is not what it has to be, or the experiment is wrong.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as the class that it extends has it

    def __init__(self, paths: str | Path | Paths | None = None, flow: int = 1, task: Task | None = None) -> None:
        self._runs = _Runs(1, paths, flow, task)
        self.observation_space, self.action_space = self._runs.spaces()
        self._over = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins a run. The same seed gives the same path and the same chance."""
        super().reset(seed=seed, options=options)
        self._runs.begin(0, self.np_random)
        self._over = False
        return self._runs.observation()[0], {}

    def step(self, action: Observation) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One monitor interval.

        Raises:
            ResetNeeded: no run has begun, or it is over.
            UserError: the action is not one number, or what the task gives is none.
        """
        if self._over:
            raise ResetNeeded("the run is over; call reset() before step()")
        awake = np.zeros(1, np.bool_)
        intervals, reward, over, losses = self._runs.step(action, awake)
        self._over = bool(over[0])
        told: dict[str, Any] = {name: float(values[0]) for name, values in _told(intervals).items()}
        if losses:
            told["connection_lost"] = losses[0]
        return self._runs.observation()[0], float(reward[0]), False, self._over, told


class CongestionControlVector(VectorEnv["Observation", "Observation", "NDArray[Any]"]):
    """Many runs at once, in one call of the core without the interpreter lock.

    A run that is over begins anew at the next step, whose action it does not hear (`AutoresetMode.NEXT_STEP`).

    Args:
        num_envs: how many.
        paths: see `CongestionControl`.
        flow: see `CongestionControl`.
        task: see `CongestionControl`.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as above

    def __init__(
        self, num_envs: int = 1, paths: str | Path | Paths | None = None, flow: int = 1, task: Task | None = None
    ) -> None:
        if not is_count(num_envs) or num_envs > _MOST_RUNS:
            raise UserError(f"num_envs: {quoted(num_envs)}; give a whole number from 1 to {_MOST_RUNS}")
        self.num_envs = num_envs
        self._runs = _Runs(num_envs, paths, flow, task)
        self.single_observation_space, self.single_action_space = self._runs.spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._randoms: list[np.random.Generator] = []
        self._over = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins every run. A number seeds them with itself and those that follow it.

        Raises:
            UserError: the seed is neither a number from 0 nor one for each run, or a scenario cannot be run.
        """
        del options
        seeds = _seeds(seed, self.num_envs)
        if not self._randoms:
            self._randoms = [seeding.np_random(own)[0] for own in seeds]
        for place, own in enumerate(seeds):
            if own is not None:
                self._randoms[place] = seeding.np_random(own)[0]
            self._runs.begin(place, self._randoms[place])
        self._over[:] = False
        return self._runs.observation(), {}

    def step(
        self, actions: Observation
    ) -> tuple[Observation, Numbers, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One monitor interval of every run."""
        resting = self._over
        intervals, reward, over, losses = self._runs.step(actions, resting)
        for place in np.flatnonzero(resting):
            self._runs.begin(int(place), self._randoms[place])
        self._over = over & ~resting
        told: dict[str, Any] = {}
        for name, values in _told(intervals).items():
            told |= {name: np.where(resting, 0.0, values), f"_{name}": ~resting}
        if losses:
            places = range(self.num_envs)
            told["connection_lost"] = np.array([losses.get(place) for place in places], object)
            told["_connection_lost"] = np.array([place in losses for place in places])
        nothing = np.zeros(self.num_envs, np.bool_)
        return self._runs.observation(), np.where(resting, 0.0, reward), nothing, self._over.copy(), told


def _seeds(seed: object, count: int) -> list[int | None]:
    """The seed of each run; None where its chance goes on."""
    if seed is None:
        return [None] * count
    if _is_seed(seed):
        return [int(seed) + place for place in range(count)]
    right = f"give a whole number from 0, or one for each run: {count}"
    if not isinstance(seed, (list, tuple, np.ndarray)) or not all(own is None or _is_seed(own) for own in seed):
        raise UserError(f"seed: {quoted(seed)}; {right}")
    if len(seed) != count:
        raise UserError(f"seed: {len(seed)} numbers; {right}")
    return [None if own is None else int(own) for own in seed]


def _is_seed(value: object) -> TypeGuard[int]:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 0)
