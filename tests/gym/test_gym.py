"""The Gymnasium environments: Gymnasium's own checks, seeds, and one run beside many."""

from __future__ import annotations

import ast
import itertools
import json
import math
import pickle
import re
import textwrap
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import bakeoff.gym as lab
from bakeoff import _core
from bakeoff.errors import UserError
from bakeoff.gym.task import multiply

EXPERIMENT = """
name = "lab"
duration = "4s"
start_jitter = "0s"
[[path.forward]]
rate = "{rate}"
delay = "20ms"
queue = {{ limit = "34pkt" }}
[[flow]]
{others}
"""


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    return file_of(tmp_path)


def file_of(folder: Path, rate: str = "10Mbit/s", others: str = 'scheme = "reno"') -> str:
    file = folder / "lab.toml"
    file.write_text(EXPERIMENT.format(rate=rate, others=others))
    return str(file)


def rollout(environment: Any, seed: int, steps: int = 40, action: float = 0.1) -> list[Any]:
    observation, _ = environment.reset(seed=seed)
    rows = [(observation.tolist(), 0.0)]
    for _ in range(steps):
        observation, reward, _, _, _ = environment.step(np.array([action], np.float32))
        rows.append((observation.tolist(), reward))
    return rows


def test_the_example_of_the_docs_prints_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "your-own-scheme.md").read_text(encoding="utf-8")
    (example, printed), *others = re.findall(
        r"In a file `agent.py`\n\n(.*?)\n\nprints\n\n    \$ \.venv/bin/python agent\.py\n    ([^\n]*)\n",
        text,
        re.DOTALL,
    )
    assert others == []
    exec(textwrap.dedent(example), {})  # noqa: S102 - ours
    assert capsys.readouterr().out == f"{printed}\n"


@pytest.mark.filterwarnings("ignore:.*not within the optimal range.*")
def test_gymnasium_finds_no_fault(experiment: str) -> None:
    check_env(gymnasium.make(lab.ID).unwrapped, skip_render_check=True)
    check_env(gymnasium.make(lab.ID, paths=experiment).unwrapped, skip_render_check=True)


def test_an_episode_ends_at_the_stop_of_its_flow(tmp_path: Path) -> None:
    environment = gymnasium.make(lab.ID, paths=file_of(tmp_path, others='scheme = "reno"\nstop = "1.5s"'))
    environment.reset(seed=1)
    told, is_over, steps = {"time_s": 0.0}, False, 0
    while not is_over:
        *_, is_over, told = environment.step(np.zeros(1, np.float32))
        steps += 1
    assert told["time_s"] == pytest.approx(1.5)
    assert steps > 10


