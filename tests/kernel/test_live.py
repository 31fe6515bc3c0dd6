from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bakeoff.kernel import boot, cache

if TYPE_CHECKING:
    from pathlib import Path


def test_every_built_kernel_boots(tmp_path: Path) -> None:
    found = cache.entries()
    if not found:
        pytest.skip("no kernel is built on this machine; bakeoff kernel build makes one")
    for built in found:
        work = tmp_path / built.name
        work.mkdir()
        assert boot.verify(cache.kernel_of(built), work) == built.banner
