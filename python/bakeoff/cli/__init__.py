"""The command line: one file per command, loaded when it is named. Data goes to stdout, talk to stderr."""

from bakeoff.cli.root import COMMANDS, main

__all__ = ["COMMANDS", "main"]