def test_a_seed_is_a_trajectory() -> None:
    environment = gymnasium.make(lab.ID)
    first, again, other = (rollout(environment, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_chance_goes_on_after_a_reset_without_a_seed() -> None:
    environment = gymnasium.make(lab.ID)
    environment.reset(seed=3)
    environment.reset()
    one = environment.step(np.zeros(1, np.float32))[4]
    environment.reset()
    two = environment.step(np.zeros(1, np.float32))[4]
    assert one["rtt_s"] != two["rtt_s"]


def test_many_runs_at_once_are_those_of_one() -> None:
    count, steps = 4, 40
    envs = gymnasium.make_vec(lab.ID, num_envs=count, vectorization_mode="vector_entry_point")
    assert isinstance(envs.unwrapped, lab.CongestionControlVector)
    observations, _ = envs.reset(seed=7)
    rows = [(observations.tolist(), [0.0] * count)]
    for _ in range(steps):
        observations, rewards, _, _, infos = envs.step(np.full((count, 1), 0.1, np.float32))
        assert infos["_rtt_s"].all()
        rows.append((observations.tolist(), rewards.tolist()))
    for place in range(count):
        alone = rollout(gymnasium.make(lab.ID), 7 + place, steps)
        assert alone == [(together[place], worth[place]) for together, worth in rows]


def test_chance_of_many_runs_goes_on_after_a_reset_without_a_seed() -> None:
    def drawn(environments: Any, **seed: int) -> list[float]:
        environments.reset(**seed)
        round_trips: list[float] = environments.step(np.zeros((2, 1), np.float32))[4]["rtt_s"].tolist()
        return round_trips

    envs, same = (gymnasium.make_vec(lab.ID, num_envs=2, vectorization_mode="vector_entry_point") for _ in range(2))
    first = drawn(envs, seed=1)
    assert first == drawn(same, seed=1)
    second = drawn(envs)
    assert second == drawn(same)
    assert second != first


def test_a_run_that_is_over_begins_anew(experiment: str) -> None:
    envs = gymnasium.make_vec(lab.ID, num_envs=2, vectorization_mode="vector_entry_point", paths=experiment)
    envs.reset(seed=1)
    over = np.zeros(2, bool)
    times = []
    for _ in range(600):
        _, rewards, terminated, truncated, infos = envs.step(np.zeros((2, 1), np.float32))
        assert not terminated.any()
        assert (rewards[over] == 0).all()
        assert (infos["_time_s"] == ~over).all()
        times.append(infos["time_s"][0])
        over = truncated
    assert max(times) == 4.0
    assert times.count(4.0) >= 2
    assert all(later > earlier or earlier > later == 0 for earlier, later in itertools.pairwise(times)), (
        "one step rests"
    )


def test_the_flow_that_is_steered_is_the_one_of_its_number(tmp_path: Path) -> None:
    others = 'scheme = "reno"\n[[flow]]\nscheme = "reno"\nstart = "1s"'
    for flow, start_s in ((1, 0), (2, 1)):
        environment = gymnasium.make(lab.ID, paths=file_of(tmp_path, others=others), flow=flow)
        environment.reset(seed=1)
        told = environment.step(np.zeros(1, np.float32))[4]
        assert start_s < told["time_s"] < start_s + 0.5


def test_the_newest_interval_is_the_last_of_the_history(experiment: str) -> None:
    task = lab.Task(features=(lab.Feature("end", 0, 10, lambda interval: interval.end_s),), history=3)
    environment = gymnasium.make(lab.ID, paths=experiment, task=task)
    environment.reset(seed=1)
    ends = []
    for _ in range(5):
        observation, *_, told = environment.step(np.zeros(1, np.float32))
        ends.append(told["time_s"])
    assert observation.tolist() == pytest.approx(ends[-3:])


def test_a_task_is_told_actions_within_their_bounds(experiment: str) -> None:
    told: list[float] = []

    def decide(rate: Any, action: Any) -> Any:
        told.extend(action.tolist())
        return rate

    environment = gymnasium.make(lab.ID, paths=experiment, task=lab.Task(decide=decide)).unwrapped
    environment.reset(seed=1)
    for action in (-7.0, 0.25, 7.0):
        environment.step(np.array([action], np.float32))
    assert told == [-1, 0.25, 1]


def test_cells_of_an_experiment_are_drawn(experiment: str) -> None:
    paths = lab.of_experiment(experiment, ["matrix.rate=1Mbit/s,2Mbit/s,3Mbit/s"])
    random = np.random.default_rng(1)
    rates = {paths(random)["forward"][0]["link"]["rate_bps"] for _ in range(40)}
    assert rates == {1_000_000, 2_000_000, 3_000_000}


def test_what_was_sent_is_as_much_as_what_was_acknowledged_where_nothing_was() -> None:
    rows = np.zeros((2, len(_core.INTERVAL_FIELDS)))
    rows[:, _core.INTERVAL_FIELDS.index("sent_bytes")] = 3000
    rows[1, _core.INTERVAL_FIELDS.index("acked_bytes")] = 1500
    interval = lab.Intervals(rows, np.ones(2), np.ones(2), np.ones(2))
    assert lab.Task().features[2].of(interval).tolist() == [1, 2]


def test_the_flow_sends_at_the_rate_that_is_decided(experiment: str) -> None:
    task = lab.Task(decide=lambda rate, action: rate * (1 + 0.5 * action))
    environment = gymnasium.make(lab.ID, paths=experiment, task=task)
    environment.reset(seed=1)
    for _ in range(80):
        rate = environment.step(np.zeros(1, np.float32))[4]["rate_bps"]
    *_, told = environment.step(np.zeros(1, np.float32))
    assert rate == pytest.approx(10 * 1500 * 8 / 0.0402, rel=0.02)
    assert told["throughput_bps"] == pytest.approx(rate * 1448 / 1500, rel=0.05)
    assert told["loss"] == 0
    for _ in range(10):
        *_, told = environment.step(np.ones(1, np.float32))
    assert told["loss"] > 0.5, "the queue is full"


def test_other_flows_run_their_schemes(tmp_path: Path) -> None:
    file = file_of(tmp_path, others='scheme = "cubic"\n[[flow]]\nscheme = "bbr"')
    environment = gymnasium.make(lab.ID, paths=file, flow=2)
    environment.reset(seed=1)
    for _ in range(60):
        *_, told = environment.step(np.zeros(1, np.float32))
    assert told["rtt_s"] > 0.05, "cubic fills the queue"


def test_a_task_of_ones_own(experiment: str) -> None:
    task = lab.Task(
        features=(lab.Feature("throughput (bit/s)", 0, 1e7, lambda interval: interval.throughput_bps),),
        history=2,
        reward=lambda interval: interval.acked_bytes,
        decide=lambda _, action: 5e6 + 4e6 * action,
        interval_s=0.1,
    )
    environment = gymnasium.make(lab.ID, paths=experiment, task=task)
    environment.reset(seed=1)
    for _ in range(5):
        observation, reward, _, _, told = environment.step(np.array([-0.5], np.float32))
    assert observation.shape == (2,)
    assert reward == pytest.approx(3e6 / 8 * 0.1 * 1448 / 1500, rel=0.05)
    assert told["time_s"] == pytest.approx(0.0412 * 2 + 0.5, abs=0.05)
    assert told["rate_bps"] == 3e6


def test_aurora_is_computed_as_its_source_says() -> None:
    # PCC-RL at 64bea6e: sender_obs.py (features, none of them scaled), network_sim.py (reward), config.py (step).
    told = {
        "start_s": 2.0,
        "length_s": 0.1,
        "sent_bytes": 43_440,
        "acked_bytes": 28_960,
        "lost_bytes": 7_240,
        "rtt_mean_s": 0.06,
        "rtt_gradient": 0.5,
        "min_rtt_s": 0.04,
        "srtt_s": 0.055,
        "in_flight_bytes": 0,
        "rtt_increase_s": 0.02,
    }
    rows = np.array([[told[name] for name in _core.INTERVAL_FIELDS]])
    interval = lab.Intervals(rows, rtt_s=np.array([0.06]), least_rtt_s=np.array([0.05]), rate_bps=np.array([3e6]))
    task = lab.Task()
    values = [float(feature.of(interval)[0]) for feature in task.features]
    assert values == pytest.approx([0.02 / 0.1, 0.06 / 0.05, 1.5])
    assert task.history == 10
    # Twenty packets in a tenth of a second, and five lost.
    assert task.reward(interval)[0] == pytest.approx((10 * 200 - 1000 * 0.06 - 2000 * 0.2) / 1000)
    assert task.decide(np.array([3e6, 3e6]), np.array([1.0, -1.0])) == pytest.approx([3e6 * 1.025, 3e6 / 1.025])


def test_an_interval_is_half_of_the_mean_round_trip_of_the_one_before(experiment: str) -> None:
    environment = gymnasium.make(lab.ID, paths=experiment)
    environment.reset(seed=1)
    before = environment.step(np.zeros(1, np.float32))[4]
    for _ in range(20):
        told = environment.step(np.ones(1, np.float32))[4]
        assert told["time_s"] - before["time_s"] == pytest.approx(before["rtt_s"] / 2)
        before = told


@pytest.mark.parametrize(("interval_s", "expected_s"), [(None, 0.1), (0.01, 0.01)])
def test_the_shortest_interval_bounds_those_of_round_trips(
    experiment: str, interval_s: float | None, expected_s: float
) -> None:
    # Half a round trip is 0.02 s.
    environment = lab.CongestionControl(experiment, task=lab.Task(interval_s=interval_s, shortest_s=0.1))
    environment.reset(seed=1)
    before, after = (environment.step(np.zeros(1, np.float32))[4]["time_s"] for _ in range(2))
    assert after - before == pytest.approx(expected_s)


def test_the_least_round_trip_is_that_of_means(tmp_path: Path) -> None:
    feature = lab.Feature("ratio", 0, 10, lambda interval: interval.rtt_s / interval.least_rtt_s)
    task = lab.Task(features=(feature,), history=1, decide=lambda rate, action: rate * (1 + 0.5 * action))
    # The agent meets a queue that another flow has filled, and that empties once it is alone.
    others = 'scheme = "reno"\nstart = "1s"\n[[flow]]\nscheme = "cubic"\nstop = "1.2s"'
    environment = gymnasium.make(lab.ID, paths=file_of(tmp_path, others=others), task=task)
    environment.reset(seed=1)
    observation, *_, told = environment.step(np.zeros(1, np.float32))
    first = least = told["rtt_s"] / observation[0]
    for step in range(30):
        observation, *_, told = environment.step(np.array([0.2 if step < 5 else -0.5], np.float32))
        least = min(least, told["rtt_s"])
        assert observation[0] == pytest.approx(told["rtt_s"] / least, rel=1e-3)
    assert least < 0.9 * first


def test_a_lost_connection_ends_the_run() -> None:
    def cut(random: np.random.Generator) -> dict[str, Any]:
        scenario = lab.aurora_paths(random)
        steps = [{"at_ns": 0, "rate_bps": 10**7}, {"at_ns": 5 * 10**9, "rate_bps": 0}]
        link = {"kind": "schedule", "period_ns": None, "steps": steps}
        scenario["forward"][0] |= {"link": link, "loss": 0.0}
        scenario["flows"].append(scenario["flows"][0] | {"scheme": "quinn:cubic"})
        return scenario

    task = lab.Task(interval_s=1.0)
    environment = gymnasium.make(lab.ID, paths=cut, task=task)
    environment.reset(seed=1)
    sentence = r"flow 2: its (sender|receiver) lost the connection 3\d\.?\d* s into the run: timed out"
    for _ in range(60):
        *_, over, told = environment.step(np.zeros(1, np.float32))
        assert over == ("connection_lost" in told)
        if over:
            break
    assert re.fullmatch(sentence, told["connection_lost"])
    assert told["time_s"] < 59
    envs = lab.CongestionControlVector(2, cut, task=task)
    envs.reset(seed=1)
    told_of: list[str] = []
    for _ in range(60):
        *_, truncated, infos = envs.step(np.zeros((2, 1), np.float32))
        lost = infos.get("_connection_lost", np.zeros(2, bool))
        assert (truncated == lost).all()
        told_of += list(infos["connection_lost"][lost]) if lost.any() else []
        if len(told_of) == 2:
            break
    assert all(re.fullmatch(sentence, text) for text in told_of)
    assert len(told_of) == 2


def test_what_cannot_be_is_refused(tmp_path: Path, experiment: str) -> None:
    with pytest.raises(UserError, match=r"flow 2: the scenario has flows 1 to 1; choose one of them"):
        gymnasium.make(lab.ID, paths=experiment, flow=2).reset(seed=1)
    with pytest.raises(UserError, match="neither a suite nor a file"):
        gymnasium.make(lab.ID, paths="no-such-suite")
    with pytest.raises(UserError, match=r"^num_envs: 0; give a whole number from 1 to 1000000$"):
        gymnasium.make_vec(lab.ID, num_envs=0, vectorization_mode="vector_entry_point")
    with pytest.raises(UserError, match="at least one feature"):
        lab.Task(features=())
    dead = file_of(tmp_path, rate="1kbit/s")
    with pytest.raises(UserError, match=r"flow 1 has no acknowledgement before the run ends"):
        gymnasium.make(lab.ID, paths=dead).reset(seed=1)


def test_a_path_of_pathlib_is_that_of_its_text(experiment: str) -> None:
    text, path = (lab.CongestionControl(paths).reset(seed=1)[0] for paths in (experiment, Path(experiment)))
    assert (text == path).all()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"paths": 5}, "paths: 5; give a suite, an experiment file, or a function"),
        ({"paths": ["lab.toml"]}, r"paths: \['lab.toml'\]; give a suite, an experiment file, or a function"),
        ({"paths": {}}, "paths: {}; give a suite, an experiment file, or a function"),
        ({"flow": "2"}, "flow: '2'; give a whole number, at least 1$"),
        ({"flow": 1.0}, "flow: 1.0; give a whole number, at least 1$"),
        ({"flow": True}, "flow: True; give a whole number, at least 1$"),
        ({"flow": 0}, "flow: 0; give a whole number, at least 1$"),
        ({"task": {}}, "task: {}; give a bakeoff.gym.Task$"),
        ({"num_envs": 2.0}, "num_envs: 2.0; give a whole number from 1 to 1000000$"),
        ({"num_envs": 2**70}, f"num_envs: {2**70}; give a whole number from 1 to 1000000$"),
    ],
)
def test_an_argument_of_another_kind_is_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=f"^{sentence}"):
        lab.CongestionControlVector(**arguments)


