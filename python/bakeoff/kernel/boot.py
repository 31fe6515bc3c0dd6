"""Boots a kernel to see that it works: that it comes up, that its time is virtual, and that it is deterministic."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bakeoff import children
from bakeoff.errors import RunFailed
from bakeoff.kernel.command import environment, output, run, started

if TYPE_CHECKING:
    from pathlib import Path

GREETING = "bakeoff-guest"
CPU_LIMIT_S = 60
WALL_LIMIT_S = 120
_SLEEP_S = 3600
_START_NS = 1_700_000_000_000_000_000
_LAST_LINES = 3
_FIELDS = 3

# The guest's first and only program: it sleeps for an hour, which must pass at once, says which kernel it is, shows a
# random number, which must be the same in every boot, and switches the machine off.
_INIT = f"""\
#include <stdio.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

int main(void)
{{
    struct utsname system;
    struct timespec begin, end;
    unsigned long long number = 0;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    sleep({_SLEEP_S});
    clock_gettime(CLOCK_MONOTONIC, &end);
    uname(&system);
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return 1;
    printf("{GREETING}\\t%s %s\\t%lld\\t%016llx\\n", system.release, system.version,
           (long long)(end.tv_sec - begin.tv_sec), number);
    fflush(stdout);
    reboot(RB_POWER_OFF);
    return 1;
}}
"""


def arguments(root: str, memory: str, seed: int) -> list[str]:
    """The command line of a guest in virtual time.

    All of it feeds the guest's random numbers: of two boots that are to be alike nothing may differ.

    Args:
        root: the guest's disk, a folder with the program `init`.
        memory: in bytes, or with a unit.
        seed: fixes the random numbers.
    """
    return [
        f"mem={memory}",
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
        f"time-travel-start={_START_NS}",
        "seccomp=on",
        f"seed={seed}",
    ]


def verify(kernel: Path, work: Path) -> str:
    """Boots a kernel twice, with a guest that says one line.

    Args:
        kernel: the program.
        work: a folder to work in.

    Returns:
        What the kernel says of itself: release, version and date of the build.

    Raises:
        RunFailed: it does not come up, its time is not virtual, or the two boots differ.
    """
    root = work / "root"
    root.mkdir()
    program = work / "init.c"
    program.write_text(_INIT, encoding="utf-8")
    words = ["gcc", "-static", "-O1", "-o", str(root / "init"), str(program)]
    failing = "the guest's first program cannot be compiled"
    run(words, cwd=work, failing=failing, environment=environment(work))
    banner, slept_s, number = _greeting(_boot(kernel, root, work))
    again = _greeting(_boot(kernel, root, work))
    if int(slept_s) != _SLEEP_S:
        raise RunFailed(f"{kernel.name}: its time is not virtual: of an hour's sleep, {slept_s} s passed")
    if again != (banner, slept_s, number):
        raise RunFailed(f"{kernel.name}: two boots differ ({number} and {again[2]}), so it is not deterministic")
    return banner


def _greeting(console: str) -> tuple[str, str, str]:
    """The fields of the line that the guest says.

    Raises:
        RunFailed: it does not say it; the last lines of its console are quoted.
    """
    lines = [line.strip() for line in console.splitlines() if line.strip()]
    for line in lines:
        word, *fields = line.split("\t")
        if word == GREETING and len(fields) == _FIELDS:
            return fields[0], fields[1], fields[2]
    raise RunFailed(f"the kernel does not boot: {' / '.join(lines[-_LAST_LINES:]) or 'it prints nothing'}")


def _boot(kernel: Path, root: Path, work: Path) -> str:
    """Runs a guest within limits of CPU and wall time, leaves no process behind, and returns what it printed."""
    guest = arguments(str(root), "64M", seed=1)
    words = ["prlimit", f"--cpu={CPU_LIMIT_S}", "--core=0", "setarch", "-R", str(kernel), *guest]
    variables = {**environment(work), "PATH": os.defpath}
    failing = "the kernel does not boot"
    with (
        started(words, cwd=work, failing=failing, environment=variables) as process,
        children.limited(process, WALL_LIMIT_S) as hung,
    ):
        console = output(process)
    return f"{console}\nstopped after {WALL_LIMIT_S} s" if hung.is_set() else console
