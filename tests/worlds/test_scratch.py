"""Folders of runs: each vanishes with its run, and one that was left behind is swept away, and no other."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import pytest

from bakeoff.worlds import scratch

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_vanishes_with_its_run(tmp_path: Path) -> None:
    with scratch.folder() as folder:
        (folder / "run").mkdir()
        (folder / "run" / "log").write_text("x")
        assert list(tmp_path.iterdir()) == [folder]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), scratch.folder():
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_what_nobody_holds_is_swept(tmp_path: Path) -> None:
    left, other = tmp_path / f"{scratch.PREFIX}killed", tmp_path / "thesis"
    for folder in (left, other):
        folder.mkdir()
        (folder / "x").write_text("x")
    (tmp_path / f"{scratch.PREFIX}link").symlink_to(other)
    with scratch.folder() as held:
        assert scratch.sweep() == [left]
        assert held.is_dir()
    assert (other / "x").read_text() == "x"
    assert not left.exists()
