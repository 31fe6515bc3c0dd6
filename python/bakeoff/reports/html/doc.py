"""The text of a suite (Markdown) as parts of the page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

# Headings of the text stand below a heading of the page.
_SHIFT = 2
_DIFFERENCES = re.compile(r"\bdiffer", re.IGNORECASE)


@dataclass(frozen=True)
class Doc:
    """A suite's text.

    Attributes:
        about: all but the part below; empty if there is none.
        differences: what differs from the published results and why: the section whose heading says so.
    """

    about: Markup
    differences: Markup


def render(text: str) -> Doc:
    """HTML of a Markdown text; HTML inside the text is shown, not used.

    The first heading is the title, which the page has already. A section runs to the next heading of its level.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        tokens = tokens[3:]
    start, stop = _section(tokens)
    about, differences = [*tokens[:start], *tokens[stop:]], tokens[start:stop][3:]
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + _SHIFT)}"

    def html(part: Sequence[Token]) -> Markup:
        # The renderer escapes text and drops raw HTML.
        return Markup(parser.renderer.render(part, parser.options, {}))  # noqa: S704

    return Doc(html(about), html(differences))


def _section(tokens: Sequence[Token]) -> tuple[int, int]:
    """Where the section about differences starts and stops; an empty range at the end if there is none."""
    for start, token in enumerate(tokens):
        if token.type == "heading_open" and _DIFFERENCES.search(tokens[start + 1].content):
            for stop in range(start + 1, len(tokens)):
                if tokens[stop].type == "heading_open" and tokens[stop].tag <= token.tag:
                    return start, stop
            return start, len(tokens)
    return len(tokens), len(tokens)
