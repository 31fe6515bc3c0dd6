"""Where tables are printed."""

from __future__ import annotations

import sys

from rich.console import Console

PIPE_WIDTH = 10_000
"""As many columns as no table has: where no terminal limits lines, none is broken."""


def make_console() -> Console:
    """A console on stdout, with styles where it is a terminal; lines are not broken where it is not."""
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)
