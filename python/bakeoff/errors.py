"""The errors that a person is meant to read: one sentence each, and an exit code.

Everything else that is raised is a fault of ours.
"""

from __future__ import annotations


class BakeoffError(Exception):
    """An error whose message is one sentence for the person at the keyboard.

    Args:
        message: the sentence; it may quote the input, whose control characters never reach a terminal. Or such an
            error: what carries one from another process may raise it anew from itself, as Gymnasium does.

    Attributes:
        exit_code: what the command line exits with.
    """

    exit_code = 1

    def __init__(self, message: str | BakeoffError) -> None:
        super().__init__("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(message)))


class UserError(BakeoffError):
    """The input is wrong: the message names it, says what is wrong, and what would be right."""

    exit_code = 2


class Interrupted(BakeoffError):  # noqa: N818 - what happened
    """The user asked to stop, by Ctrl-C or another signal; the message says what is kept."""

    exit_code = 130  # 128 and the number of SIGINT, as a shell has it


class RunFailed(BakeoffError):  # noqa: N818 - what happened, in the words of the report
    """The input is sound, and what was asked for could not be done."""


def reason(error: Exception) -> str:
    """What the system says about an error, to stand inside a sentence; names in it stay as they are."""
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
