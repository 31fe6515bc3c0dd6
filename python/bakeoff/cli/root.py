"""The group of all commands, and the one sentence that every error becomes.

Nothing here or at the top of a command's file imports more than click, so that `--help` answers at once.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from bakeoff.errors import BakeoffError, Interrupted, UserError, reason

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

COMMANDS = ("run", "report", "compare", "export", "agree", "conformance", "list", "show", "check", "doctor", "kernel")

_NAMELESS = {errno.ENOENT: "the folder in which bakeoff was started"} | dict.fromkeys(
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO), "standard output"
)
_PACKAGE = Path(__file__).parents[1]
_EPILOG = """\b
Exit codes: 0 done, 1 a run failed, 2 the input is wrong, 130 interrupted.
Colours: off with NO_COLOR=1.
Completion for bash (or zsh, fish): eval "$(_BAKEOFF_COMPLETE=bash_source bakeoff)"
"""


class Root(click.Group):
    """The commands by name, and one sentence for every error."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click has it
        """Names of the commands, in the order in which a person meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, from its own file."""
        if cmd_name not in COMMANDS:
            near = click.UsageError(f'there is no command "{cmd_name}"; there are {", ".join(COMMANDS)}', ctx)
            raise near
        module = importlib.import_module(f"bakeoff.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def main(  # type: ignore[override] # the arguments that anything passes
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Runs a command line and exits with its code; see `click.Command.main`."""
        words = list(sys.argv[1:] if args is None else args)
        extra.setdefault("obj", words)
        if not standalone_mode:
            return super().main(words, prog_name, standalone_mode=False, **extra)
        if sys.stdout is None:
            # The next file to be opened would get its number.
            _end(UserError("standard output is closed, where results go; send it to a file, or to /dev/null"))
        try:
            result = super().main(words, prog_name, standalone_mode=False, **extra)
            sys.stdout.flush()
        except BaseException as error:  # noqa: BLE001 - the last place before a traceback
            _end(error)
        sys.exit(result if isinstance(result, int) else 0)


def _end(error: BaseException) -> NoReturn:
    """Says what went wrong, and exits."""
    if isinstance(error, SystemExit):
        raise error
    if isinstance(error, BrokenPipeError):
        # The reader of our output has left; Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    is_help = isinstance(error, click.exceptions.NoArgsIsHelpError)
    code, sentence = (2, str(error)) if is_help else _explain(error)
    # Where stderr is full or closed, the exit code has to say it alone.
    with contextlib.suppress(OSError):
        click.echo(sentence if is_help else f"bakeoff: {sentence}", err=True)
    if threading.active_count() > 1:
        # Threads of an interrupted or broken experiment may still be computing in the core; nothing waits for them.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def _explain(error: BaseException) -> tuple[int, str]:
    """Exit code and sentence of an error."""
    if isinstance(error, BakeoffError):
        return error.exit_code, str(error)
    if isinstance(error, click.NoSuchOption) and (key := _key_instead_of(error)):
        return 2, f"no such option '{error.option_name}'; it is a key of the experiment: --set {key}=VALUE"
    if isinstance(error, click.ClickException):
        # Click lists choices one a line.
        message = " ".join(error.format_message().split()).rstrip(".")
        message = (message[:1].lower() + message[1:]).replace("a valid integer range", "a whole number")
        message += _instead_of_more(error)
        context = error.ctx if isinstance(error, click.UsageError) else None
        return 2, f"{message}; see {context.command_path} --help" if context else message
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return Interrupted.exit_code, "interrupted"
    if isinstance(error, OSError):
        # All files have names, and what has no name has the system's own words.
        number = error.errno or 0
        where = error.filename or (_NAMELESS.get(number) if error.strerror == os.strerror(number) else None)
        return 1, f"{f'{where}: ' if where else ''}{reason(error)}"
    text = " ".join(str(error).split())
    return 1, f"internal error, a fault of bakeoff: {type(error).__name__} {_place(error.__traceback__)}: {text}"


def _instead_of_more(error: click.ClickException) -> str:
    """What to add about words that are too many, because an option takes one and somebody gave it several."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    words = context.obj if context and "unexpected extra" in error.message else []
    for option, value, extra in zip(words, words[1:], words[2:], strict=False):
        if option in {"--scheme", "--worlds"} and not Path(extra).is_file():
            return f"; separate names by commas and without spaces, as in {option} {value.rstrip(',')},{extra}"
        if option == "--set" and "=" in extra:
            return f"; repeat the option, as in --set {value} --set {extra}"
    return ""


def _key_instead_of(error: click.NoSuchOption) -> str | None:
    """The key that somebody took for an option, where a command has `--set`."""
    from bakeoff.experiment.keys import SHORT_WORDS  # noqa: PLC0415 - only for the message

    options = [option for known in (error.ctx.command.params if error.ctx else []) for option in known.opts]
    key = error.option_name.lstrip("-").replace("-", "_")
    return key if "--set" in options and key in {"duration", "seed", "start_jitter", *SHORT_WORDS} else None


def _place(trace: TracebackType | None) -> str:
    """The innermost line of ours."""
    place = "outside"
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(_PACKAGE):
            place = f"in {file.parent.name}/{file.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
@click.version_option(package_name="bakeoff", prog_name="bakeoff", message="%(prog)s %(version)s")
def main() -> None:
    """A laboratory for congestion control: one experiment file, one report.

    Begin with: bakeoff run pantheon/india-ppp0
    """
