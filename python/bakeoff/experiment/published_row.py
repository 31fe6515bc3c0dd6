"""Which published row belongs beside a cell of the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.experiment.catalogue import plain
from bakeoff.scenario import flow_names

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from bakeoff.references import PublishedScheme, Reference

SCHEME_AXIS = "scheme"


def scheme_of(scenario: Mapping[str, Any], cell: Mapping[str, str], variants: Container[str]) -> str:
    """The scheme of all flows of a run, or the variant of it; nothing if they differ.

    Args:
        scenario: of the run.
        cell: its place in the matrix.
        variants: names that the experiment gives to schemes with parameters.
    """
    used = set(flow_names(scenario))
    variant = cell.get(SCHEME_AXIS, "")
    if len(used) != 1:
        return ""
    # Scenarios of earlier versions do not name the variants of their flows.
    return variant if variant in variants else used.pop()


def published_row(reference: Reference | None, scheme: str, cell: Mapping[str, str]) -> PublishedScheme | None:
    """The published row of a cell, whoever sends in it: `kernel:cubic` is beside Cubic.

    Args:
        reference: the published report, if there is one.
        scheme: see `scheme_of`.
        cell: its place in the matrix.
    """
    return reference.scheme(plain(scheme), cell) if reference else None
