"""Where results go that nobody gave a folder to: one for each command, and a link to the latest."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from bakeoff.errors import UserError
from bakeoff.recording import atomic

LATEST = "latest"
BASE = Path("results")


def latest_link(name: str, *, kind: str = "") -> Path:
    """The link to the latest folder of an experiment, whether it is there or not; see `new_folder`."""
    return BASE / name / f"{LATEST}{kind}"


def new_folder(name: str, *, kind: str = "") -> Path:
    """Makes a fresh folder `results/<name>/<UTC time><kind>`, and `latest<kind>` beside it to point there.

    Args:
        name: name of the experiment; slashes make sub-folders.
        kind: ends the names of folders that hold something else than the runs of one world, as in "-agree".

    Raises:
        UserError: the folder cannot be made.
    """
    parent, latest = BASE / name, latest_link(name, kind=kind)
    stamp = datetime.now(tz=UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    path = parent / f"{stamp}{kind}"
    with atomic.explained(parent, writing="the result folder"):
        if latest.exists() and not latest.is_symlink():
            raise UserError(f"{latest}: is no link, so it is not replaced; rename it, or name a folder with --out")
        parent.mkdir(parents=True, exist_ok=True)
        number = 2
        while True:
            try:
                path.mkdir()
                break
            except FileExistsError:
                path = parent / f"{stamp}-{number}{kind}"
                number += 1
        link = parent / f"{atomic.TEMPORARY_PREFIX}{path.name}"
        link.symlink_to(path.name, target_is_directory=True)
        link.replace(latest)
    return path


def latest_folder(name: str, *, kind: str = "") -> Path | None:
    """The latest folder of an experiment, or None; see `new_folder`."""
    link = latest_link(name, kind=kind)
    return link.resolve() if link.is_dir() else None
