"""A parameter that names a file has to be there, and the file too."""

from __future__ import annotations

import hashlib
import math
import struct
from pathlib import Path

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment import expand, load, overrides, path, program
from bakeoff.experiment.catalogue import of_core
from bakeoff.experiment.cell import Unmet
from bakeoff.worlds import named_files, registry
from bakeoff.worlds.outcome import RunStopped

TREE = str(Path(__file__).parents[2] / "crates" / "core" / "tests" / "files" / "one-rule.json")
EXPERIMENT = """
name = "policy"
duration = "1s"
[[path.forward]]
rate = "10Mbit/s"
delay = "10ms"
queue = {{ limit = "1bdp" }}
[[flow]]
scheme = "indigo"
{parameters}
"""


def _load(folder: Path, parameters: str) -> None:
    file = folder / "policy.toml"
    file.write_text(EXPERIMENT.format(parameters=parameters), encoding="utf-8")
    load(str(file))


def test_a_scheme_that_needs_a_file_is_refused_without_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"flow\.1\.parameters\.weights: missing; indigo needs the path of a file with"):
        _load(tmp_path, "")
    remedy = (
        r"--set variant\.mine\.scheme=indigo --set variant\.mine\.parameters\.weights=FILE makes a scheme called mine"
    )
    with pytest.raises(UserError, match=remedy):
        _load(tmp_path, "")
    waiting = r"policy\.toml: nothing to run: a flow needs a weights file; add --set flow\.1\.parameters\.weights=FILE$"
    with pytest.raises(UserError, match=waiting):
        _load(tmp_path, 'parameters = { weights = "" }')
    with pytest.raises(UserError, match=r"there is no file .*/gone\.bin; write the path of a file with"):
        _load(tmp_path, 'parameters = { weights = "gone.bin" }')


def test_a_tree_of_rules_has_to_be_named() -> None:
    with pytest.raises(UserError, match=r"missing; taova needs the path of a tree of rules"):
        load("pantheon/london-sydney", ["matrix.scheme=taova"])
    remedy = r"nothing to run: taova needs a tree file; add --set variant\.taova\.parameters\.tree=FILE"
    with pytest.raises(UserError, match=remedy):
        load("pantheon/india-ppp0", ["matrix.scheme=taova"])


def test_the_command_line_can_make_a_variant_with_a_file() -> None:
    changes = ["matrix.scheme=mine", "variant.mine.scheme=taova", f"variant.mine.parameters.tree={TREE}"]
    (first, *_) = load("pantheon/london-sydney", changes).cells()
    assert not isinstance(first, Unmet)
    assert first.scenario["flows"][0]["scheme"] == "taova"
    assert first.scenario["flows"][0]["parameters"]["tree"] == TREE


