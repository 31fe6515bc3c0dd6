"""A parameter that names a file has to be there, and the file too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment import load
from bakeoff.experiment.catalogue import of_core

if TYPE_CHECKING:
    from pathlib import Path

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
    with pytest.raises(UserError, match=r'"gone\.bin" is not possible; write the path of a file with'):
        _load(tmp_path, 'parameters = { weights = "gone.bin" }')


def test_the_catalogue_says_what_the_file_holds() -> None:
    (weights,) = of_core().files_of("indigo")
    assert (weights.name, weights.kind, weights.default) == ("weights", "file", "")
    assert of_core().files_of("kernel:cubic") == ()
    assert of_core().files_of("own:cubic") == ()
