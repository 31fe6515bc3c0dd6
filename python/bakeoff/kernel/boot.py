"""Boots a kernel once, in virtual time, to see that it works."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import tempfile
from pathlib import Path

from bakeoff.errors import RunFailed
from bakeoff.kernel.command import run

GREETING = "bakeoff-guest"
_CPU_LIMIT_S = 60
_WALL_LIMIT_S = 120
_LAST_LINES = 3

# The guest's first and only program: it says which kernel it runs on and switches the machine off.
_INIT = f"""\
#include <stdio.h>
#include <sys/reboot.h>
#include <sys/utsname.h>

int main(void)
{{
    struct utsname system;
    uname(&system);
    printf("{GREETING} %s %s\\n", system.release, system.version);
    fflush(stdout);
    reboot(RB_POWER_OFF);
    return 1;
}}
"""


def arguments(root: Path, seed: int = 1) -> list[str]:
    """The guest's command line. It feeds the guest's random numbers, so only `seed` may differ between boots."""
    return [
        "mem=64M",
        "root=none",
        "rootfstype=hostfs",
        f"rootflags={root}",
        "init=/init",
        "con=null",
        "con0=fd:0,fd:1",
        "quiet",
        "norandmaps",
        "umid=bakeoff",
        "time-travel=inf-cpu",
        "time-travel-start=1700000000000000000",
        "seccomp=on",
        f"seed={seed}",
    ]


def verify(kernel: Path) -> str:
    """Boots a kernel with a one-line guest and returns that line.

    Raises:
        RunFailed: the guest does not come up; the last lines of its console are quoted.
    """
    with tempfile.TemporaryDirectory(prefix="bakeoff-guest-") as name:
        scratch = Path(name)
        root = scratch / "root"
        root.mkdir()
        source = scratch / "init.c"
        source.write_text(_INIT, encoding="utf-8")
        failing = "the guest's first program cannot be compiled"
        run(["gcc", "-static", "-O1", "-o", str(root / "init"), str(source)], cwd=scratch, failing=failing)
        console = _boot(kernel, arguments(root), scratch)
    greeting = re.search(rf"^{GREETING} (.+?)\s*$", console, re.MULTILINE)
    if greeting is None:
        last = " / ".join(console.strip().splitlines()[-_LAST_LINES:]) or "it printed nothing"
        raise RunFailed(f"{kernel}: the kernel does not boot: {last}")
    return greeting[1]


def _boot(kernel: Path, words: list[str], scratch: Path) -> str:
    """Runs a guest within limits of CPU and wall time, and leaves no process behind."""
    command = ["setarch", "-R", str(kernel), *words]
    environment = {"HOME": str(scratch), "PATH": "/usr/bin:/bin", "TMPDIR": str(scratch)}
    with subprocess.Popen(  # noqa: S603 - our own words, no shell
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        preexec_fn=_limit_cpu,  # noqa: PLW1509 - no threads run here
    ) as process:
        try:
            console, _ = process.communicate(timeout=_WALL_LIMIT_S)
        except subprocess.TimeoutExpired:
            _kill(process)
            console, _ = process.communicate()
            console += f"\nstopped after {_WALL_LIMIT_S} s"
        finally:
            _kill(process)
    return console


def _limit_cpu() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_LIMIT_S, _CPU_LIMIT_S))


def _kill(process: subprocess.Popen[str]) -> None:
    """Ends every process of the guest, which is a session of its own."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