def _weights(file: Path, size: int = 22_168, **values: float) -> str:
    """A policy of Indigo that is zero but for some of its weights."""
    floats = [0.0] * (size // 4)
    for place, value in ({"w6": 1.0} | values).items():
        floats[int(place[1:])] = value
    file.write_bytes(struct.pack(f"<{len(floats)}f", *floats))
    return str(file)


def _check(folder: Path, weights: str, more: str = "") -> None:
    file = folder / "policy.toml"
    file.write_text(EXPERIMENT.format(parameters=f'parameters = {{ weights = "{weights}"{more} }}'), encoding="utf-8")
    registry.world("sim").check_plan(expand(load(str(file))))


def test_what_a_file_holds_is_checked_before_anything_runs(tmp_path: Path) -> None:
    sound = _weights(tmp_path / "sound.bin")
    _check(tmp_path, sound)
    _check(tmp_path, sound, ', network = "1x32"')
    begin = (
        r"policy\.toml: flow 1: parameter weights of indigo cannot be \S*\.bin.; "
        "it takes a file with the published weights of Indigo; "
    )
    with pytest.raises(UserError, match=begin + 'this one has 1x32 units, and network = "2x256" wants others'):
        _check(tmp_path, sound, ', network = "2x256"')
    with pytest.raises(UserError, match=begin + "this one has a weight, number 100, that is no number"):
        _check(tmp_path, _weights(tmp_path / "odd.bin", w100=math.nan))
    with pytest.raises(UserError, match=begin + "in this one all weights are zero"):
        _check(tmp_path, _weights(tmp_path / "zero.bin", w6=0.0))
    with pytest.raises(UserError, match=begin + r"this one has 400 bytes, not 22168 \(1x32\), 285208 \(1x128\) or "):
        _check(tmp_path, _weights(tmp_path / "short.bin", size=400))


def test_a_path_is_relative_to_the_file_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    _weights(tmp_path / "policy.bin")
    _check(tmp_path, "policy.bin")
    with pytest.raises(UserError, match=f"there is no file {tmp_path}/gone.bin; "):
        _check(tmp_path, "gone.bin")
    with pytest.raises(UserError, match=f"weights: {tmp_path} is a folder; write the path of a file with"):
        _check(tmp_path, ".")
    with pytest.raises(UserError, match=r"weights: /dev/zero is not a regular file; write the path of a file with"):
        _check(tmp_path, "/dev/zero")
    with (tmp_path / "huge.bin").open("wb") as huge:
        huge.truncate(2**26 + 1)
    with pytest.raises(UserError, match=r"huge\.bin has more than 64 MiB; write the path of a file with"):
        _check(tmp_path, "huge.bin")
    with pytest.raises(UserError, match=r"weights: 3 is not possible; write the path of a file with"):
        load(str(tmp_path / "policy.toml"), ["flow.1.parameters.weights=3"])
    _weights(tmp_path / "elsewhere" / "here.bin")
    (first, *_) = load(str(tmp_path / "policy.toml"), ["flow.1.parameters.weights=here.bin"]).cells()
    assert not isinstance(first, Unmet)
    assert list(first.scenario["files"]) == [str(tmp_path / "elsewhere" / "here.bin")]


def test_every_key_that_names_a_file_may_be_typed_where_the_file_is() -> None:
    catalogue = of_core()
    assert {"weights", "tree"} <= catalogue.file_parameters
    of_flows = [f"flow.1.parameters.{name}" for name in sorted(catalogue.file_parameters)]
    for key in (*of_flows, "path.forward.0.rate.trace", "program.x.wrapper", "controller.x.object"):
        assert overrides.parse(f"{key}=x", catalogue).value == str(Path.cwd() / "x")
    assert overrides.parse("flow.1.parameters.mode=x", catalogue).value == "x"


def test_keys_that_name_files_are_keys() -> None:
    assert path.TraceRate.model_fields.keys() >= path.FILE_KEYS
    assert program.Program.model_fields.keys() | program.Controller.model_fields.keys() >= program.FILE_KEYS


def test_another_content_is_another_experiment(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    weights = tmp_path / "policy.bin"
    file.write_text(EXPERIMENT.format(parameters=f'parameters = {{ weights = "{weights}" }}'), encoding="utf-8")
    digests = set()
    for value in (1.0, 1.0, 2.0):
        _weights(weights, w6=value)
        plan = expand(load(str(file)))
        assert plan.runs[0].scenario["files"] == {str(weights): hashlib.sha256(weights.read_bytes()).hexdigest()}
        digests.add(plan.to_json()["scenarios_sha256"])
    assert len(digests) == 2


def test_a_row_of_the_report_takes_only_its_own_network(tmp_path: Path) -> None:
    weights = _weights(tmp_path / "small.bin")
    changes = ["matrix.scheme=indigo_2_256", f"variant.indigo_2_256.parameters.weights={weights}"]
    with pytest.raises(UserError, match=r'this one has 1x32 units, and network = "2x256" wants others'):
        registry.world("sim").check_plan(expand(load("pantheon/india-ppp0", changes)))


def test_the_catalogue_says_what_the_file_holds() -> None:
    (weights,) = of_core().files_of("indigo")
    assert (weights.name, weights.kind, weights.default) == ("weights", "file", "")
    assert of_core().files_of("kernel:cubic") == ()
    assert of_core().files_of("own:cubic") == ()


def test_a_guest_sees_copies_and_a_file_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    scenario = {
        "files": {TREE: "digest"},
        "flows": [{"scheme": "taova", "parameters": {"tree": TREE, "profile": "remy"}}],
    }
    brought = named_files.brought_along(scenario, tmp_path, "/run")
    assert brought["flows"][0]["parameters"] == {"tree": "/run/file-1", "profile": "remy"}
    assert (tmp_path / "file-1").read_bytes() == Path(TREE).read_bytes()
    with pytest.raises(RunStopped, match=r"^/gone/tree: cannot be read \(no such file or directory\)$"):
        named_files.check_unchanged({"files": {"/gone/tree": "digest"}})


EMULATED = """
name = "emulated"
duration = "1s"
world = "emu"
[[path.forward]]
rate = "10Mbit/s"
delay = "10ms"
[[flow]]
scheme = "kernel:own"
[[flow]]
scheme = "program:theirs"
[controller.own]
object = "own.o"
[controller.unused]
object = "unused.o"
[program.theirs]
wrapper = "wrapper.py"
"""


def test_a_recompiled_controller_or_another_wrapper_is_another_experiment(tmp_path: Path) -> None:
    file = tmp_path / "emulated.toml"
    file.write_text(EMULATED, encoding="utf-8")
    plans = [expand(load(str(file)))]
    assert "files" not in plans[0].runs[0].scenario, "the world tells what is missing"
    for name, content in (("own.o", b"1"), ("wrapper.py", b"1"), ("own.o", b"2"), ("wrapper.py", b"2")):
        (tmp_path / name).write_bytes(content)
        plans.append(expand(load(str(file))))
    assert len({plan.to_json()["scenarios_sha256"] for plan in plans}) == len(plans)
    (run,) = plans[-1].runs
    two = hashlib.sha256(b"2").hexdigest()
    assert run.scenario["files"] == {str(tmp_path / "own.o"): two, str(tmp_path / "wrapper.py"): two}
    (tmp_path / "unused.o").write_bytes(b"1")
    assert expand(load(str(file))).runs == plans[-1].runs
    (tmp_path / "own.o").write_bytes(b"3")
    with pytest.raises(RunStopped, match=r"own\.o has changed since the experiment was read"):
        named_files.check_unchanged(run.scenario)
