"""Published results, to lay beside ours.

Read first: `load`. The numbers are facts copied from published reports; `data/README.md` says from which.
"""

from __future__ import annotations

import difflib

from bakeoff.errors import UserError
from bakeoff.references import bbr_loss, l4s_tests, pantheon
from bakeoff.references.model import Published, PublishedRun, PublishedScheme, Reference

__all__ = ["Published", "PublishedRun", "PublishedScheme", "Reference", "find", "load", "names"]

_LOADERS = (
    dict.fromkeys(pantheon.TITLES, pantheon.load)
    | dict.fromkeys(bbr_loss.TITLES, bbr_loss.load)
    | dict.fromkeys(l4s_tests.TITLES, l4s_tests.load)
)


def names() -> tuple[str, ...]:
    """The names of all references."""
    return tuple(_LOADERS)


def find(name: str | None) -> Reference | None:
    """As `load`, but None for a name that is no reference."""
    return load(name) if name in _LOADERS else None


def load(name: str) -> Reference:
    """Published results by name.

    Raises:
        UserError: there are none of that name.
    """
    if name not in _LOADERS:
        near = difflib.get_close_matches(name, _LOADERS, 1)
        hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(_LOADERS)}"
        raise UserError(f'"{name}" is not a published reference; {hint}')
    return _LOADERS[name](name)
