"""How the cells of a matrix look: the first of its axes gives the colour, the second the marker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bakeoff.experiment.published_row import SCHEME_AXIS
from bakeoff.reports import looks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bakeoff.reports.looks import Look


@dataclass(frozen=True)
class CellLooks:
    """The looks of the cells of a matrix that differ in two axes or more.

    Attributes:
        axes: in which they differ; the values of the first are compared, and those behind the second do not show.
        colours: the look of each value of the first.
        markers: the marker of each value of the second.
    """

    axes: tuple[str, ...]
    colours: dict[str, Look]
    markers: dict[str, str]

    def of(self, cell: Mapping[str, str]) -> Look:
        """The look of a cell."""
        colour = self.colours[cell[self.axes[0]]]
        return looks.Look(colour.light, colour.dark, self.markers[cell[self.axes[1]]])


def values(cells: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """The values of each axis, as far as there are cells."""
    return {axis: list(dict.fromkeys(cell[axis] for cell in cells)) for axis in (cells[0] if cells else ())}


def compared_first(cells: Sequence[Mapping[str, str]]) -> list[str]:
    """Axes in which cells differ: first the one whose values are compared, schemes or the one with the fewest."""
    known = values(cells)
    return sorted(
        (axis for axis in known if len(known[axis]) > 1), key=lambda axis: (axis != SCHEME_AXIS, len(known[axis]))
    )


def of_values(axis: str, known: Sequence[str]) -> dict[str, Look]:
    """The look of each of the values of an axis that are compared; markers differ as far as there are any."""
    if axis == SCHEME_AXIS:
        found = looks.of_schemes(known)
    else:
        found = {value: looks.of_scheme("", place) for place, value in enumerate(known)}
    taken: set[str] = set()
    # Those with a marker of their own choose first.
    for value in sorted(found, key=lambda value: value not in looks.SCHEMES):
        marker = found[value].marker
        if marker in taken:
            marker = next((free for free in looks.MARKER_CYCLE if free not in taken), marker)
        taken.add(marker)
        found[value] = replace(found[value], marker=marker)
    return found


def of_cells(cells: Sequence[Mapping[str, str]]) -> CellLooks | None:
    """Looks of these cells; None where they differ in one axis at most, or in more values than can be told apart."""
    axes = compared_first(cells)
    if len(axes) < 2:
        return None
    compared, marked = (values(cells)[axis] for axis in axes[:2])
    colours = of_values(axes[0], compared)
    is_clear = len({look.light for look in colours.values()}) == len(colours)
    if not is_clear or len(marked) > len(looks.MARKER_CYCLE):
        return None
    return CellLooks(tuple(axes), colours, dict(zip(marked, looks.MARKER_CYCLE, strict=False)))
