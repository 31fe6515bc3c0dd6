"""Queues of the core in experiment files: every parameter can be set, and what is impossible is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff import _core
from bakeoff.errors import UserError
from bakeoff.experiment import expand, load
from bakeoff.experiment.catalogue import of_core
from bakeoff.experiment.path import Queue
from bakeoff.worlds import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from bakeoff.experiment import Plan
    from bakeoff.experiment.catalogue import Parameter

FILE = """
name = "x"
duration = "1s"
[[path.forward]]
rate = "10Mbit/s"
delay = "20ms"
queue = { QUEUE }
[[flow]]
scheme = "reno"
"""


def queue_of(folder: Path, queue: str) -> Mapping[str, Any]:
    """The queue of the scenario, once sim has checked that it can be run."""
    file = folder / "x.toml"
    file.write_text(FILE.replace("QUEUE", queue), encoding="utf-8")
    plan = expand(load(str(file)))
    registry.world("sim").check_plan(plan)
    found: Mapping[str, Any] = plan.runs[0].scenario["forward"][0]["queue"]
    return found


def test_the_file_has_a_key_for_every_parameter_of_the_core() -> None:
    of_files = set(Queue.model_fields) - {"kind"}
    declared = {parameter.name for entry in of_core().queues.values() for parameter in entry.parameters}
    assert of_files == declared


@pytest.mark.parametrize(
    ("queue", "parameter", "values"),
    [
        ("codel", "target", 'a time, as "5ms"'),
        ("fq_codel", "quantum", 'a size, as "64kB"'),
        ("codel", "limit", 'packets, as "50pkt"'),
        ("dualpi2", "step_thresh", 'a time or packets, as "1ms" or "2pkt"'),
        ("fifo", "limit", "a quantity with its unit"),
    ],
)
def test_a_quantity_says_how_it_is_written(queue: str, parameter: str, values: str) -> None:
    found = next(known for known in of_core().queues[queue].parameters if known.name == parameter)
    assert found.values == values


def test_parameters_have_their_units_in_the_scenario(tmp_path: Path) -> None:
    assert queue_of(tmp_path, 'kind = "fq_codel", target = "1ms", limit = "99pkt", quantum = "300B", ecn = false') == {
        "kind": "fq_codel",
        "target_ns": 1_000_000,
        "limit_packets": 99,
        "quantum_bytes": 300,
        "ecn": False,
    }
    assert queue_of(tmp_path, 'kind = "red", limit = "2bdp", burst = "40pkt"') == {
        "kind": "red",
        "limit_bytes": 100_000,
        "burst_packets": 40,
    }
    for text, found in (("2ms", {"step_thresh_ns": 2_000_000}), ("5pkt", {"step_thresh_packets": 5})):
        queue = queue_of(tmp_path, f'kind = "dualpi2", step_thresh = "{text}", alpha = 0.5')
        assert queue == {"kind": "dualpi2", "alpha_hz": 0.5, **found}


def test_what_the_mapping_to_linux_calls_a_parameter_is_what_the_simulator_calls_it() -> None:
    suffixes = {"time": ["_ns"], "size": ["_bytes"], "packets": ["_packets"], "Hz": ["_hz"]}
    suffixes["time or packets"] = ["_ns", "_packets"]
    for mapping in json.loads(_core.qdiscs()):
        if mapping["queue"] == "fifo":
            continue
        of_linux = {parameter["name"] for parameter in mapping["parameters"]}
        for parameter in of_core().queues[mapping["queue"]].parameters:
            if parameter.name in {"gain_scale", "own_shaper", "sce", "sce_thresh"}:
                continue
            assert {parameter.name + suffix for suffix in suffixes.get(parameter.unit, [""])} <= of_linux


@pytest.mark.parametrize(
    ("queue", "sentence"),
    [
        (
            'kind = "codel", target = "200ms"',
            "target 200ms is longer than the interval, 100ms; make it shorter",
        ),
        ("kind = true", "true is not a queue; known are fifo, "),
        ('kind = "red"', "queue red: limit is missing; set it to the most bytes that wait"),
        ('kind = "cake", sce_thresh = 4', 'sce_thresh is for sce = "ramp"'),
        ('kind = "dualpi2", coupling = 0', "path.forward.0.queue.coupling: 0 is not possible"),
        ('kind = "dualpi2", ecn_mask = "all"', '"all" is not possible; write "l4s_ect" or "cla_ect" or "any_ect"'),
    ],
)
def test_the_impossible_is_refused_before_anything_runs(tmp_path: Path, queue: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        queue_of(tmp_path, queue)
    assert "path.forward.0.queue" in str(caught.value)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("queue", "name", "partner"),
    [
        ('kind = "fq_codel", ce_threshold_mask = 3', "ce_threshold_mask", "ce_threshold"),
        (
            'kind = "fq_codel", ce_threshold = "1ms", ce_threshold_selector = 1',
            "ce_threshold_selector",
            "ce_threshold_mask",
        ),
        ('kind = "fq_pie", ecn_prob = 0.2', "ecn_prob", "ecn"),
        ('kind = "red", limit = "100kB", harddrop = true', "harddrop", "ecn"),
        ('kind = "red", limit = "100kB", harddrop = true, ecn = false', "harddrop", "ecn"),
    ],
)
def test_what_has_no_effect_alone_is_refused(tmp_path: Path, queue: str, name: str, partner: str) -> None:
    with pytest.raises(UserError) as caught:
        queue_of(tmp_path, queue)
    sentence = f"path.forward.0.queue.{name}: has no effect without {partner}; set that too, or leave it out"
    assert str(caught.value).endswith(sentence)


def test_what_is_off_needs_no_partner(tmp_path: Path) -> None:
    assert queue_of(tmp_path, 'kind = "red", limit = "100kB", harddrop = false')["harddrop"] is False
    both = 'ce_threshold = "1ms", ce_threshold_mask = 3, ce_threshold_selector = 1'
    assert queue_of(tmp_path, f'kind = "fq_codel", {both}')["ce_threshold_selector"] == 1


CHOICES = [
    (entry.name, parameter)
    for entry in of_core().queues.values()
    for parameter in entry.parameters
    if parameter.kind == "choice"
]


@pytest.mark.parametrize("wrong", ["true", "3", "[]", '"x"'])
@pytest.mark.parametrize(("kind", "parameter"), CHOICES, ids=[f"{kind}-{found.name}" for kind, found in CHOICES])
def test_what_is_no_choice_is_answered_with_the_choices(
    tmp_path: Path, kind: str, parameter: Parameter, wrong: str
) -> None:
    with pytest.raises(UserError) as caught:
        queue_of(tmp_path, f'kind = "{kind}", {parameter.name} = {wrong}')
    assert f"path.forward.0.queue.{parameter.name}: " in str(caught.value)
    assert all(f'"{option}"' in str(caught.value) for option in parameter.options)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        (["queue=codel"], {"kind": "codel"}),
        (["path.forward.0.queue=codel"], {"kind": "codel"}),
        (["queue=codel", "path.forward.0.queue.limit=9pkt"], {"kind": "codel", "limit_packets": 9}),
        (["queue=9pkt"], {"kind": "codel", "target_ns": 10**6, "limit_packets": 9}),
        (["matrix.queue=codel,9pkt"], {"kind": "codel"}),
    ],
)
def test_a_kind_alone_is_a_queue_with_its_own_defaults(
    planned: Callable[..., Plan], minimal: str, changes: list[str], found: dict[str, Any]
) -> None:
    text = minimal.replace("{ limit", '{ kind = "codel", target = "1ms", limit')
    assert planned(text, *changes).runs[0].scenario["forward"][0]["queue"] == found


def test_a_kind_alone_in_a_file_keeps_its_kind_with_another_limit(planned: Callable[..., Plan], minimal: str) -> None:
    text = minimal.replace('{ limit = "50pkt" }', '"codel"')
    for change in ("queue=9pkt", "path.forward.0.queue.limit=9pkt"):
        assert planned(text, change).runs[0].scenario["forward"][0]["queue"] == {"kind": "codel", "limit_packets": 9}
    with pytest.raises(UserError, match=r'queue\.kind: "codl" is not a queue; did you mean "codel"\?$'):
        planned(text, "queue=codl")
