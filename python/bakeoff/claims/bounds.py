"""What a measure cannot go beyond, as far as it follows from the quantities in it."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from bakeoff.claims import telemetry
from bakeoff.claims.tree import COUNTERS, DEFAULT, FUNCTIONS, Binary, Call, Lookup, Number

if TYPE_CHECKING:
    from bakeoff.claims.tree import Measure

_ANY = (-math.inf, math.inf)
_FROM_ZERO = (0.0, math.inf)
_SHARE = (0.0, 1.0)
_RATIOS = ("loss", "packet_loss", "jain", "utilisation")
# Of schemes' telemetry: rates and shares.
_UNSIGNED = ("bit/s", "Mbit/s", "packets/s", "1")


def bounds_of(measure: Measure, *, compares: bool = False) -> tuple[float, float]:
    """The least and the most that a measure can be; infinite where nothing bounds it.

    A utilisation counts as a share, though what a token bucket holds at the beginning can make it more than 1.

    Args:
        measure: what is measured.
        compares: whether it counts as the ratio of its values in two cells.
    """
    if measure.beside is not None:
        return _ANY
    bounds = _bounds(measure.root)
    return _divided(bounds, bounds) if compares else bounds


def _bounds(node: Any) -> tuple[float, float]:
    if isinstance(node, Number):
        return node.value, node.value
    if isinstance(node, Lookup):
        return _of_metric(node)
    if isinstance(node, (Binary, telemetry.Arithmetic)):
        return _of_binary(node)
    return _of_call(node) if isinstance(node, Call) else _over_time(node)


def _over_time(node: Any) -> tuple[float, float]:
    # What is bounded at every time is so over all of them.
    if isinstance(node, telemetry.Fold):
        return _bounds(node.array)
    if isinstance(node, telemetry.Constant):
        return _bounds(node.node)
    signed = isinstance(node, telemetry.Quantity) and node.name not in _unsigned()
    return _ANY if signed else _FROM_ZERO


def _of_metric(node: Lookup) -> tuple[float, float]:
    if node.steps[-1] not in _RATIOS or node.steps[-2] in COUNTERS:
        return _FROM_ZERO
    # Pantheon's counts what the path duplicated as received, but not as sent.
    return (-math.inf, 1.0) if "pantheon" in node.steps else _SHARE


@functools.cache
def _unsigned() -> frozenset[str]:
    """Quantities of flows that are no less than 0; what else a scheme shows is not told whether it can be."""
    signed = {entry["name"] for entry in telemetry.of_schemes() if entry["unit"] not in _UNSIGNED}
    of_schemes = {entry["name"] for entry in telemetry.of_schemes()} - signed
    return frozenset({*telemetry.RATES, *of_schemes, *(entry["name"] for entry in telemetry.of_transport())})


def _of_binary(node: Binary | telemetry.Arithmetic) -> tuple[float, float]:
    left, right = _bounds(node.left), _bounds(node.right)
    if node.operator == "+":
        return left[0] + right[0], left[1] + right[1]
    if node.operator == "-":
        return left[0] - right[1], left[1] - right[0]
    if node.operator == "*":
        return _multiplied(left, right)
    terms = _terms(node.right)
    if node.left in terms and all(_bounds(term)[0] >= 0 for term in terms):
        return _SHARE
    return _divided(left, right)


def _of_call(node: Call) -> tuple[float, float]:
    lows, highs = zip(*(_bounds(argument) for argument in node.arguments), strict=True)
    if node.function == DEFAULT:
        return min(lows), max(highs)
    if node.function == "abs":
        return max(lows[0], -highs[0], 0.0), max(-lows[0], highs[0])
    # The least or the most of several is also between the least and the most of their bounds.
    return FUNCTIONS[node.function](lows), FUNCTIONS[node.function](highs)


def _terms(node: Any) -> list[Any]:
    """The parts of a sum."""
    if isinstance(node, (Binary, telemetry.Arithmetic)) and node.operator == "+":
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _multiplied(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    # Nothing is infinite, however large: nought times it is nought.
    corners = [one * other if one and other else 0.0 for one in left for other in right]
    return min(corners), max(corners)


def _divided(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    if right[0] < 0:
        return _ANY
    inverse = (1 / right[1] if right[1] else math.inf, 1 / right[0] if right[0] else math.inf)
    return _multiplied(left, inverse)
