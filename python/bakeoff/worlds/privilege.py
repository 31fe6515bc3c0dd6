"""What the emulated world needs of this machine: the rights, the devices, and the machine for itself."""

from __future__ import annotations

import fcntl
import os
import platform
import tempfile
from pathlib import Path

from bakeoff.errors import RunFailed, UserError

TUN = Path("/dev/net/tun")
_RUN = Path("/run")
_NOBODY = 65534
# Linux include/uapi/linux/capability.h.
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
_LOCK = "bakeoff-emu.lock"

_held: list[int] = []


def check() -> None:
    """Checks that this user and machine can emulate.

    Raises:
        RunFailed: not so; the message says what to do.
    """
    if platform.system() != "Linux":
        raise RunFailed("the emu world needs Linux; --world sim runs everywhere")
    if os.geteuid() != 0:
        raise RunFailed(
            "the emu world makes network namespaces and TUN devices, which takes root: "
            "run it with sudo (senders get your own rights back), or use --world sim"
        )
    if missing := [name for name, bit in _CAPABILITIES.items() if not _effective() >> bit & 1]:
        raise RunFailed(
            f"the emu world needs the capabilities {' and '.join(missing)}, which root lacks here: "
            "give them to the container, or use --world sim"
        )
    if not TUN.is_char_device():
        raise RunFailed(f"the emu world needs {TUN}, which is missing: modprobe tun, or let the container have it")


def _effective() -> int:
    """The capabilities of this process as a bit mask."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), 16)


def take_machine() -> None:
    """Keeps other emulated experiments off this machine until this process ends.

    Raises:
        RunFailed: another one is under way.
    """
    if _held:
        return
    folder = _RUN if os.access(_RUN, os.W_OK) else Path(tempfile.gettempdir())
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise RunFailed(
            "another emulated experiment is under way on this machine, and the two would disturb each other: "
            "wait for it to end"
        ) from None
    _held.append(lock)


def ordinary() -> tuple[int, int]:
    """User and group that programs of others run as: who called sudo, or nobody.

    Raises:
        UserError: the variables that sudo sets are no numbers.
    """
    user, group = map(_caller, ("SUDO_UID", "SUDO_GID"))
    return user or _NOBODY, group or _NOBODY


def _caller(name: str) -> int:
    number = os.environ.get(name) or "0"
    if not (number.isascii() and number.isdigit()):
        raise UserError(f"the environment's {name} is {number!r}, no number; call bakeoff by sudo, or unset it")
    return int(number)


def environment() -> dict[str, str]:
    """The variables of the emulator: none but who called sudo, whose rights the senders get."""
    known = {name: os.environ[name] for name in ("SUDO_UID", "SUDO_GID") if name in os.environ}
    return {"PATH": os.environ.get("PATH", os.defpath), **known}