@pytest.mark.parametrize(
    ("attributes", "sentence"),
    [
        ({"history": 2.5}, "history: 2.5; give a whole number of intervals, at least 1"),
        ({"slowest_bps": "5"}, "slowest_bps: '5'; give a number of bit/s"),
        ({"fastest_bps": None}, "fastest_bps: None; give a number of bit/s"),
        ({"shortest_s": True}, "shortest_s: True; give a number of s"),
        ({"interval_s": "1"}, "interval_s: '1'; give a number of s, or None"),
        ({"features": ["loss"]}, r"features: \['loss'\]; give a tuple of at least one feature"),
        ({"features": 5}, "features: 5; give a tuple of at least one feature"),
        ({"reward": 5}, "reward: 5; give a function of intervals"),
        ({"decide": None}, "decide: None; give a function of rates and actions"),
    ],
)
def test_an_attribute_of_another_kind_is_refused(attributes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=f"^{sentence}$"):
        lab.Task(**attributes)


def test_numbers_of_numpy_are_numbers(experiment: str) -> None:
    task = lab.Task(history=np.int64(2), slowest_bps=np.float32(1e5), interval_s=np.float64(0.1))  # type: ignore[arg-type]
    many = lab.CongestionControlVector(np.int64(1), experiment, np.int64(1), task)  # type: ignore[arg-type]
    assert many.reset(seed=1)[0].shape == (1, 6)


