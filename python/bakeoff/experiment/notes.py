"""What a plan does that its author may not expect: sentences for stderr, none of which stops anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.experiment import keys, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bakeoff.experiment.cell import Cell
    from bakeoff.experiment.load import Experiment

_OF_SHORT_WORDS = {"rtt": "delay", "trace": "rate"}


def of_used_path(experiment: Experiment) -> list[str]:
    """A sentence on the keys of the file that stay in force on a path that the command line names in its place."""
    used = next((setting.value for setting in experiment.settings if setting.key == keys.USE), None)
    if used is None:
        return []
    changed = {_full_key(setting.key) for setting in experiment.settings}
    named, own = source.read_path(used), experiment.source.raw.get("path", {})
    kept = [
        full
        for direction in ("forward", "reverse")
        for index, hop in enumerate(own.get(direction, ()))
        for key, value in hop.items()
        if value != _at(named, direction, index).get(key) and (full := f"path.{direction}.{index}.{key}") not in changed
    ]
    sentence = f"{', '.join(kept)} of the file stay in force on {used}; remove them there to have that path as it is"
    return [sentence] if kept else []


def _full_key(key: str) -> str:
    word = keys.short_word(key)
    return f"path.forward.0.{_OF_SHORT_WORDS.get(word, word)}" if word else key


def _at(path: Mapping[str, Any], direction: str, index: int) -> Mapping[str, Any]:
    hops = path.get(direction, ())
    return hops[index] if index < len(hops) else {}


def of_replaced(experiment: Experiment) -> list[str]:
    """A sentence on each setting of the command line that some values of an axis replace."""
    return [
        f"{one.setting.origin} has no effect where {one.axis} is {' or '.join(one.labels)}, "
        "since the axis sets it there"
        for one in experiment.replaced
    ]


def of_queues(cells: Iterable[Cell]) -> list[str]:
    """A sentence on each hop that data goes over at a rate, and for whose queue nobody has stated a limit.

    Args:
        cells: those that run.
    """
    return list(dict.fromkeys(sentence for cell in cells for sentence in _of_cell(cell)))


def _of_cell(cell: Cell) -> Iterator[str]:
    path = cell.model.path
    of_data = {flow.direction for flow in cell.model.flow}
    for direction, hops in (("forward", path.forward), ("reverse", path.reverse or ())):
        for index, hop in enumerate(hops if direction in of_data else ()):
            if hop.queue.kind == "fifo" and hop.queue.limit is None and hop.rate != "unlimited":
                limit = f"path.{direction}.{index}.queue.limit"
                yield (
                    f"{direction}.{index} has a queue without limit, in which packets may wait for seconds; set one, "
                    f'as in queue = {{ limit = "1bdp" }} or --set {limit}=1bdp; "infinite" says that none is meant'
                )
