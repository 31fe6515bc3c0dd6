"""What the command line changes in a file: `--set KEY=VALUE` and `--scheme`.

A value is read as TOML if it is a number, a truth value, a list or a table, and is text otherwise, so that
`--set path.forward.0.rate=2Mbit/s` needs no quotes. Below `matrix.` a comma separates values. A key that is an axis of
the matrix narrows that axis to the one value, or to the variant of that name.
"""

from __future__ import annotations

import json
import os
import re
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
    return Setting(key, placed(key, value, Path.cwd()), origin)


def written(value: Any) -> str:
    """The text that stands for a value behind `KEY=`: what `parse` reads as this value."""
    if isinstance(value, str):
        read = _read(value)
        return value if value and read == value.strip() == value else json.dumps(value, ensure_ascii=False)
    return _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_toml(item)}' for key, item in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (bool, str)) else str(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def placed(key: str, value: Any, folder: Path) -> Any:
    """A value whose paths of files are relative to a folder, as one that may stand anywhere; also within tables.

    Args:
        key: what the value is for; its last word tells whether it is a path.
        value: as TOML has it.
        folder: what its paths are relative to.
    """
    word = key.rsplit(".", maxsplit=1)[-1]
    if isinstance(value, dict):
        return {name: placed(str(name), item, folder) for name, item in value.items()}
    if isinstance(value, list):
        return [placed(word, item, folder) for item in value]
    if not isinstance(value, str) or not value:
        return value
    if word == "scheme" and (named := reference.parse(value)) is not None:
        return f"{_path(folder, named.file)}:{named.name}"
    return _path(folder, value) if word in _FILES else value


def _path(folder: Path, file: str) -> str:
    return str(folder / os.path.expanduser(file))  # noqa: PTH111 - never raises


# Traces, parameters of schemes that name files, wrappers of programs, and controllers of the kernel.
_FILES = frozenset({"trace", "weights", "tree", "wrapper", "object"})


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
