"""The command that a report prints under a figure runs that cell again, typed into a shell where the first one was."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.recording import ResultFolder
from bakeoff.reports import commands, model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ended

    Command = Callable[..., Ended]

SCHEME = """
from bakeoff.scheme import Scheme
class Mine(Scheme):
    def on_ack(self, ack): self.cwnd = 20 * self.mss
    def on_loss(self, loss): pass
"""
EXPERIMENT = """
name = "x"
duration = "500ms"
repeats = 2
[[path.forward]]
rate = "5Mbit/s"
delay = "5ms"
queue = { limit = "50pkt" }
[[flow]]
"""
MATRICES = {
    "schemes": 'scheme = ["reno", "./my own.py:Mine"]',
    "traces": 'scheme = ["reno"]\n"path.trace" = ["up.trace", "down.trace"]',
    "tables": 'scheme = ["reno"]\nqueue = ["9pkt", { limit = "8pkt", drop = "head" }]',
    "rates": 'scheme = ["reno"]\n"path.forward.0.rate" = [{ trace = "up.trace" }, { trace = [1, 5] }, "3Mbit/s"]',
    "lists": 'scheme = ["reno"]\n"path.forward.0.queue.limit" = [["9pkt", "40ms"], ["8pkt"]]',
    "flows": 'flow = [[{ scheme = "bbr" }], '
    '[{ scheme = "cubic", parameters = { law = "rfc9438" } }, { scheme = "reno" }]]',
    "kinds": 'scheme = ["reno"]\n"flow.1.handshake" = [true, false]\nloss = [0.01, 1e-3]\n"flow.1.dscp" = [0, 8]',
    "variants": 'scheme = ["reno"]\n[matrix.pair]\n"1e1" = { rtt = "9ms" }\n"true" = { rtt = "8ms" }\n'
    '"it\'s = \\"b\\"" = { rtt = "6ms", "path.trace" = "up.trace" }',
    "schemes with names": '[matrix.scheme]\nslow = { "flow.1.scheme" = "vegas" }\nfast = { "flow.1.scheme" = "bbr" }',
}


def _cells(folder: Path) -> dict[str, list[Any]]:
    """Seeds and scenarios of a folder's runs, by cell."""
    cells: dict[str, list[Any]] = {}
    for recording in ResultFolder.open(folder).recordings():
        manifest = recording.manifest
        cells.setdefault(json.dumps(manifest.cell), []).append((manifest.seed, manifest.scenario))
    return cells


@pytest.mark.parametrize("matrix", MATRICES)
def test_a_cell_runs_again(bakeoff: Command, here: Path, matrix: str) -> None:
    place = here / "a place"
    place.mkdir()
    (place / "my own.py").write_text(SCHEME)
    (place / "up.trace").write_text("1\n4\n")
    (place / "down.trace").write_text("2\n3\n")
    (place / "x.toml").write_text(f"{EXPERIMENT}[matrix]\n{MATRICES[matrix]}")
    ended = bakeoff("run", "a place/x.toml", "--out", "all", "--quiet")
    assert ended.code == 0, ended.err
    report = model.load(ResultFolder.open(here / "all"))
    assert len(report.groups) > 1
    for number, group in enumerate(report.groups):
        words = shlex.split(commands.run_cell(report.experiment, group.cell))
        assert words[0] == "bakeoff"
        ended = bakeoff(*words[1:], "--out", f"cell-{number}", "--quiet")
        assert ended.code == 0, ended.err
        again = _cells(here / f"cell-{number}")
        cell = json.dumps(group.cell)
        assert again == {cell: _cells(here / "all")[cell]}


def test_what_narrowed_an_axis_gives_way_to_the_cell(bakeoff: Command, here: Path) -> None:
    (here / "x.toml").write_text(f'{EXPERIMENT}[matrix]\n"path.rate" = ["1Mbit/s", "2Mbit/s"]\nscheme = ["reno"]')
    changes = ("--set", "matrix.path.rate=3Mbit/s,4Mbit/s", "--set", "seed=7", "--scheme", "cubic")
    assert bakeoff("run", "x.toml", *changes, "--out", "all", "--quiet").code == 0
    report = model.load(ResultFolder.open(here / "all"))
    found = [commands.run_cell(report.experiment, group.cell) for group in report.groups]
    start = "bakeoff run x.toml --set seed=7 --set"
    assert found == [f"{start} path.rate={rate} --scheme cubic" for rate in ("3Mbit/s", "4Mbit/s")]
