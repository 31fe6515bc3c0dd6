"""Schemes with parameters under names of their own, and rows that wait for a file of the user's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment import Plan, expand, load

if TYPE_CHECKING:
    from pathlib import Path

EXPERIMENT = """
name = "variants"
duration = "1s"
[[path.forward]]
rate = "10Mbit/s"
delay = "10ms"
queue = { limit = "1bdp" }
[[flow]]
[variant.gentle]
scheme = "cubic"
parameters = { law = "rfc9438" }
[variant.policy]
scheme = "indigo"
parameters = { weights = "" }
"""


def _plan(folder: Path, matrix: str, *changes: str) -> Plan:
    file = folder / "variants.toml"
    file.write_text(f"{EXPERIMENT}\n{matrix}", encoding="utf-8")
    return expand(load(str(file), changes))


def test_a_variant_is_its_scheme_with_its_parameters(tmp_path: Path) -> None:
    plan = _plan(tmp_path, '[matrix]\nscheme = ["reno", "gentle"]')
    assert [run.cell["scheme"] for run in plan.runs] == ["reno", "gentle"]
    flow = plan.runs[1].scenario["flows"][0]
    assert (flow["scheme"], flow["parameters"]) == ("cubic", {"law": "rfc9438"})
    (run,) = _plan(tmp_path, '[matrix]\nscheme = ["gentle"]', "flow.1.parameters.law=linux").runs
    assert run.scenario["flows"][0]["parameters"] == {"law": "linux"}, "the flow's own come first"


def test_a_name_has_letters_digits_and_dashes_and_no_two_share_a_folder(tmp_path: Path) -> None:
    matrix = """
[matrix]
scheme = ["cubic-2", "cubic_2", "Cubic-2"]
[variant.cubic-2]
scheme = "cubic"
[variant.cubic_2]
scheme = "cubic"
[variant.Cubic-2]
scheme = "cubic"
"""
    plan = _plan(tmp_path, matrix, "variant.cubic-2.parameters.law=rfc9438")
    assert [run.cell["scheme"] for run in plan.runs] == ["cubic-2", "cubic_2", "Cubic-2"]
    assert [run.scenario["flows"][0]["parameters"] for run in plan.runs] == [{"law": "rfc9438"}, {}, {}]
    assert len({run.id.casefold() for run in plan.runs}) == 3


def test_a_variant_may_be_a_class_or_a_program(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("class X: pass", encoding="utf-8")
    plan = _plan(
        tmp_path,
        """
