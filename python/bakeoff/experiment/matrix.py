"""The matrix: axes, each a list of values for one key or a table of named variants that set several.

    [matrix]
    scheme = ["cubic", "bbr"]
    "path.forward.0.delay" = ["10ms", "80ms"]

    [matrix.pair.cubic-vs-bbr]
    "flow.1.scheme" = "cubic"
    "flow.2.scheme" = "bbr"

Each combination is a cell and runs `repeats` times, or `claim_repeats` where a claim is about it. Seeds follow from the
seed of the experiment and the number of the repeat alone, so that all cells meet the same chance.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.experiment import keys
from bakeoff.experiment.keys import Setting
from bakeoff.experiment.likely import nearest
from bakeoff.experiment.limits import MAX_RUNS
from bakeoff.experiment.schema import label
from bakeoff.experiment.units import shown
from bakeoff.scheme import reference

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_FORMS = 'write a list of values, as in scheme = ["bbr", "cubic"]'


@dataclass(frozen=True)
class Choice:
    """One value of an axis.

    Attributes:
        label: its name in cells, tables and claims.
        settings: what it sets.
    """

    label: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class Axis:
    """One dimension of the matrix.

    Attributes:
        name: the key it sets, or the name of a table of variants.
        choices: its values, in the order of the file.
        is_list: whether each value is one for the key; else each is a variant that sets several.
        origin: who says so, for messages.
    """

    name: str
    choices: tuple[Choice, ...]
    is_list: bool
    origin: str


def parse(matrix: Any, source: str, changed: Mapping[str, Setting] | None = None) -> tuple[Axis, ...]:
    """The axes of a file's `matrix` table.

    Args:
        matrix: the table as TOML has it; None if there is none.
        source: name of the file, for messages.
        changed: by axis, what the command line has put in its place.

    Raises:
        UserError: an axis is empty, malformed, lists a value twice, or sets no key.
    """
    if matrix is None:
        return ()
    if not isinstance(matrix, dict):
        raise UserError(f"{source}: matrix: must be a table, not {shown(matrix)}; write [matrix]")
    if not matrix:
        raise UserError(f'{source}: matrix: has no axis; add one, as in scheme = ["bbr", "cubic"], or remove [matrix]')
    settings = changed or {}
    return tuple(_axis(str(name), values, source, settings.get(name)) for name, values in matrix.items())


def _axis(name: str, values: Any, source: str, changed: Setting | None) -> Axis:
    where = f"{source}: matrix.{name}"
    if isinstance(values, list):
        _check_key(name, where)
        origins = [changed.origin if changed else f"{where} = {shown(value)}" for value in values]
        choices = [_value(name, value, origin, where) for value, origin in zip(values, origins, strict=True)]
    elif isinstance(values, dict):
        if name in keys.SETTABLE:
            # TOML reads path.forward.0.rate = [...] as tables within tables.
            raise UserError(f'{where}: write the whole key in quotes, as in "{_dotted(name, values)}" = [...]')
        choices = [_variant(str(title), settings, f"{where}.{title}", where) for title, settings in values.items()]
    else:
        raise UserError(f"{where}: must be a list, not {shown(values)}; {_FORMS}")
    if not choices:
        raise UserError(f"{where}: is empty, so there is nothing to run; {_FORMS}")
    seen: dict[str, Choice] = {}
    for choice in choices:
        other = seen.setdefault(choice.label, choice)
        if other is not choice:
            # Classes of the same name in two files are not the same.
            right = "keep one of them" if other == choice else "rename one of them"
            raise UserError(f"{where}: {shown(choice.label)} is there twice; {right}")
    return Axis(name, tuple(choices), isinstance(values, list), changed.origin if changed else where)


def _dotted(key: str, values: Any) -> str:
    while isinstance(values, dict) and values:
        word, values = next(iter(values.items()))
        key = f"{key}.{word}"
    return key


def _can_vary(key: str) -> bool:
    return keys.short_word(key) is not None or key.split(".", maxsplit=1)[0] in keys.SETTABLE


def _check_key(key: str, where: str) -> None:
    if not _can_vary(key):
        whole = keys.meant(key)
        hint = f'write "{whole}"' if whole else nearest(key, (*keys.SHORT_WORDS, *keys.SETTABLE))
        raise UserError(f'{where}: not a key that can vary; {hint} (longer keys in quotes: "path.forward.0.delay")')


def _value(key: str, value: Any, origin: str, where: str) -> Choice:
    return Choice(_label_of(key, value, where), (Setting(key, value, origin),))


def _label_of(key: str, value: Any, where: str) -> str:
    if isinstance(value, str):
        # A trace is called by its file and a class by its name, so that results do not depend on where they lie.
        word = key.rsplit(".", maxsplit=1)[-1]
        name = PurePath(value).name if word == "trace" else reference.label(value) if word == "scheme" else value
        if name.strip():
            return name
    elif isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return label(value)
    elif isinstance(value, dict) and value:
        return " ".join(_label_of(str(key), item, where) for key, item in value.items())
    elif isinstance(value, list) and value:
        return "+".join(_label_of(key, item, where) for item in value)
    raise UserError(f"{where}: {shown(value)} cannot be a value of an axis; {_FORMS}")


def _variant(title: str, settings: Any, origin: str, where: str) -> Choice:
    if not isinstance(settings, dict):
        dotted = f"{where.rpartition(': ')[2].removeprefix('matrix.')}.{title}"
        right = 'write a table, as in { rate = "5Mbit/s" }'
        if _can_vary(dotted):
            right = f'for a single key write it in quotes, as in "{dotted}" = [...]'
        raise UserError(f"{origin}: must be a table of keys to set, not {shown(settings)}; {right}")
    if not title.strip():
        raise UserError(f"{where}: a variant has no name")
    for key in settings:
        _check_key(key, origin)
    return Choice(title, tuple(Setting(key, value, f"{origin}.{key}") for key, value in settings.items()))


def count(axes: Sequence[Axis], repeats: int, source: str) -> int:
    """Number of runs of a matrix.

    Raises:
        UserError: there are more than anyone would wait for.
    """
    runs = repeats * math.prod(len(axis.choices) for axis in axes)
    if runs > MAX_RUNS:
        raise UserError(f"{source}: the matrix has {runs} runs; the most is {MAX_RUNS}: shorten an axis, or repeats")
    return runs


def cells(axes: Sequence[Axis]) -> Iterator[tuple[Choice, ...]]:
    """All combinations, the last axis moving fastest."""
    return itertools.product(*(axis.choices for axis in axes))
