"""The cookbook shows its files as they are, and what its commands print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "cookbook.py"


def test_every_command_prints_what_the_page_shows() -> None:
    ended = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False, timeout=600
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize("shown", ['    name = "gone"\n\n    $ echo 1\n    1\n', "    $ echo 1\n    2\n"])
def test_a_page_that_shows_something_else_is_stale(shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import cookbook  # noqa: PLC0415 - a script, found where the line above says

    page = tmp_path / "docs" / "cookbook.md"
    page.parent.mkdir()
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "one.toml").write_text('name = "one"\n')
    monkeypatch.setattr(cookbook, "ROOT", tmp_path)
    monkeypatch.setattr(cookbook, "PAGE", page)
    head = "# One\n\n[examples/one.toml](../examples/one.toml):\n\n"
    page.write_text(f"{head}{shown}\nThe end.\n")
    monkeypatch.setattr(sys, "argv", ["cookbook.py", "--check"])
    assert cookbook.main() == 1
    monkeypatch.setattr(sys, "argv", ["cookbook.py"])
    assert cookbook.main() == 0
    assert page.read_text() == f'{head}    name = "one"\n\n    $ echo 1\n    1\n\nThe end.\n'
