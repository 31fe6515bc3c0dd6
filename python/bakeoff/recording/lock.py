"""One writer at a time: a lock that ends with its process, however that ends."""

from __future__ import annotations

import contextlib
import fcntl
from typing import TYPE_CHECKING

from bakeoff.errors import UserError
from bakeoff.recording.atomic import explained

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def held(file: Path) -> Iterator[None]:
    """Holds the lock of a file, which is made if it is not there.

    Raises:
        UserError: another process holds it, or the file cannot be written.
    """
    with contextlib.ExitStack() as stack:
        with explained(file, writing="the lock"):
            # Network file systems lock only what is open for writing.
            opened = stack.enter_context(file.open("ab"))
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                place = file.parent
                sentence = f"{place}: another bakeoff is running in this folder; wait for it, or choose another --out"
                raise UserError(sentence) from error
        yield
