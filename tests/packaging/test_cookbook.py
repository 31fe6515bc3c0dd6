"""The cookbook shows its files as they are, and what its commands print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import re

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import cookbook  # noqa: E402 - a script, found where the line above says
import printed  # noqa: E402 - another one

PAGE = cookbook.PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "block", [pytest.param(block, id=block[0].split('"')[1]) for block in cookbook.BLOCK.finditer(PAGE)]
)
def test_a_command_prints_what_the_page_shows(block: re.Match[str]) -> None:
    assert cookbook.filled(PAGE[: block.start()], block[0]) == block[0]


@pytest.mark.parametrize("shown", ['    name = "gone"\n\n    $ echo 1\n    1\n', "    $ echo 1\n    2\n"])
def test_a_page_that_shows_something_else_is_stale(shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "docs" / "cookbook.md"
    page.parent.mkdir()
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "one.toml").write_text('name = "one"\n')
    monkeypatch.setattr(printed, "ROOT", tmp_path)
    monkeypatch.setattr(cookbook, "PAGE", page)
    head = "# One\n\n[examples/one.toml](../examples/one.toml):\n\n"
    page.write_text(f"{head}{shown}\nThe end.\n")
    monkeypatch.setattr(sys, "argv", ["cookbook.py", "--check"])
    assert cookbook.main() == 1
    monkeypatch.setattr(sys, "argv", ["cookbook.py"])
    assert cookbook.main() == 0
    assert page.read_text() == f'{head}    name = "one"\n\n    $ echo 1\n    1\n\nThe end.\n'


def test_a_command_that_fails_is_no_output() -> None:
    with pytest.raises(SystemExit, match=r"false: $"):
        cookbook.filled("", "    $ false\n")
