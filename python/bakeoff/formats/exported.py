"""What the writers of exports share: whether a run recorded what they need, and the folder that they write into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bakeoff.errors import UserError
from bakeoff.recording import atomic

if TYPE_CHECKING:
    from pathlib import Path

    from bakeoff.recording import RunRecording


def check_recorded(recording: RunRecording, table: str, *, level: str, why: str) -> None:
    """Refuses a run that did not record a table.

    Args:
        recording: a complete run.
        table: name of the table.
        level: the level at which it is recorded.
        why: what it is needed for, as a clause.

    Raises:
        UserError: it did not.
    """
    if not recording.has(table):
        sentence = f'recorded at level "{recording.level}", and {why}; run it again with --set record.level={level}'
        raise UserError(f"{recording.id}: {sentence}")


def make_folder(folder: Path) -> None:
    """Makes the folder of the files, if it is not there yet.

    Raises:
        RunFailed, UserError: it cannot be made.
    """
    with atomic.explained(folder, writing="the folder of the files"):
        folder.mkdir(parents=True, exist_ok=True)
