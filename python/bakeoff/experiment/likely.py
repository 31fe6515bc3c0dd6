"""What somebody may have meant by a name that does not exist: by another spelling, by title, profile or a part."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_MOST = 6
_MOST_NAMES = 24
_LEAST_LIKENESS = 0.6


class Titled(Protocol):
    """A scheme or a queue, as far as names go."""

    @property
    def name(self) -> str:
        """By which experiment files know it."""

    @property
    def title(self) -> str:
        """As people call it."""

    @property
    def profiles(self) -> Collection[str]:
        """Names of its sets of parameters."""


def nearest(word: object, known: Iterable[str]) -> str:
    """What to say about a word that is none of those known: the nearest one, or all of them, or the first of many."""
    names = list(known)
    near = _near(word, names) if isinstance(word, str) else []
    if near:
        return f'did you mean "{near[0]}"?'
    if len(names) > _MOST_NAMES:
        return f"known are {', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES} more"
    return f"known are {', '.join(names)}" if names else "none is known"


def likely(word: str, names: Collection[str], entries: Collection[Titled]) -> str | None:
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


def _titled(entry: Titled) -> str:
    return f'"{entry.name}"' if "(" in entry.title else f'"{entry.name}" ({entry.title})'


def _near(word: str, names: Iterable[str]) -> list[str]:
    lower = {name.lower(): name for name in names}
    return [lower[near] for near in difflib.get_close_matches(word.lower(), lower, 1, _LEAST_LIKENESS)]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W_]+", text.lower().replace("+", "plus")))


def _plain(text: str) -> str:
    """Without what people write differently: capitals, and what stands between words."""
    return re.sub(r"[\W_]", "", text.lower().replace("+", "plus"))
