"""What somebody may have meant by a name that does not exist: by another spelling, by title, profile or a part."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from bakeoff.experiment.catalogue import Entry

_MOST = 6
_LEAST_LIKENESS = 0.6


def likely(word: str, names: Collection[str], entries: Collection[Entry]) -> str | None:
    """The question whether one of these was meant; None if none is like the word.

    Args:
        word: what was written.
        names: everything that has a name.
        entries: those of them that have a title and perhaps profiles.
    """
    wanted, plain = _words(word), _plain(word)
    if not plain:
        return None
    having = [entry for entry in entries if any(_plain(profile) == plain for profile in entry.profiles)]
    found = (
        [f'"{name}"' for name in names if _plain(name) == plain]
        or [_titled(entry) for entry in entries if _plain(entry.title) == plain]
        or [_titled(entry) for entry in having]
        or [_titled(entry) for entry in entries if wanted <= _words(entry.title)]
        or [f'"{name}"' for name in dict.fromkeys([*(n for n in names if wanted <= _words(n)), *_near(word, names)])]
    )
    if not found:
        return None
    options = " or ".join(found)
    if len(found) > _MOST:
        options = f"one of {', '.join(found[:_MOST])} and {len(found) - _MOST} more"
    if having and found == [_titled(entry) for entry in having]:
        options += f", which {'has' if len(having) == 1 else 'have'} a profile of this name"
    return f"did you mean {options}?"


def _titled(entry: Entry) -> str:
    return f'"{entry.name}"' if "(" in entry.title else f'"{entry.name}" ({entry.title})'


def _near(word: str, names: Iterable[str]) -> list[str]:
    lower = {name.lower(): name for name in names}
    return [lower[near] for near in difflib.get_close_matches(word.lower(), lower, 1, _LEAST_LIKENESS)]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W_]+", text.lower().replace("+", "plus")))


def _plain(text: str) -> str:
    """Without what people write differently: capitals, and what stands between words."""
    return re.sub(r"[\W_]", "", text.lower().replace("+", "plus"))
