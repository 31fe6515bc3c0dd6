"""What the command line changes in a file: `--set KEY=VALUE` and `--scheme`.

A value is read as TOML if it is a number, a truth value, a list or a table, and is text otherwise, so that
`--set path.forward.0.rate=2Mbit/s` needs no quotes. Below `matrix.` a comma separates values. A key that is an axis of
the matrix narrows that axis to the one value, or to the variant of that name.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.experiment.keys import Setting, short_word
from bakeoff.experiment.schema import label
from bakeoff.experiment.units import shown
from bakeoff.scheme import reference

if TYPE_CHECKING:
    from collections.abc import Sequence

_MATRIX = "matrix."
_FORM = "write KEY=VALUE, as in --set path.forward.0.rate=2Mbit/s"


def parse(assignment: str) -> Setting:
    """One `KEY=VALUE`.

    Raises:
        UserError: it has no key, no `=` or no value.
    """
    key, equals, text = assignment.partition("=")
    key, text = key.strip(), text.strip()
    if not equals or not key or not text:
        raise UserError(f"--set {shown(assignment)}: {_FORM}")
    origin = f"--set {key}={text}" if len(text) <= 60 else f"--set {key}"
    value: Any = _read(text)
    if key.startswith(_MATRIX) and not isinstance(value, (list, dict)):
        value = [_read(part.strip()) for part in text.split(",")]
    # What is typed in a shell is relative to where it is typed, not to the file.
    if key.split(".")[-1] in _ABSOLUTE:
        place = _ABSOLUTE[key.split(".")[-1]]
        value = [place(item) for item in value] if isinstance(value, list) else place(value)
    return Setting(key, value, origin)


def _absolute(value: Any) -> Any:
    return str(Path.cwd() / os.path.expanduser(value)) if isinstance(value, str) and value else value  # noqa: PTH111 - never raises


def _absolute_class(value: Any) -> Any:
    named = reference.parse(value) if isinstance(value, str) else None
    return f"{_absolute(named.file)}:{named.name}" if named else value


# Traces, classes, and the parameters of schemes that name files.
_ABSOLUTE = {"trace": _absolute, "scheme": _absolute_class, "weights": _absolute, "tree": _absolute}


def _read(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}\n")["value"]
    except (ValueError, KeyError, RecursionError):
        return text
    return value if isinstance(value, (bool, int, float, str, list, dict)) else text


def apply_to_matrix(raw: dict[str, Any], settings: Sequence[Setting]) -> list[Setting]:
    """Changes the matrix in place, and returns the settings that are about something else.

    Raises:
        UserError: the matrix is not a table.
    """
    rest = []
    for setting in settings:
        matrix = raw.get("matrix", {})
        if not isinstance(matrix, dict):
            return list(settings)
        if setting.key.startswith(_MATRIX):
            raw["matrix"] = {**matrix, setting.key.removeprefix(_MATRIX): setting.value}
        elif (axis := _same_axis(setting.key, matrix)) is not None:
            raw["matrix"] = {**matrix, axis: [setting.value]}
        elif (name := _variant(setting, matrix.get(setting.key))) is not None:
            raw["matrix"] = {**matrix, setting.key: {name: matrix[setting.key][name]}}
        else:
            rest.append(setting)
    return rest


def _variant(setting: Setting, variants: Any) -> str | None:
    """The name of the variant that a setting names."""
    if not isinstance(variants, dict) or not isinstance(setting.value, (bool, int, float, str)):
        return None
    name = label(setting.value)
    return name if name in variants else None


def _same_axis(key: str, matrix: dict[str, Any]) -> str | None:
    word = short_word(key)
    for axis, values in matrix.items():
        if isinstance(values, list) and (axis == key or (word is not None and short_word(axis) == word)):
            return axis
    return None
