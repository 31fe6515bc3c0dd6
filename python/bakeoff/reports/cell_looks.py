"""How the cells of a matrix of several axes look: what is compared gives the colour, the rest of it the marker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bakeoff.experiment.published_row import SCHEME_AXIS
from bakeoff.reports import looks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bakeoff.reports.looks import Look

Rest = tuple[tuple[str, str], ...]
"""Axes and values of a cell beside those that are compared and those that all cells share."""


@dataclass(frozen=True)
class CellLooks:
    """The looks of the cells of a matrix that differ in two axes or more.

    Attributes:
        axis: whose values are compared.
        colours: the look of each of them.
        markers: the marker of each rest of a cell.
    """

    axis: str
    colours: dict[str, Look]
    markers: dict[Rest, str]

    def rest(self, cell: Mapping[str, str]) -> Rest:
        """What a cell is beside the value that is compared."""
        axes = {axis for rest in self.markers for axis, _ in rest}
        return tuple(item for item in cell.items() if item[0] in axes)

    def of(self, cell: Mapping[str, str]) -> Look:
        """The look of a cell."""
        colour = self.colours[cell[self.axis]]
        return looks.Look(colour.light, colour.dark, self.markers[self.rest(cell)])


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
    """The look of each of the values of an axis that are compared."""
    return {value: looks.of_scheme(value if axis == SCHEME_AXIS else "", place) for place, value in enumerate(known)}


def of_cells(cells: Sequence[Mapping[str, str]]) -> CellLooks | None:
    """Looks of these cells; None where they differ in one axis at most, or in more values than can be told apart."""
    axes = compared_first(cells)
    if len(axes) < 2:
        return None
    compared, *others = axes
    colours = of_values(compared, values(cells)[compared])
    rests = dict.fromkeys(tuple(item for item in cell.items() if item[0] in others) for cell in cells)
    is_clear = len({look.light for look in colours.values()}) == len(colours)
    if not is_clear or len(rests) > len(looks.CYCLE):
        return None
    return CellLooks(compared, colours, dict(zip(rests, looks.CYCLE, strict=False)))