@pytest.mark.parametrize(("low", "high"), [("0", 1), (1, 0), (0, math.nan)])
def test_a_feature_has_bounds_in_their_order(low: Any, high: Any) -> None:
    with pytest.raises(UserError, match=r'^feature "mine": from .* to .*; give two numbers, low <= high$'):
        lab.Feature("mine", low, high, lambda interval: interval.loss)


def test_a_feature_has_a_name() -> None:
    with pytest.raises(UserError, match=r"^name of a feature: 5; give a text$"):
        lab.Feature(5, 0, 1, lambda interval: interval.loss)  # type: ignore[arg-type]


def test_a_feature_has_a_function() -> None:
    with pytest.raises(UserError, match=r'^feature "mine": of is None; give a function of intervals$'):
        lab.Feature("mine", 0, 1, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, {}, "x", {"flows": 5}, {"flows": []}, {"flows": [5]}])
def test_a_function_of_paths_gives_scenarios(given: Any) -> None:
    environment = lab.CongestionControl(lambda _: given)
    sentence = r"^paths: the function gave .*; it has to give a scenario as bakeoff.gym.aurora_paths does, a dict whose"
    with pytest.raises(UserError, match=sentence):
        environment.reset(seed=1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"duration_ns": np.int64(10**9)},
            "paths: .*int64.*; a scenario is of dict, list, str, int, float, bool and None$",
        ),
        ({"duration_ns": "1s"}, "paths: not a scenario: invalid type"),
        (
            {"flows": [{"first_rate_bps": "1"}]},
            "paths: first_rate_bps of flow 1 is '1'; give a rate in bit/s, or none$",
        ),
        ({"flows": [{"first_rate_bps": math.nan}]}, "paths: first_rate_bps of flow 1 is nan; give a rate"),
    ],
)
def test_what_is_wrong_in_a_scenario_is_named(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=f"^{sentence}"):
        lab.CongestionControl(lambda random: lab.aurora_paths(random) | change).reset(seed=1)


