"""The programs that write pages of the documentation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_quinn_needs_a_kernel_and_says_so_at_once(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "quinn.py")]
    places = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    ended = subprocess.run(command, env=places, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        "bakeoff: no kernel is built yet: run `bakeoff kernel build` once, which takes about eight minutes\n"
    )
