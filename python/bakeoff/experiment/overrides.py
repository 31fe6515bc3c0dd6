"""What the command line changes in a file: `--set KEY=VALUE`, `--scheme` and `--repeats`.

A value is read as TOML if it is a number, a truth value, a list or a table, and is text otherwise, so that
`--set path.forward.0.rate=2Mbit/s` needs no quotes. Below `matrix.` a comma separates values. A key that is an axis of
the matrix narrows that axis to the one value, or to the variant of that name; what is set twice is refused.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.experiment import matrix as axes
from bakeoff.experiment import path, program
from bakeoff.experiment.keys import SETTABLE, Setting, short_word
from bakeoff.experiment.likely import nearest
from bakeoff.experiment.schema import label
from bakeoff.experiment.units import shown
from bakeoff.scheme import reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.experiment.catalogue import Catalogue

_MATRIX = "matrix."
_FORM = "write KEY=VALUE, as in --set path.forward.0.rate=2Mbit/s"


@dataclass(frozen=True)
class Shorthand:
    """A change by an option that is shorter than `--set`.

    Attributes:
        assignment: the same as `KEY=VALUE`.
        typed: the option as it was typed, for messages.
    """

    assignment: str
    typed: str


def assignment(change: str | Shorthand) -> str:
    """A change as `KEY=VALUE`."""
    return change if isinstance(change, str) else change.assignment


def parse(change: str | Shorthand, catalogue: Catalogue) -> Setting:
    """One change of the command line.

    Args:
        change: what was typed.
        catalogue: schemes, whose parameters may name files.

    Raises:
        UserError: it has no key, no `=` or no value.
    """
    key, equals, text = assignment(change).partition("=")
    key, text = _without_quotes(key.strip()), text.strip()
    if not equals or not key or not text:
        raise UserError(f"--set {shown(change)}: {_FORM}")
    origin = f"--set {key}={text}" if len(text) <= 60 else f"--set {key}"
    if isinstance(change, Shorthand):
        origin = change.typed
    value: Any = _read(text)
    if key.startswith(_MATRIX) and not isinstance(value, (list, dict)):
        value = [_read(part.strip()) for part in text.split(",")]
    # What is typed in a shell is relative to where it is typed, not to the file.
    return Setting(key, placed(key, value, Path.cwd(), catalogue), origin)


def _without_quotes(key: str) -> str:
    """The key of an axis as it is without the quotes that it has in a file."""
    quoted = re.fullmatch(r'matrix\."([^"]+)"', key)
    return _MATRIX + quoted[1] if quoted else key


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


def placed(key: str, value: Any, folder: Path, catalogue: Catalogue) -> Any:
    """A value whose paths of files are relative to a folder, as one that may stand anywhere; also within tables.

    Args:
        key: what the value is for; its last word tells whether it is a path.
        value: as TOML has it.
        folder: what its paths are relative to.
        catalogue: schemes, whose parameters may name files.
    """
    word = key.rsplit(".", maxsplit=1)[-1]
    if isinstance(value, dict):
        return {name: placed(str(name), item, folder, catalogue) for name, item in value.items()}
    if isinstance(value, list):
        # An axis lists files; any other list is a trace itself.
        is_trace = word == "trace" and not key.startswith(_MATRIX)
        return value if is_trace else [placed(word, item, folder, catalogue) for item in value]
    if not isinstance(value, str) or not value:
        return value
    if word == "scheme" and (named := reference.parse(value)) is not None:
        return f"{_path(folder, named.file)}:{named.name}"
    is_file = word in path.FILE_KEYS or word in program.FILE_KEYS or word in catalogue.file_parameters
    return _path(folder, value) if is_file else value


def _path(folder: Path, file: str) -> str:
    return str(folder / os.path.expanduser(file))  # noqa: PTH111 - never raises


def _read(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}\n")["value"]
    except (ValueError, KeyError, RecursionError):
        return text
    return value if isinstance(value, (bool, int, float, str, list, dict)) else text


def apply_to_matrix(raw: dict[str, Any], settings: Sequence[Setting]) -> tuple[list[Setting], dict[str, Setting]]:
    """Changes the matrix in place.

    Returns:
        the settings that are about something else, and by axis those that changed it.

    Raises:
        UserError: a setting names a value that its axis does not have, sets an axis that another has set, or makes one
            that cannot be.
    """
    rest = []
    done: dict[str, Setting] = {}
    for setting in settings:
        matrix = raw.get("matrix", {})
        if not isinstance(matrix, dict):
            return list(settings), {}
        name = setting.key.removeprefix(_MATRIX)
        axis = _same_axis(name, matrix)
        if not setting.key.startswith(_MATRIX) and (axis is None or _is_key(setting, matrix[axis])):
            rest.append(setting)
            continue
        if axis is None:
            _check_new(setting, name, matrix)
        axis = axis or name
        if (earlier := done.setdefault(axis, setting)) is not setting:
            raise setting.fail(f"the axis {shown(axis)} was set by {earlier.origin} already; keep one of them")
        raw["matrix"] = {**matrix, axis: _narrowed(setting, axis, matrix.get(axis))}
        axes.parse({axis: raw["matrix"][axis]}, setting.origin)
    return rest, done


def _check_new(setting: Setting, name: str, matrix: dict[str, Any]) -> None:
    """Finds a part of an axis that the file has, where a new axis belongs.

    Raises:
        UserError: it is one.
    """
    axis, _, rest = name.partition(".")
    variants = matrix.get(axis)
    if not rest or not isinstance(variants, dict):
        return
    title = next((known for known in variants if f"{rest}.".startswith(f"{known}.")), rest.partition(".")[0])
    key = rest.removeprefix(title).removeprefix(".")
    value = setting.value[0] if isinstance(setting.value, list) and len(setting.value) == 1 else setting.value
    whole = f"matrix.{axis}={_toml({title: {key: value} if key else value})}"
    sentence = f"variants of the axis {shown(axis)} do not change one by one; give all that it is to have"
    raise setting.fail(f"{sentence}, as in --set {shlex.quote(whole)}")


def _is_key(setting: Setting, values: Any) -> bool:
    """Whether a setting is about the key that variants have their name from, and not about one of them."""
    known = short_word(setting.key) is not None or setting.key.partition(".")[0] in SETTABLE
    return known and isinstance(values, dict) and _label_if_simple(setting.value) not in values


def _label_if_simple(value: Any) -> str | None:
    return label(value) if isinstance(value, (bool, int, float, str)) else None


def _narrowed(setting: Setting, axis: str, values: Any) -> Any:
    """What is left of an axis: the value of the setting, its list of values, or the variants that it names."""
    wanted = setting.value
    whole = setting.key.startswith(_MATRIX)
    if not isinstance(values, dict) or (whole and isinstance(wanted, dict)):
        return wanted if whole else [wanted]
    found = {}
    for value in wanted if isinstance(wanted, list) else [wanted]:
        if (name := _label_if_simple(value)) not in values:
            raise setting.fail(f"{shown(value)} is not a value of the axis {shown(axis)}; {nearest(value, values)}")
        found[name] = values[name]
    return found


def _same_axis(key: str, matrix: dict[str, Any]) -> str | None:
    word = short_word(key)
    for axis, values in matrix.items():
        same_word = isinstance(values, list) and word is not None and short_word(axis) == word
        if axis == key or same_word:
            return axis
    return None
