"""Words of the measure and expectation languages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

MAX_LENGTH = 500

Kind = Literal["number", "name", "string", "symbol", "end"]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<string>"[^"\n]*")
      | (?P<symbol>\+-|±|>=|<=|==|!=|[-+*/()\[\].,<>%])
    )""",
    re.VERBOSE | re.ASCII,
)


class ClaimSyntaxError(ValueError):
    """A measure or an expectation that cannot be understood; the message is a clause that quotes it."""


@dataclass(frozen=True)
class Token:
    """One word.

    Attributes:
        kind: what it is.
        text: as written; a string without its quotes.
    """

    kind: Kind
    text: str

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f'"{self.text}"'


class Reader:
    """A cursor over the words of a text."""

    def __init__(self, text: str, subject: str) -> None:
        self._text = text
        self._subject = subject
        if len(text) > MAX_LENGTH:
            raise self.error(f"longer than {MAX_LENGTH} characters")
        self._tokens = self._split()
        self._position = 0

    def _split(self) -> list[Token]:
        tokens: list[Token] = []
        position, end = 0, len(self._text.rstrip())
        while position < end:
            match = _TOKEN.match(self._text, position)
            if match is None:
                raise self.error(f'"{self._text[position:].strip()[:1]}" has no meaning here')
            kind = cast("Kind", match.lastgroup)
            word = match[kind]
            tokens.append(Token(kind, word[1:-1] if kind == "string" else word))
            position = match.end()
        return [*tokens, Token("end", "")]

    def error(self, problem: str) -> ClaimSyntaxError:
        """An error about the text."""
        shown = self._text if len(self._text) <= 80 else f"{self._text[:77]}..."
        return ClaimSyntaxError(f'{self._subject} "{shown}": {problem}')

    @property
    def next(self) -> Token:
        """The word under the cursor."""
        return self._tokens[self._position]

    def take(self) -> Token:
        """The word under the cursor, which moves on."""
        token = self.next
        if token.kind != "end":
            self._position += 1
        return token

    def accept(self, *symbols: str) -> str | None:
        """The symbol under the cursor, if it is one of these; the cursor moves on then."""
        if self.next.kind == "symbol" and self.next.text in symbols:
            return self.take().text
        return None

    def accept_word(self, word: str) -> bool:
        """Whether this word is under the cursor, which moves on then."""
        if (self.next.kind, self.next.text) != ("name", word):
            return False
        self.take()
        return True

    def expect(self, symbol: str) -> None:
        """Steps over a symbol that must be there."""
        if self.accept(symbol) is None:
            raise self.error(f'expected "{symbol}" and found {self.next}')

    def finish(self) -> None:
        """Checks that nothing is left."""
        if self.next.kind != "end":
            raise self.error(f"{self.next} is one word too many")
