"""A parameter that names a file has to be there, and the file too."""

from __future__ import annotations

from pathlib import Path

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment import load
from bakeoff.experiment.catalogue import of_core
from bakeoff.experiment.load import Unmet

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
    with pytest.raises(UserError, match=r'"gone\.bin" is not possible; write the path of a file with'):
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


def test_the_catalogue_says_what_the_file_holds() -> None:
    (weights,) = of_core().files_of("indigo")
    assert (weights.name, weights.kind, weights.default) == ("weights", "file", "")
    assert of_core().files_of("kernel:cubic") == ()
    assert of_core().files_of("own:cubic") == ()
