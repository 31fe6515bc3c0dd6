"""A key that is set twice in one cell: by two axes, or by the command line and an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bakeoff.experiment import Plan

    Planned = Callable[..., Plan]

FREE = """
name = "x"
duration = "1s"
[[path.forward]]
rate = "12Mbit/s"
delay = "20ms"
queue = { limit = "50pkt" }
[[flow]]
[[flow]]
"""


@pytest.mark.parametrize(
    ("matrix", "first", "second", "key"),
    [
        (
            'rate = ["1Mbit/s"]\n"path.forward.0.rate" = ["2Mbit/s"]',
            "rate",
            "path.forward.0.rate",
            "path.forward.0.rate",
        ),
        (
            '"path.forward.0.queue.limit" = ["5pkt"]\nqueue = ["9pkt"]',
            "path.forward.0.queue.limit",
            "queue",
            "path.forward.0.queue.limit",
        ),
        (
            '"path.forward.0.queue.limit" = ["5pkt"]\nqueue = [{ kind = "codel" }]',
            "path.forward.0.queue.limit",
            "queue",
            "path.forward.0.queue",
        ),
        (
            'queue = [{ limit = "9pkt" }]\n"path.forward.0.queue.limit" = ["5pkt"]',
            "queue",
            "path.forward.0.queue.limit",
            "path.forward.0.queue.limit",
        ),
        (
            'rate = ["1Mbit/s"]\n"path.forward.0.rate.poisson" = ["2Mbit/s"]',
            "rate",
            "path.forward.0.rate.poisson",
            "path.forward.0.rate.poisson",
        ),
        (
            '"path.forward.0.rate" = [{ poisson = "1Mbit/s" }]\n"path.forward.0.rate.token_bucket" = ["2Mbit/s"]',
            "path.forward.0.rate",
            "path.forward.0.rate.token_bucket",
            "path.forward.0.rate.token_bucket",
        ),
        (
            'loss = [0.01]\n"path.forward.0.loss.to_bad" = [0.1]',
            "loss",
            "path.forward.0.loss.to_bad",
            "path.forward.0.loss.to_bad",
        ),
        (
            'a.one = { flow = [{}] }\nb.two = { flow = [{}, {}] }\n"flow.2.ecn" = ["off"]\nscheme = ["reno"]',
            "a",
            "b",
            "flow",
        ),
        (
            'rtt = ["10ms"]\n"path.forward.0.delay" = ["9ms"]',
            "rtt",
            "path.forward.0.delay",
            "path.forward.0.delay",
        ),
        (
            'a.x = { "flow.1.ecn" = "off" }\nb.y = { "flow.2.ecn" = "off" }\nb.z = { "flow.*.ecn" = "classic" }',
            "a",
            "b",
            "flow.1.ecn",
        ),
        (
            'flows = { a = { flow = [{ ecn = "off" }, {}] } }\n"flow.1.ecn" = ["classic"]\nscheme = ["reno"]',
            "flows",
            "flow.1.ecn",
            "flow.1.ecn",
        ),
    ],
)
def test_two_axes_for_one_key_are_refused(planned: Planned, matrix: str, first: str, second: str, key: str) -> None:
    scheme = "" if "scheme" in matrix else '\nscheme = ["reno"]'
    with pytest.raises(UserError, match=r"x\.toml: matrix: ") as caught:
        planned(f"{FREE}[matrix]\n{matrix}{scheme}")
    assert str(caught.value).endswith(f'the axes "{first}" and "{second}" both set {key}; keep one of them')


def test_schemes_that_are_replaced_are_refused(planned: Planned) -> None:
    with pytest.raises(UserError, match=r'the axes "scheme" and "flow\.\*\.scheme" both set flow\.1\.scheme'):
        planned(f'{FREE}[matrix]\nscheme = ["reno"]\n"flow.*.scheme" = ["bbr"]')


def test_a_flow_may_name_its_scheme_beside_the_axis_of_the_others(planned: Planned) -> None:
    plan = planned(f'{FREE}[matrix]\nscheme = ["reno", "cubic"]\n"flow.1.scheme" = ["bbr"]')
    schemes = [[flow["scheme"] for flow in run.scenario["flows"]] for run in plan.runs]
    assert schemes == [["bbr", "reno"], ["bbr", "cubic"]]


def test_an_axis_may_add_to_what_another_sets(planned: Planned) -> None:
    plan = planned(
        f"""{FREE}
