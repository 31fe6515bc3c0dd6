"""The command line, in this process for speed and in one of its own where it must be."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from bakeoff.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def bakeoff(here: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Runs a command line in this process, in an empty folder."""

    def function(*words: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(words), prog_name="bakeoff")
        captured = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Ended(code, captured.out, captured.err)

    return function


@pytest.fixture
def start(here: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts a command line as a process, in an empty folder."""

    def function(*words: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "bakeoff", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=here,
            env={**os.environ, **environment},
        )

    return function
