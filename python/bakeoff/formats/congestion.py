"""Statistics of congestion as JSON, one file a run: `bakeoff.metrics.congestion` says what is in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import bakeoff
from bakeoff.errors import UserError
from bakeoff.formats.exported import check_recorded, make_folder
from bakeoff.metrics import congestion
from bakeoff.recording import atomic
from bakeoff.recording.manifest import encode_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bakeoff.recording import RunRecording


def write(recording: RunRecording, experiment: str, folder: Path) -> Iterator[Path]:
    """Writes the file of a run into a folder, and yields its path.

    Raises:
        UserError: the run did not record packets, none of its flows can be read, or a table of it is damaged.
    """
    check_recorded(recording, "passages", level="packets", why="this needs every packet at every hop")
    flows = congestion.of_run(recording)
    if not flows:
        raise UserError(
            f"{recording.id}: no flow has headers that can be read, as those of quinn and of other programs' datagrams "
            "cannot; export it as pcapng or flent"
        )
    make_folder(folder)
    content = {
        "bakeoff": bakeoff.__version__,
        "experiment": experiment,
        "run": recording.id,
        "cell": recording.manifest.cell,
        "flows": [asdict(flow) for flow in flows],
    }
    path = folder / f"{recording.id}.json"
    atomic.write_file(path, encode_json(content), writing="the statistics")
    yield path
