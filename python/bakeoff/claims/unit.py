"""The unit of a measure, and whether it is a count, as far as they follow from the quantities in it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from bakeoff.claims import telemetry
from bakeoff.claims.tree import COUNTERS, Binary, Call, Lookup, Number

if TYPE_CHECKING:
    from bakeoff.claims.tree import Measure

_COUNTS = ("ce_marks", "retransmits", "timeouts")
_SUFFIXES = {"_mbps": "Mbit/s", "_ms": "ms", "_s": "s", "_packets": "packets", "_bytes": "bytes"}


def unit_of(measure: Measure) -> str:
    """The unit, or "" for a pure number, a count, and whatever no single unit is known for."""
    return "" if measure.beside is not None else _unit(measure.root)


def is_count(measure: Measure) -> bool:
    """Whether it is a whole number in every run, of packets, marks, bytes, or times that something happened."""
    return measure.beside is None and _is_count(measure.root)


def _is_count(node: Any) -> bool:
    if isinstance(node, Number):
        return float(node.value).is_integer()
    if isinstance(node, Lookup):
        name = node.steps[-1]
        return name in _COUNTS or name.endswith(("_packets", "_bytes")) or node.steps[-2] in COUNTERS
    if isinstance(node, Binary):
        return node.operator != "/" and _is_count(node.left) and _is_count(node.right)
    if isinstance(node, Call):
        return all(_is_count(argument) for argument in node.arguments)
    return isinstance(node, telemetry.Spells) and node.kind == "spells"


def _unit(node: Any) -> str:
    """The unit of a part; "" of a number, which in a sum takes that of its neighbour."""
    if isinstance(node, (Binary, telemetry.Arithmetic)):
        # A number that multiplies or divides may have a unit of its own, as the rate of the link in a utilisation.
        return _common([_unit(node.left), _unit(node.right)]) if node.operator in "+-" else ""
    if isinstance(node, Call):
        return _common([_unit(argument) for argument in node.arguments])
    if isinstance(node, telemetry.Fold):
        return _unit(node.array)
    if isinstance(node, telemetry.Constant):
        return _unit(node.node)
    return _quantity(node)


def _quantity(node: Any) -> str:
    if isinstance(node, Lookup):
        return _of_name(node.steps[-1])
    if isinstance(node, telemetry.Quantity):
        return _of_name(node.name) if node.name in telemetry.RATES else _telemetry().get(node.name, "")
    if isinstance(node, telemetry.Spells):
        return "" if node.kind == "spells" else "s"
    return "s" if isinstance(node, telemetry.Time) else ""


def _of_name(metric: str) -> str:
    return next((unit for suffix, unit in _SUFFIXES.items() if metric.endswith(suffix)), "")


def _common(units: list[str]) -> str:
    known = {unit for unit in units if unit}
    return known.pop() if len(known) == 1 else ""


@functools.cache
def _telemetry() -> dict[str, str]:
    """The unit of each quantity of senders."""
    return {entry["name"]: entry["unit"] for entry in (*telemetry.of_transport(), *telemetry.of_schemes())}
