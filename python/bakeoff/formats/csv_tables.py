"""The numbers of all runs as tables in CSV: `flows.csv`, `hops.csv`, and `probes.csv` where there are probes.

They are the numbers of `bakeoff report --json` under the same names; what stands in an object there has both names with
a dot between: `cell.scheme`, `pantheon.loss`. Flow 0 is all flows of a run together, as in the recordings.
What does not exist is empty.
"""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from bakeoff.formats.exported import make_folder
from bakeoff.metrics import summarise
from bakeoff.metrics.contract import run_to_json
from bakeoff.metrics.pantheon import PantheonMetrics
from bakeoff.recording import atomic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from bakeoff.recording import RunRecording

_OF_A_RUN = ("id", "cell", "repeat", "seed", "duration_s", "cpu_s")
# A run that Pantheon would have discarded has these columns too.
_PANTHEON = tuple(field.name for field in fields(PantheonMetrics))


def write(recordings: Iterable[RunRecording], folder: Path) -> Iterator[Path]:
    """Writes the tables of complete runs into a folder, and yields their paths.

    Raises:
        UserError: a table of a run is damaged.
    """
    runs = [run_to_json(summarise(recording)) for recording in recordings]
    make_folder(folder)
    for name in ("flows", "hops", "probes"):
        if rows := list(_rows(runs, name)):
            path = folder / f"{name}.csv"
            atomic.write_file(path, _encode(rows), writing="a table")
            yield path


def _rows(runs: Iterable[Mapping[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    for run in runs:
        of_run = _flat({"run" if key == "id" else key: run[key] for key in _OF_A_RUN})
        # The columns of a flow stand before those that only all flows together have.
        entries = [*run[name], *([{"flow": 0, **run["total"]}] if name == "flows" else ())]
        for entry in entries:
            yield of_run | _flat(entry)


def _flat(value: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, item in value.items():
        inner = dict.fromkeys(_PANTHEON) if key == "pantheon" and item is None else item
        flat |= _flat(inner, f"{above}{key}.") if isinstance(inner, dict) else {f"{above}{key}": inner}
    return flat


def _encode(rows: Sequence[Mapping[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, dict.fromkeys(column for row in rows for column in row), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue().encode()