[matrix]
scheme = ["mine", "theirs"]
[variant.mine]
scheme = "./own.py:X"
[variant.theirs]
scheme = "program:iperf3"
[program.iperf3]
sender = ["a"]
receiver = ["b"]
""",
    )
    mine, theirs = (run.scenario for run in plan.runs)
    assert (mine["flows"][0]["scheme"], list(mine["python"])) == ("python:X", ["X"])
    assert (theirs["flows"][0]["scheme"], list(theirs["programs"])) == ("program:iperf3", ["iperf3"])


@pytest.mark.parametrize(
    ("flows", "called"),
    [
        (["vegas", "vegas"], {}),
        (["vegas", "vegas alpha=3"], {"2": "vegas alpha=3"}),
        (["vegas alpha=3", "vegas"], {"1": "vegas alpha=3"}),
        (["vegas alpha=3", "vegas alpha=1"], {"1": "vegas alpha=3", "2": "vegas alpha=1"}),
        (["vegas", "vegas", "vegas alpha=3"], {"3": "vegas alpha=3"}),
        # What all have alike tells none from the others, and other schemes have parameters of their own.
        (["vegas alpha=3 gamma=2", "vegas gamma=2 alpha=1"], {"1": "vegas alpha=3", "2": "vegas alpha=1"}),
        (["vegas alpha=3", "reno", "cubic abe=true"], {}),
        # A variant is called after itself, and makes no other one of its scheme.
        (["cubic abe=true", "gentle"], {"2": "gentle"}),
    ],
)
def test_flows_of_a_scheme_are_called_after_what_differs(
    tmp_path: Path, flows: list[str], called: dict[str, str]
) -> None:
    tables = []
    for flow in flows:
        scheme, *parameters = flow.split()
        tables.append(f"{{scheme='{scheme}',parameters={{{','.join(parameters)}}}}}")
    (run,) = _plan(tmp_path, "", f"flow=[{','.join(tables)}]").runs
    assert run.scenario.get("names", {}) == called


def test_what_a_variant_cannot_be_is_no_hint(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        _plan(tmp_path, '[variant.mine]\nscheme = "polic"\n')
    assert 'variant.mine.scheme: "polic" is not a scheme; ' in str(caught.value)
    assert "polic" not in str(caught.value).partition("; ")[2]


def test_a_variant_that_lacks_its_file_is_left_out_and_named(tmp_path: Path) -> None:
    plan = _plan(tmp_path, '[matrix]\nscheme = ["reno", "policy"]')
    assert [run.cell["scheme"] for run in plan.runs] == ["reno"]
    assert plan.to_json()["unmet"] == [
        {
            "cell": {"scheme": "policy"},
            "reason": "needs a weights file",
            "remedy": "--set variant.policy.parameters.weights=FILE",
        }
    ]


def test_with_its_file_it_runs(tmp_path: Path) -> None:
    weights = tmp_path / "weights.bin"
    weights.write_bytes(bytes(22_168))
    plan = _plan(tmp_path, '[matrix]\nscheme = ["policy"]', f"variant.policy.parameters.weights={weights}")
    assert plan.unmet == ()
    assert plan.runs[0].scenario["flows"][0]["parameters"] == {"weights": str(weights)}


def test_an_experiment_of_nothing_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"policy needs a weights file; add --set variant\.policy\.parameters\.weights=FILE"
    ):
        _plan(tmp_path, '[matrix]\nscheme = ["policy"]')


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            ["variant.policy.parameters.weights=gone.bin"],
            r"variant\.policy\.parameters\.weights: there is no file .*/gone\.bin; write the path of a file with",
        ),
        (["variant.gentle.parameters.law=none"], r'variant\.gentle\.parameters\.law: "none" is not possible'),
        (["variant.gentle.scheme=cubik"], r'variant\.gentle\.scheme: "cubik" is not a scheme; did you mean "cubic"'),
        (["matrix.scheme=quinn:vegas"], r'"quinn:vegas" is not a controller of quinn; known are bbr, cubic, newreno$'),
        (["matrix.scheme=quinn:cubik"], r'"quinn:cubik" is not a controller of quinn; did you mean "cubic"\?$'),
        (["matrix.scheme=quin:cubic"], r'"quin:cubic" is not a scheme; did you mean "quinn:cubic"\?$'),
        (
            ["variant.mild.parameters.law=linux"],
            r'there is no variant "mild"; known are gentle, policy; --set variant\.mild\.scheme=SCHEME makes it$',
        ),
        (["matrix.scheme=gentl"], r'"gentl" is not a scheme; did you mean "gentle"'),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, changes: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        _plan(tmp_path, '[matrix]\nscheme = ["gentle", "policy"]', *changes)


@pytest.mark.parametrize(
    ("suite", "scheme", "name"),
    [("pantheon/london-sydney", "muses", "GCE Sydney"), ("pantheon/india-ppp0", "scream", "AWS India 1")],
)
def test_a_scheme_that_is_published_only_is_not_implemented_yet(suite: str, scheme: str, name: str) -> None:
    with pytest.raises(UserError, match=rf'"{scheme}" is not implemented yet; there are only its .*{name}'):
        load(suite, [f"matrix.scheme={scheme}"])
    with pytest.raises(UserError, match=r'"muzes" is not a scheme'):
        load(suite, ["matrix.scheme=muzes"])


@pytest.mark.parametrize("scheme", ["vegas", "./own.py:X", "program:cubic", "quinn:cubic"])
def test_a_variant_named_as_a_scheme_has_to_be_that_scheme(tmp_path: Path, scheme: str) -> None:
    (tmp_path / "own.py").write_text("class X: pass", encoding="utf-8")
    sentence = (
        r'variants\.toml: variant\.cubic\.scheme: "cubic" is the name of another scheme; write "cubic", or rename'
    )
    program = '[program.cubic]\nsender = ["a"]\nreceiver = ["b"]'
    with pytest.raises(UserError, match=sentence):
        _plan(tmp_path, f'[matrix]\nscheme = ["reno", "cubic"]\n[variant.cubic]\nscheme = "{scheme}"\n{program}')


def test_the_command_line_cannot_rename_a_scheme_either(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--set variant\.reno\.scheme=vegas: variant\.reno\.scheme: "):
        _plan(tmp_path, '[matrix]\nscheme = ["gentle"]', "variant.reno.scheme=vegas")


def test_a_scheme_may_have_parameters_under_its_own_name(tmp_path: Path) -> None:
    for scheme in ("cubic", "own:cubic", "kernel:cubic"):
        (run,) = _plan(tmp_path, f'[matrix]\nscheme = ["cubic"]\n[variant.cubic]\nscheme = "{scheme}"').runs
        assert run.scenario["flows"][0]["scheme"] == scheme


def test_a_class_named_as_a_scheme_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("class cubic: pass", encoding="utf-8")
    sentence = r"flow\.1\.scheme: the class cubic of \S*own\.py has the name of a scheme of bakeoff; rename the class"
    with pytest.raises(UserError, match=sentence):
        _plan(tmp_path, '[matrix]\nscheme = ["./own.py:cubic"]')
    with pytest.raises(UserError, match=sentence):
        _plan(tmp_path, '[matrix]\nscheme = ["mine"]\n[variant.mine]\nscheme = "./own.py:cubic"')
    with pytest.raises(UserError, match=sentence):
        _plan(tmp_path, "", f"flow.1.scheme={tmp_path}/own.py:cubic")


def test_a_value_of_an_axis_may_set_nothing(tmp_path: Path) -> None:
    plan = _plan(
        tmp_path,
        '[matrix.link.as_it_is]\n[matrix.link.slow]\n"path.forward.0.rate" = "1Mbit/s"\n[matrix]\nscheme = ["reno"]',
    )
    rates = {run.cell["link"]: run.scenario["forward"][0]["link"]["rate_bps"] for run in plan.runs}
    assert rates == {"as_it_is": 10_000_000, "slow": 1_000_000}
    (run,) = _plan(
        tmp_path, "[matrix.link.as_it_is]\n[matrix.link.slow]\nduration = '2s'", "flow.1.scheme=reno", "link=as_it_is"
    ).runs
    assert run.scenario["duration_ns"] == 10**9


def test_what_flows_are_called_makes_no_other_plan(tmp_path: Path) -> None:
    plan = _plan(tmp_path, '[matrix]\nscheme = ["gentle"]')
    (run,) = plan.runs
    assert run.scenario["names"] == {"1": "gentle"}
    older = replace(run, scenario={key: value for key, value in run.scenario.items() if key != "names"})
    assert replace(plan, runs=(older,)).to_json()["scenarios_sha256"] == plan.to_json()["scenarios_sha256"]
