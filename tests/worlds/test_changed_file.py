"""A file that is another one by the time its run begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bakeoff.experiment import PlannedRun
from bakeoff.worlds import emu, linux, sim
from bakeoff.worlds.outcome import RunStopped

if TYPE_CHECKING:
    from pathlib import Path

    from bakeoff.worlds.runner import Execute


@pytest.mark.parametrize("execute", [sim.execute, emu.execute, linux.execute])
def test_a_run_does_not_begin_with_a_file_that_has_changed(execute: Execute, tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    file.write_text("another")
    flow = {"scheme": "taova", "parameters": {"tree": str(file)}}
    run = PlannedRun("run1", {}, 1, 1, {"flows": [flow], "files": {str(file): "00"}})
    with pytest.raises(RunStopped, match=r"tree\.json has changed since the experiment was read; run it again"):
        execute(run)
