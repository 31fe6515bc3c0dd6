"""The collection: experiments (suites) and named paths that come with bakeoff, each a TOML file.

A suite `pantheon/india-ppp0` is `pantheon/india-ppp0.toml`, and its text `pantheon/india-ppp0.md`. The suites of a
folder are a family, `pantheon`, whose text, if it has one, is `pantheon/family.md`. A path is `paths/NAME.toml`.
"""

from __future__ import annotations

import re
from pathlib import Path

_FOLDER = Path(__file__).parent
_PATHS = "paths"


def names() -> list[str]:
    """Names of all suites, sorted; numbers in them by their value."""
    files = _FOLDER.glob("*/*.toml")
    found = (f"{file.parent.name}/{file.stem}" for file in files if file.parent.name != _PATHS)
    return sorted(found, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


def file(name: str) -> Path:
    """The experiment file of a suite; the name is one of `names()`."""
    return _FOLDER / f"{name}.toml"


def doc(name: str) -> str:
    """What a suite is and why its numbers are what they are, in Markdown; the name is one of `names()`."""
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8")


def families() -> dict[str, list[str]]:
    """Names of all families, and of the suites in each, sorted."""
    found: dict[str, list[str]] = {}
    for name in names():
        found.setdefault(name.partition("/")[0], []).append(name)
    return found


def family_doc(family: str) -> str:
    """What the suites of a family have in common, in Markdown; empty if there is no such text."""
    text = _FOLDER / family / "family.md"
    return text.read_text(encoding="utf-8") if text.is_file() else ""


def family_title(family: str) -> str:
    """The heading of the text of a family; its name if there is no text."""
    return family_doc(family).partition("\n")[0].removeprefix("# ") or family


def path_names() -> list[str]:
    """Names of all named paths, sorted."""
    return sorted(file.stem for file in (_FOLDER / _PATHS).glob("*.toml"))


def path_file(name: str) -> Path:
    """The file of a named path; the name is one of `path_names()`."""
    return _FOLDER / _PATHS / f"{name}.toml"
