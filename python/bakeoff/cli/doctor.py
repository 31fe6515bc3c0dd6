"""`bakeoff doctor`: whether this machine has what it takes."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from bakeoff import machine
from bakeoff.cli import arguments
from bakeoff.cli.output import amount_of_bytes, print_json, print_table, say

PACKAGES = ("click", "jinja2", "numpy", "polars", "pydantic", "rich")
_LOW_DISK_BYTES = 10**9


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        subject: what.
        fine: whether it is as it should be.
        text: what was found, and what to do if it is not fine.
        is_there: whether it can be used; a world may be missing where nobody wants it, and all is fine.
    """

    subject: str
    fine: bool
    text: str
    is_there: bool = True


def examine() -> list[Finding]:
    """Looks at Python, the core, the packages, the machine, and what the linux and the emu world need."""
    machine = [_processors(), _memory(), _disk()]
    return [_python(), _core(), *map(_package, PACKAGES), *machine, _linux_world(), _emu_world()]


def _python() -> Finding:
    fine = sys.version_info >= (3, 11)
    return Finding(
        subject="python", fine=fine, text=platform.python_version() + ("" if fine else "; 3.11 or newer is needed")
    )


def _core() -> Finding:
    try:
        from bakeoff import _core  # noqa: PLC0415 - it may be missing, which is what is asked

        return Finding(subject="core", fine=True, text=_core.version())
    except ImportError as error:
        return Finding(
            subject="core", fine=False, text=f"cannot be loaded ({error}); start ./bakeoff once to compile it"
        )


def _package(name: str) -> Finding:
    from importlib import metadata  # noqa: PLC0415 - slow to load

    try:
        return Finding(subject=name, fine=True, text=metadata.version(name))
    except metadata.PackageNotFoundError:
        return Finding(subject=name, fine=False, text="is missing; start ./bakeoff once to install it")


def _processors() -> Finding:
    return Finding(subject="processors", fine=True, text=f"{machine.processors()}, {platform.machine()}")


def _memory() -> Finding:
    return Finding(subject="memory", fine=True, text=amount_of_bytes(machine.memory_bytes()))


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    writable = os.access(Path.cwd(), os.W_OK)
    text = f"{amount_of_bytes(free)} free here"
    if not writable:
        text += "; this folder is not writable: choose another with --out"
    elif free < _LOW_DISK_BYTES:
        text += "; recordings of packets need more: choose another folder with --out"
    return Finding(subject="disk", fine=writable and free >= _LOW_DISK_BYTES, text=text)


def _linux_world() -> Finding:
    from bakeoff.errors import RunFailed  # noqa: PLC0415 - only this command needs them
    from bakeoff.kernel import cache  # noqa: PLC0415
    from bakeoff.worlds import guest  # noqa: PLC0415

    try:
        kernel = cache.default()
    except RunFailed as error:
        # Only this world needs a kernel, and only whoever wants it.
        return Finding(subject="linux world", fine=True, text=str(error), is_there=False)
    try:
        guest.check_tools()
    except RunFailed as error:
        return Finding(subject="linux world", fine=False, text=str(error))
    return Finding(subject="linux world", fine=True, text=f"kernel {kernel.name}; {', '.join(guest.TOOLS)}")


def _emu_world() -> Finding:
    from bakeoff.errors import RunFailed  # noqa: PLC0415 - only this command needs them
    from bakeoff.worlds import capacity, emu  # noqa: PLC0415

    try:
        emu.prepare()
        say("measuring what the emu world carries here, for ten to twenty seconds ...")
        carried = capacity.measure(emu.execute)
    except RunFailed as error:
        # Only this world needs it, and only whoever wants it.
        return Finding(subject="emu world", fine=True, text=str(error), is_there=False)
    if carried is None:
        return Finding(
            subject="emu world", fine=False, text="packets are too late for real time; end other programs and try again"
        )
    text = (
        f"carries {capacity.rate_of(carried.packets_per_second)}, merged "
        f"{capacity.rate_of(carried.merged_packets_per_second)}; one packet in a hundred later than "
        f"{carried.late_ns / 1e6:.2f} ms"
    )
    return Finding(subject="emu world", fine=True, text=text)


def _mark(finding: Finding) -> str:
    if not finding.fine:
        return "!!"
    return "ok" if finding.is_there else "--"


def _clean() -> int:
    from bakeoff.worlds import emu  # noqa: PLC0415 - only this command needs it

    removed = emu.clean()
    for what in removed:
        say(f"removed {what}")
    if not removed:
        say("nothing of bakeoff is left over")
    return 0


@click.command("doctor")
@click.option("--clean", is_flag=True, help="Remove what killed processes of bakeoff have left, and do nothing else.")
@arguments.json_option
def command(*, clean: bool, as_json: bool) -> int:
    """Check whether this machine has what bakeoff needs."""
    if clean:
        return _clean()
    findings = examine()
    if as_json:
        print_json([vars(finding) for finding in findings])
    else:
        print_table(
            ["", "what", "found"],
            [[_mark(finding), finding.subject, finding.text] for finding in findings],
        )
    return 0 if all(finding.fine for finding in findings) else 1
