"""Children, and what is left of them."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from bakeoff import children

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

ENVIRONMENT = {"PATH": os.defpath}


def test_a_child_that_was_waited_for_is_not_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    with children.start(["true"], tmp_path, ENVIRONMENT) as child:
        assert child.wait() == 0
        monkeypatch.setattr(os, "killpg", lambda number, _what: killed.append(number))
        children.kill(child)
    assert killed == []


def test_a_child_that_has_ended_keeps_its_status(tmp_path: Path) -> None:
    with children.start(["sh", "-c", "exit 3"], tmp_path, ENVIRONMENT) as child:
        children.await_end(child)
        children.kill(child)
        assert child.wait() == 3


def test_a_child_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    with children.start(["tail", "-f", "/dev/null"], tmp_path, ENVIRONMENT) as child:
        with children.limited(child, 0.01) as hung:
            children.await_end(child)
        assert hung.is_set()
        assert child.wait() == -signal.SIGKILL


def test_a_child_within_its_time_is_left_alone(tmp_path: Path) -> None:
    with children.start(["true"], tmp_path, ENVIRONMENT) as child:
        with children.limited(child, 3600) as hung:
            children.await_end(child)
        assert not hung.is_set()
        assert child.wait() == 0
