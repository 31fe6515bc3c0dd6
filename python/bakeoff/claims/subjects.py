"""What a measure is about: every value of a run in it, and whether the measure exists without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.claims import telemetry
from bakeoff.claims.tree import DEFAULT, Binary, Call, Lookup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bakeoff.claims.tree import Measure


@dataclass(frozen=True)
class Subject:
    """A value that a measure looks up.

    Attributes:
        steps: to it, through the JSON of a run or to the telemetry of a flow: `("flow2", "loss")`.
        is_needed: whether a run that lacks it has no value; something may stand in, or the run be left out.
    """

    steps: tuple[str, ...]
    is_needed: bool


def subjects(measure: Measure) -> Iterator[Subject]:
    """Every value that a measure looks up."""
    needed = measure.beside is None
    yield from _of(measure.root, needed)
    if measure.beside is not None:
        yield from _of(measure.beside, needed)


def _of(node: Any, needed: bool) -> Iterator[Subject]:  # noqa: FBT001 - of the recursion
    if isinstance(node, Lookup):
        yield Subject(node.steps, needed)
    elif isinstance(node, telemetry.Quantity):
        yield Subject((f"flow{node.flow}", node.name), needed)
    else:
        for index, part in enumerate(_parts(node)):
            stands_in = isinstance(node, Call) and node.function == DEFAULT and index == 0
            yield from _of(part, needed and not stands_in)


def _parts(node: Any) -> tuple[Any, ...]:
    if isinstance(node, (Binary, telemetry.Arithmetic)):
        return node.left, node.right
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, telemetry.Constant):
        return (node.node,)
    if isinstance(node, (telemetry.Fold, telemetry.Spells)):
        array = (node.array,) if isinstance(node, telemetry.Fold) else ()
        comparisons = node.condition.comparisons if node.condition is not None else ()
        return (*array, *(side for _, *sides in comparisons for side in sides))
    return ()
