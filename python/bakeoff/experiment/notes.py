"""What a plan does that its author may not expect: sentences for stderr, none of which stops anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bakeoff.experiment.load import Cell


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