@pytest.mark.parametrize("name", ["kernel:cubic", "program:mine"])
def test_what_needs_a_kernel_is_told_in_words_of_an_environment(tmp_path: Path, name: str) -> None:
    others = f'scheme = "reno"\n[[flow]]\nscheme = "{name}"\n[program.mine]\nsender = ["a"]\nreceiver = ["b"]'
    sentence = f"flow 2: {name} needs a real kernel, and an agent is in the simulator; give another scheme"
    with pytest.raises(UserError, match=sentence):
        lab.CongestionControl(file_of(tmp_path, others=others))


def test_an_experiment_and_its_changes_are_texts(experiment: str) -> None:
    with pytest.raises(UserError, match=r"^name_or_path: 5; give a suite or an experiment file$"):
        lab.of_experiment(5)  # type: ignore[arg-type]
    for changes in ("rate=20Mbit/s", [5], 5):
        with pytest.raises(UserError, match=r'^changes: .*; give a list of KEY=VALUE, as in \["rate=20Mbit/s"\]$'):
            lab.of_experiment(experiment, changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("action", [None, [math.nan]])
def test_what_is_no_action_is_refused(experiment: str, action: Any) -> None:
    one = gymnasium.make(lab.ID, paths=experiment).unwrapped
    one.reset(seed=1)
    with pytest.raises(UserError, match=r"action of run 1: is not a number; it is from -1 to 1"):
        one.step(action)
    many = gymnasium.make_vec(lab.ID, num_envs=2, vectorization_mode="vector_entry_point", paths=experiment)
    many.reset(seed=1)
    with pytest.raises(UserError, match="action of run 2: is not a number"):
        many.step(np.array([[0.0], [math.nan]]))


@pytest.mark.parametrize("action", ["left", ["left"], [[0.0], [0.0, 0.0]], {}, 10**400])
def test_an_action_is_a_number(experiment: str, action: Any) -> None:
    environment = gymnasium.make(lab.ID, paths=experiment).unwrapped
    environment.reset(seed=1)
    with pytest.raises(UserError, match=r"^actions: .*; give one number for each run, from -1 to 1$"):
        environment.step(action)


@pytest.mark.parametrize("reward", [None, 1.0, [None], ["much"], [1.0, 2.0], [[1.0], []]])
def test_a_reward_is_a_number_for_each_run(experiment: str, reward: Any) -> None:
    environment = gymnasium.make(lab.ID, paths=experiment, task=lab.Task(reward=lambda _: reward)).unwrapped
    environment.reset(seed=1)
    with pytest.raises(UserError, match=r"^task.reward: gave .*; it has to give a finite number for each run$"):
        environment.step(np.zeros(1, np.float32))


@pytest.mark.parametrize("value", [None, 1.0, [None], ["much"], [1.0, 2.0], [[1.0], []]])
def test_a_feature_is_a_number_for_each_run(experiment: str, value: Any) -> None:
    mine = lab.Feature("mine", 0, 1, lambda _: value)
    environment = gymnasium.make(lab.ID, paths=experiment, task=lab.Task(features=(mine,))).unwrapped
    with pytest.raises(UserError, match=r'^feature "mine": gave .*; it has to give a number for each run$'):
        environment.reset(seed=1)


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_a_reward_is_finite(experiment: str, reward: float) -> None:
    task = lab.Task(reward=lambda interval: np.where(np.arange(len(interval.rows)) == 1, reward, 0.0))
    many = lab.CongestionControlVector(2, experiment, task=task)
    many.reset(seed=1)
    sentence = rf"^task.reward: gave {reward} for run 2; it has to give a finite number for each run$"
    with pytest.raises(UserError, match=sentence):
        many.step(np.zeros((2, 1), np.float32))


def test_a_feature_that_is_no_number_is_refused_and_an_infinite_one_is_the_bound(experiment: str) -> None:
    def environment(value: float) -> Any:
        mine = lab.Feature("mine", 0.2, 1, lambda interval: interval.loss + value)
        return gymnasium.make(lab.ID, paths=experiment, task=lab.Task(features=(mine,), history=1)).unwrapped

    with pytest.raises(UserError, match=r'^feature "mine": gave nan for run 1; it has to give a number for each run$'):
        environment(math.nan).reset(seed=1)
    bounds = [environment(value).reset(seed=1)[0].item() for value in (-math.inf, math.inf)]
    assert bounds == pytest.approx([0.2, 1])


def test_of_a_run_that_rests_nothing_is_asked(experiment: str) -> None:
    resting = []

    def ratio(interval: lab.Intervals) -> Any:
        # Nothing happens in a run that rests: a ratio of what happened would be 0/0.
        values = np.where(interval.length_s > 1e-9, 1.0, np.nan)
        resting.append(np.isnan(values).any())
        return values

    task = lab.Task(features=(lab.Feature("ratio", 0, 1, ratio),), reward=ratio, interval_s=0.7)
    many = lab.CongestionControlVector(2, experiment, task=task)
    many.reset(seed=1)
    for _ in range(12):
        _, rewards, *_ = many.step(np.zeros((2, 1), np.float32))
        assert np.isfinite(rewards).all()
    assert any(resting)


@pytest.mark.parametrize("action", [[], [0.0, 0.0], np.zeros((2, 2)), np.zeros((3, 1))])
def test_one_action_a_run_is_heard(experiment: str, action: Any) -> None:
    one = gymnasium.make(lab.ID, paths=experiment).unwrapped
    one.reset(seed=1)
    with pytest.raises(UserError, match=rf"^actions: {np.size(action)}; give one number for each run: 1$"):
        one.step(action)
    many = gymnasium.make_vec(lab.ID, num_envs=5, vectorization_mode="vector_entry_point", paths=experiment)
    many.reset(seed=1)
    with pytest.raises(UserError, match=rf"^actions: {np.size(action)}; give one number for each run: 5$"):
        many.step(action)


@pytest.mark.parametrize("decided", [np.array([math.nan]), np.zeros(2), 1e6, "x", ["x"], [None], [1j]])
def test_what_a_task_decides_is_a_rate_for_each_run(experiment: str, decided: Any) -> None:
    environment = gymnasium.make(
        lab.ID, paths=experiment, task=lab.Task(decide=lambda _rate, _action: decided)
    ).unwrapped
    environment.reset(seed=1)
    with pytest.raises(UserError, match=r"^task.decide: gave .*; it has to give a rate in bit/s for each run$"):
        environment.step(np.zeros(1, np.float32))
    for value in (math.nan, 0.0, 1e-30):
        with pytest.raises(UserError, match=r"interval_s: .*; give at least 1e-9, the step of the simulator's clock"):
            lab.Task(interval_s=value)
    with pytest.raises(UserError, match="shortest_s: 0; give at least 1e-9"):
        lab.Task(shortest_s=0)
    assert lab.Task(interval_s=1e-9).interval_s == 1e-9


@pytest.mark.parametrize(
    ("slowest", "fastest"),
    [(0.9, 1e10), (1e-9, 1e10), (1e5, 1.1e15), (1e5, math.inf), (2e5, 1e5), (math.nan, 1e10), (1, 10**400)],
)
def test_rates_are_those_at_which_a_flow_is_paced(slowest: float, fastest: float) -> None:
    with pytest.raises(UserError, match=r"bit/s: give 1 <= slowest_bps <= fastest_bps <= 1e15$"):
        lab.Task(slowest_bps=slowest, fastest_bps=fastest)


def test_the_slowest_rate_of_all_is_paced(experiment: str) -> None:
    task = lab.Task(slowest_bps=1, fastest_bps=1e15, decide=lambda rate, _: 0 * rate)
    environment = gymnasium.make(lab.ID, paths=experiment, task=task)
    environment.reset(seed=1)
    for _ in range(8):
        *_, told = environment.step(np.zeros(1, np.float32))
    assert told["rate_bps"] == 1
    assert told["throughput_bps"] == told["loss"] == 0


def test_the_first_interval_begins_with_the_first_packet(tmp_path: Path) -> None:
    late = file_of(tmp_path, others='scheme = "reno"\nstart = "2s"')
    task = lab.Task(features=(lab.Feature("length", 0, 1e3, lambda interval: interval.length_s),), history=1)
    environment = gymnasium.make(lab.ID, paths=late, task=task)
    (length,), _ = environment.reset(seed=1)
    # One round trip, as the core looks at its run now and then.
    assert 0.04 <= length < 0.1


def test_a_number_of_numpy_is_a_seed(experiment: str) -> None:
    many = lab.CongestionControlVector(2, experiment)
    plain, _ = many.reset(seed=7)
    again, _ = many.reset(seed=np.int64(7))  # type: ignore[arg-type] # what draws of numpy are
    one_by_one, _ = many.reset(seed=np.array([7, 8]))  # type: ignore[arg-type]
    assert (plain == again).all()
    assert (plain == one_by_one).all()


@pytest.mark.parametrize(
    ("seed", "given"),
    [
        (1.5, "1.5"),
        (np.float64(2), r"np.float64\(2.0\)|2.0"),
        (-1, "-1"),
        (True, "True"),
        ("12", "'12'"),
        ({1: 2}, "{1: 2}"),
        ([1.5, 2], r"\[1.5, 2\]"),
        ([1, -2], r"\[1, -2\]"),
        ([1, 2, 3], "3 numbers"),
    ],
)
def test_seeds_are_numbers_from_zero(experiment: str, seed: Any, given: str) -> None:
    many = lab.CongestionControlVector(2, experiment)
    sentence = f"^seed: ({given}); give a whole number from 0, or one for each run: 2$"
    with pytest.raises(UserError, match=sentence):
        many.reset(seed=seed)


@pytest.mark.parametrize("draw", [lab.aurora_paths, lab.of_experiment("dumbbell/one-cubic")])
@pytest.mark.parametrize("given", [None, 5, np.random.RandomState(1)])
def test_scenarios_are_drawn_with_random_numbers_of_numpy(draw: Any, given: Any) -> None:
    with pytest.raises(
        UserError, match=r"^random: .*; give random numbers of numpy, as in np.random.default_rng\(1\)$"
    ):
        draw(given)


@pytest.mark.parametrize("scale", ["x", None, [1], 0, -1, math.nan, math.inf])
def test_a_step_has_a_scale(scale: Any) -> None:
    with pytest.raises(UserError, match=r"^scale: .*; give a finite number above 0$"):
        multiply(scale)


def test_a_suite_with_files_of_others_says_how_to_leave_them_out() -> None:
    with pytest.raises(UserError, match="taova needs a tree file; give it, or leave it out, as in") as refused:
        gymnasium.make(lab.ID, paths="pantheon/india-ppp0")
    call = str(refused.value).partition("paths=bakeoff.gym.of_experiment")[2]
    paths = lab.of_experiment(*ast.literal_eval(call))
    assert gymnasium.make(lab.ID, paths=paths).reset(seed=1)[0].shape == (30,)


def test_a_step_needs_a_run(experiment: str) -> None:
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        gymnasium.make(lab.ID, paths=experiment).unwrapped.step(np.zeros(1, np.float32))
    many = gymnasium.make_vec(lab.ID, num_envs=2, vectorization_mode="vector_entry_point", paths=experiment)
    with pytest.raises(gymnasium.error.ResetNeeded, match="call reset"):
        many.step(np.zeros((2, 1)))


def test_a_run_that_is_over_takes_no_step(experiment: str) -> None:
    env = lab.CongestionControl(experiment)
    env.reset(seed=1)
    while not env.step(np.zeros(1, np.float32))[3]:
        pass
    with pytest.raises(gymnasium.error.ResetNeeded, match="the run is over; call reset"):
        env.step(np.zeros(1, np.float32))
    env.reset(seed=1)
    assert not env.step(np.zeros(1, np.float32))[3]


@pytest.mark.filterwarnings("ignore::UserWarning")  # gymnasium tells the same as warnings before
def test_an_error_of_an_environment_in_another_process_arrives(experiment: str) -> None:
    many = gymnasium.make_vec(lab.ID, num_envs=1, vectorization_mode="async", paths=experiment)
    try:
        many.reset(seed=1)
        with pytest.raises(UserError, match="action of run 1: is not a number"):
            many.step(np.full((1, 1), np.nan, np.float32))
    finally:
        many.close()


def test_paths_are_scenarios_of_the_same_seed() -> None:
    paths = [lab.aurora_paths(np.random.default_rng(seed)) for seed in (5, 5, 6)]
    assert json.dumps(paths[0]) == json.dumps(paths[1]) != json.dumps(paths[2])


def test_what_makes_an_environment_travels_to_another_process(experiment: str) -> None:
    task, paths = lab.Task(), lab.of_experiment(experiment)
    sent_task, sent_paths = pickle.loads(pickle.dumps((task, paths)))  # noqa: S301 - its own
    here, there = (
        gymnasium.make(lab.ID, paths=paths, task=task) for paths, task in ((paths, task), (sent_paths, sent_task))
    )
    assert np.array_equal(here.reset(seed=3)[0], there.reset(seed=3)[0])
    assert np.array_equal(here.step([0.5])[0], there.step([0.5])[0])


def test_paths_are_drawn_from_the_ranges_of_the_source() -> None:
    random = np.random.default_rng(1)
    drawn = []
    for _ in range(2_000):
        scenario = lab.aurora_paths(random)
        (hop,), (flow,) = scenario["forward"], scenario["flows"]
        rate = hop["link"]["rate_bps"]
        packets_per_second = rate / (1500 * 8)
        drawn.append([packets_per_second, hop["delay_ns"] / 1e9, hop["loss"], flow["first_rate_bps"] / rate])
        assert 2 <= hop["queue"]["limit_packets"] <= 1 + math.exp(8)
    least, most = np.array([100, 0.05, 0, 0.3]), np.array([500, 0.5, 0.05, 1.5])
    width = most - least
    assert np.all(np.abs(np.min(drawn, axis=0) - least) < 0.01 * width)
    assert np.all(np.abs(np.max(drawn, axis=0) - most) < 0.01 * width)
