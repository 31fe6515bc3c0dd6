"""What schemes, axes, their values and cells are called in reports."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

from bakeoff import _core
from bakeoff.experiment.published_row import SCHEME_AXIS
from bakeoff.references.pantheon import SCHEME_KEYS
from bakeoff.scheme.reference import PREFIX as PYTHON

if TYPE_CHECKING:
    from collections.abc import Mapping


@functools.cache
def implemented() -> dict[str, str]:
    """Title of every scheme of the core, by key."""
    return {scheme["name"]: scheme["title"] for scheme in json.loads(_core.schemes())}


def scheme(key: str) -> str:
    """The name of a scheme for people: Pantheon's if it has one, then the core's; parameters behind it stay."""
    plain_key, space, parameters = key.partition(" ")
    published = next((name for name, known in SCHEME_KEYS.items() if known == plain_key), None)
    return (published or implemented().get(plain_key, plain_key.removeprefix(PYTHON))) + space + parameters


def axis(name: str) -> str:
    """An axis by the last word of its key that says something."""
    return name.removesuffix(".use").rpartition(".")[2]


def cell(key: str, labels: Mapping[str, str]) -> str:
    """A cell of the matrix.

    Args:
        key: of the scheme of all its flows; empty if they differ.
        labels: the value of each axis.
    """
    parts = [scheme(key)] if key and (SCHEME_AXIS in labels or not labels) else []
    parts += [axis_value(axis, value) for axis, value in labels.items() if axis != SCHEME_AXIS or not key]
    return ", ".join(parts) or "all runs"


def axis_value(axis: str, value: str) -> str:
    """A value of an axis for people: a scheme by its name, a number with what it is of."""
    if axis == SCHEME_AXIS:
        return scheme(value)
    return f"{axis.rpartition('.')[2]} {value}" if value[:1].isdigit() else value
