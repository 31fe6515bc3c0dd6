"""Published results, to lay beside ours.

Read first: `load`. The numbers are facts copied from published reports; `data/README.md` says from which.
"""

from bakeoff.references.pantheon import (
    Published,
    PublishedRun,
    PublishedScheme,
    Reference,
    find,
    load,
    names,
)

__all__ = ["Published", "PublishedRun", "PublishedScheme", "Reference", "find", "load", "names"]
