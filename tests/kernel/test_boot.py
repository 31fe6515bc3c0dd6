"""Booting, with programs that pretend to be a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import RunFailed
from bakeoff.kernel import boot

if TYPE_CHECKING:
    from pathlib import Path

GREETING = "bakeoff-guest\\t7.3.4 #1\\t3600\\tcafe\\n"


def pretend(folder: Path, script: str) -> Path:
    """A kernel that is a shell script."""
    kernel = folder / "linux"
    kernel.write_text(f"#!/bin/sh\n{script}\n")
    kernel.chmod(0o755)
    return kernel


def test_a_kernel_that_greets_twice_alike_is_good(tmp_path: Path) -> None:
    assert boot.verify(pretend(tmp_path, f"printf '{GREETING}'"), tmp_path) == "7.3.4 #1"


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("exit 1", "the kernel does not boot: it prints nothing"),
        ("for i in 1 2 3 4; do echo line $i; done", r"the kernel does not boot: line 2 / line 3 / line 4$"),
        ("echo 'Kernel panic - not syncing'; kill -9 $$", r"does not boot: Kernel panic - not syncing$"),
        (f"printf '{GREETING}' | sed s/3600/0/", "its time is not virtual: of an hour's sleep, 0 s passed"),
        (f"printf '{GREETING}' | sed s/cafe/$$/", "two boots differ"),
    ],
)
def test_a_bad_kernel_is_one_sentence(tmp_path: Path, script: str, sentence: str) -> None:
    with pytest.raises(RunFailed, match=sentence):
        boot.verify(pretend(tmp_path, script), tmp_path)


def test_a_kernel_that_hangs_is_ended_with_all_its_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "WALL_LIMIT_S", 0.5)
    with pytest.raises(RunFailed, match=r"does not boot: begun / stopped after 0\.5 s"):
        boot.verify(pretend(tmp_path, "echo begun; tail -f /dev/null & wait"), tmp_path)


def test_a_kernel_that_spins_is_ended_by_its_cpu_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "CPU_LIMIT_S", 1)
    monkeypatch.setattr(boot, "WALL_LIMIT_S", 30)
    with pytest.raises(RunFailed, match=r"does not boot: begun$"):
        boot.verify(pretend(tmp_path, "echo begun; while :; do :; done"), tmp_path)