[matrix]
"flow.1.scheme" = ["bbr"]
scheme = ["reno", "cubic"]
queue = [{{ kind = "codel" }}]
"path.forward.0.queue.limit" = ["5pkt", "9pkt"]
"""
    )
    limits = [run.scenario["forward"][0]["queue"]["limit_packets"] for run in plan.runs]
    schemes = [[flow["scheme"] for flow in run.scenario["flows"]] for run in plan.runs]
    assert limits == [5, 9, 5, 9]
    assert schemes == [["bbr", "reno"]] * 2 + [["bbr", "cubic"]] * 2


def test_keys_that_only_begin_alike_are_two(planned: Planned) -> None:
    text = FREE + 8 * "[[flow]]\n"
    plan = planned(f'{text}[matrix]\n"flow.1" = [{{ dscp = 1 }}]\n"flow.10" = [{{ dscp = 2 }}]\nscheme = ["reno"]')
    assert [flow.get("dscp", 0) for flow in plan.runs[0].scenario["flows"]] == [1, *[0] * 8, 2]


def test_an_axis_may_complete_a_table_of_another(planned: Planned) -> None:
    trace = '"path.forward.0.rate.trace" = [{ length = "1s" }]\n"path.forward.0.rate.trace.poisson" = ["1Mbit/s"]'
    (run,) = planned(f'{FREE}[matrix]\n{trace}\nscheme = ["reno"]').runs
    assert run.scenario["forward"][0]["link"]["kind"] == "trace"


def test_a_variant_may_change_a_part_of_what_it_sets_itself(planned: Planned) -> None:
    pair = 'pair = { one = { rtt = "10ms", "path.forward.0.delay" = "2ms" } }'
    (run,) = planned(f'{FREE}[matrix]\nscheme = ["reno"]\n{pair}').runs
    assert run.scenario["forward"][0]["delay_ns"] == 2_000_000


def test_a_hop_may_add_to_the_rtt(planned: Planned, minimal: str) -> None:
    hop = minimal.replace("[[flow]]", "[[path.forward]]\n[[flow]]")
    plan = planned(f'{hop}[matrix]\nrtt = ["10ms"]\n"path.forward.1.delay" = ["0s", "1ms"]')
    assert [run.scenario["forward"][1]["delay_ns"] for run in plan.runs] == [0, 1_000_000]
    with pytest.raises(UserError, match=r'the axes "path\.forward\.1\.delay" and "rtt" both set path'):
        planned(f'{hop}[matrix]\n"path.forward.1.delay" = ["0s", "1ms"]\nrtt = ["10ms"]')


VARIANTS = """
[matrix]
queue = ["10pkt", "20pkt"]
"path.forward.0.rate" = ["1Mbit/s", "2Mbit/s"]
[matrix.pair.one]
"flow.1.scheme" = "reno"
"flow.2.scheme" = "cubic"
[matrix.pair.two]
"flow.1.scheme" = "cubic"
"flow.2.scheme" = "bbr"
"flow.2.ecn" = "off"
"""


@pytest.mark.parametrize(
    ("change", "axis"),
    [
        ("path.forward.0.queue.limit=5pkt", "queue"),
        ("path.forward.*.queue.limit=5pkt", "queue"),
        ("rate=5Mbit/s", "path.forward.0.rate"),
        ("path.forward.0.rate.poisson=5Mbit/s", "path.forward.0.rate"),
        ("flow.1.scheme=cubic", "pair"),
        ("scheme=cubic", "pair"),
    ],
)
def test_a_setting_that_an_axis_replaces_is_refused(planned: Planned, change: str, axis: str) -> None:
    with pytest.raises(UserError) as caught:
        planned(f"{FREE}{VARIANTS}", change)
    right = f'has no effect: the axis "{axis}" sets it in every cell; narrow that with --set {axis}=VALUE'
    assert str(caught.value) == f"--set {change}: {right}"


def test_a_setting_that_some_cells_keep_is_taken(planned: Planned) -> None:
    plan = planned(f"{FREE}{VARIANTS}", "flow.2.ecn=classic", "path.forward.0.delay=7ms")
    assert {run.scenario["flows"][1]["ecn"] for run in plan.runs} == {"off", "classic"}
    assert {run.scenario["forward"][0]["delay_ns"] for run in plan.runs} == {7_000_000}


AXES = """
[matrix]
scheme = ["reno"]
"flow.2.dscp" = [1, 2]
"path.forward.0.queue.limit" = ["5pkt", "6pkt"]
"""


def test_a_setting_is_kept_where_axes_change_a_part_of_it(planned: Planned) -> None:
    plan = planned(f"{FREE}{AXES}", "flow.*.dscp=8", 'queue={ kind = "codel" }')
    dscps = [[flow["dscp"] for flow in run.scenario["flows"]] for run in plan.runs]
    assert dscps == [[8, 1], [8, 1], [8, 2], [8, 2]]
    assert {run.scenario["forward"][0]["queue"]["kind"] for run in plan.runs} == {"codel"}


def test_a_setting_is_lost_below_what_it_was(planned: Planned) -> None:
    with pytest.raises(UserError, match=r'^--set rate=5Mbit/s: has no effect: the axis "path.forward.0.rate.poisson" '):
        planned(f'{FREE}[matrix]\nscheme = ["reno"]\n"path.forward.0.rate.poisson" = ["1Mbit/s"]', "rate=5Mbit/s")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (("rtt=9ms", "path.rtt=8ms"), "path.forward.0.delay was set by --set rtt=9ms"),
        (("seed=1", "seed=2"), "seed was set by --set seed=1"),
        (("path.forward.0.loss=0.1", "loss=0.2"), "path.forward.0.loss was set by --set path.forward.0.loss=0.1"),
        (("flow.1.dscp=1", "flow.*.dscp=2"), "flow.1.dscp was set by --set flow.1.dscp=1"),
        (('flow.1={ecn="off"}', "flow.1.ecn=sce"), 'flow.1 was set by --set flow.1={ecn="off"}'),
        (("rate=5Mbit/s", "path.forward.0.rate.poisson=6Mbit/s"), "path.forward.0.rate was set by --set rate=5Mbit/s"),
        (("scheme=reno", "flow.*.scheme=bbr"), "flow.1.scheme was set by --set scheme=reno"),
    ],
)
def test_what_is_set_twice_is_refused(planned: Planned, changes: tuple[str, str], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        planned(f'{FREE}[matrix]\n"flow.1.mss" = ["1kB"]', *changes)
    assert str(caught.value) == f"--set {changes[1]}: {sentence} already; keep one of them"


@pytest.mark.parametrize(
    ("changes", "axis"),
    [
        (("matrix.path.queue=5pkt,6pkt", "queue=9pkt"), "queue"),
        (("queue=9pkt", "queue=8pkt"), "queue"),
        (("pair=one", "matrix.pair=two"), "pair"),
        (("matrix.rtt=9ms", "rtt=9ms"), "rtt"),
    ],
)
def test_an_axis_that_is_set_twice_is_refused(planned: Planned, changes: tuple[str, str], axis: str) -> None:
    with pytest.raises(UserError) as caught:
        planned(f"{FREE}{VARIANTS}", *changes)
    first, second = changes
    assert str(caught.value) == f'--set {second}: the axis "{axis}" was set by --set {first} already; keep one of them'


def test_a_later_setting_may_change_a_part_of_what_an_earlier_one_set(planned: Planned) -> None:
    text = f'{FREE}[matrix]\nscheme = ["reno"]'
    (run,) = planned(text, "flow.*.dscp=1", "flow.2.dscp=2", 'queue={kind="codel"}', "path.queue=5pkt").runs
    assert [flow["dscp"] for flow in run.scenario["flows"]] == [1, 2]
    assert run.scenario["forward"][0]["queue"] == {"kind": "codel", "limit_packets": 5}


def test_an_axis_of_schemes_that_no_flow_takes_is_told_what_to_remove(planned: Planned) -> None:
    text = FREE + '[matrix]\nscheme = ["reno", "bbr"]'
    with pytest.raises(UserError, match=r'matrix.scheme = "reno": every flow .*; remove scheme from \[matrix\]$'):
        planned(text, "flow.*.scheme=vegas")
    with pytest.raises(UserError, match=r'^--set matrix.scheme=reno: every flow .*; set "flow.1.scheme" and so on$'):
        planned(FREE, "flow.*.scheme=vegas", "matrix.scheme=reno")


def test_a_key_of_an_axis_may_have_the_quotes_of_a_file(planned: Planned) -> None:
    plans = [
        planned(FREE + '[matrix]\nscheme = ["reno"]', f"matrix.{key}=1kB,2kB") for key in ("flow.1.mss", '"flow.1.mss"')
    ]
    assert plans[0].runs == plans[1].runs
    assert len(plans[0].runs) == 2
