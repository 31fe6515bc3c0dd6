"""Keys that are set twice in one cell, so that an axis or a setting of the command line is not what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.errors import UserError
from bakeoff.experiment import keys
from bakeoff.experiment.units import is_queue_kind, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bakeoff.experiment.keys import Setting


@dataclass(frozen=True)
class Touch:
    """A key that was set in a cell.

    Attributes:
        key: the full key.
        setting: what set it.
        axis: whose value that is; None: the command line's.
    """

    key: str
    setting: Setting
    axis: str | None


def check_axes(touched: Sequence[Touch], name: str) -> None:
    """Finds two axes of which one replaces what the other has set.

    Args:
        touched: what was set in a cell, in order.
        name: name of the file.

    Raises:
        UserError: there are such axes.
    """
    of_axes = [touch for touch in touched if touch.axis is not None]
    pairs = [
        (earlier, later)
        for index, later in enumerate(of_axes)
        for earlier in of_axes[:index]
        if earlier.axis != later.axis and _replaces(later, earlier)
    ]
    replaced = [earlier for earlier, _ in pairs]
    # The scheme is that of flows that name none: it is what it says as long as there is one.
    fills = any(touch.setting.key == "scheme" and touch not in replaced for touch in of_axes)
    for earlier, later in pairs:
        if not (fills and earlier.setting.key == "scheme"):
            axes = f"{shown(earlier.axis)} and {shown(later.axis)}"
            raise UserError(f"{name}: matrix: the axes {axes} both set {later.key}; keep one of them")


def check_settings(touched: Sequence[Touch]) -> None:
    """Finds a setting of the command line of which later ones leave nothing.

    Args:
        touched: what was set in a cell, in order.

    Raises:
        UserError: there is such a setting.
    """
    own = [touch for touch in touched if touch.axis is None]
    replaced = {
        id(earlier): later for index, later in enumerate(own) for earlier in own[:index] if _replaces(later, earlier)
    }
    kept = {id(touch.setting) for touch in own if id(touch) not in replaced}
    for touch in own:
        if id(touch.setting) not in kept:
            later = replaced[id(touch)]
            raise later.setting.fail(f"{touch.key} was set by {touch.setting.origin} already; keep one of them")


def without_effect(touched: Sequence[Touch], axis: str) -> list[Setting]:
    """The settings of the command line of which an axis leaves nothing.

    Args:
        touched: what was set in a cell, in order.
        axis: name of the axis.
    """
    of_axis = [touch for touch in touched if touch.axis == axis]
    own = [touch for touch in touched if touch.axis is None]
    kept = [touch.setting for touch in own if not any(_replaces_all(later, touch) for later in of_axis)]
    return [touch.setting for touch in own if not any(touch.setting is setting for setting in kept)]


def _replaces_all(later: Touch, earlier: Touch) -> bool:
    tables = isinstance(earlier.setting.value, (dict, list))
    return _covers(later.key, earlier.key) or (not tables and _covers(earlier.key, later.key))


def _replaces(later: Touch, earlier: Touch) -> bool:
    if _covers(later.key, earlier.key):
        # An RTT has no delay in the hops behind the first, and an axis may add some there.
        return keys.short_word(earlier.setting.key) != "rtt" or earlier.key.endswith(".0.delay")
    return _covers(earlier.key, later.key) and _holds(earlier.setting.value, earlier.key, later.key)


def _covers(above: str, below: str) -> bool:
    return f"{below}.".startswith(f"{above}.")


def _holds(value: Any, key: str, below: str) -> bool:
    """Whether a value has something in the place of a key below its own."""
    for word in below.removeprefix(key).split(".")[1:]:
        if key.endswith(".queue") and is_queue_kind(value):
            value = {"kind": value}
        if isinstance(value, list):
            place = int(word) - (1 if key in keys.COUNTED_FROM_ONE else 0)
            if place >= len(value):
                return False
            value = value[place]
        elif not isinstance(value, dict):
            return True
        elif word in value:
            value = value[word]
        else:
            return word in keys.RATE_FORMS and key.endswith(".rate")
        key = f"{key}.{word}"
    return True
