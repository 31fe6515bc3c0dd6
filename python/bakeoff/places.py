"""Where bakeoff keeps what outlives a command."""

from __future__ import annotations

import os
from pathlib import Path


def cache() -> Path:
    """The folder of bakeoff in the user's cache; it may not be there yet."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "bakeoff"
