"""`python -m bakeoff`, and the command that an installation makes of it."""

import _signal as signal  # type: ignore[import-not-found] # what `signal` itself imports takes long already


def main() -> None:
    """Runs the command line of this process, and exits with its code."""
    # Until there is something to put in order, Ctrl-C ends the process as the system does: at once and without a word.
    asks = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if asks:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from bakeoff.cli import main as command_line  # noqa: PLC0415

    if asks:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command_line(prog_name="bakeoff")


if __name__ == "__main__":
    main()
