"""What the schemes of flows are called where their keys do not tell: two with other parameters are two opponents."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from bakeoff.experiment.schema import label

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from bakeoff.experiment.schema import ExperimentFile


def names(experiment: ExperimentFile, flows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The names of those flows that are called otherwise than by the key of their scheme, by number of the flow.

    A flow that names a variant is called after it; others of one scheme after the parameters in which they differ, as
    in `copa delta=0.05`.

    Args:
        experiment: the cell.
        flows: of its scenario.
    """
    asked = [flow.scheme for flow in experiment.flow for _ in range(flow.count)]
    plain = [flow for flow, name in zip(flows, asked, strict=True) if name not in experiment.variant]
    differing = _differing(plain)
    found = {}
    for number, (flow, name) in enumerate(zip(flows, asked, strict=True), 1):
        called = name if name in experiment.variant else _with_parameters(flow, differing[flow["scheme"]])
        if called != flow["scheme"]:
            found[str(number)] = str(called)
    return found


def _differing(flows: Sequence[Mapping[str, Any]]) -> dict[str, frozenset[str]]:
    """By scheme the parameters that not all flows of it have alike; in one pass, since there may be thousands."""
    first: dict[str, Mapping[str, Any]] = {}
    found: dict[str, set[str]] = {}
    for flow in flows:
        own = flow["parameters"]
        one = first.setdefault(flow["scheme"], own)
        differing = found.setdefault(flow["scheme"], set())
        differing |= {name for name in one.keys() | own.keys() if one.get(name) != own.get(name)}
    return {scheme: frozenset(names) for scheme, names in found.items()}


def _with_parameters(flow: Mapping[str, Any], differing: Container[str]) -> str:
    """The scheme, and those of its parameters that are not those of all others of it."""
    own = {name: value for name, value in flow["parameters"].items() if name in differing}
    return " ".join([flow["scheme"], *(f"{name}={_written(value)}" for name, value in own.items())])


def _written(value: bool | float | str) -> str:  # noqa: FBT001 - a parameter like the others
    """A value for people; a file by its name, so that results do not depend on where it lies."""
    return PurePath(value).name if isinstance(value, str) else label(value)
