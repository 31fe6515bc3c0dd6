"""A run of the simulator whose recordings are exported."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bakeoff.recording import ResultFolder

if TYPE_CHECKING:
    from pathlib import Path

EXPERIMENT = """
name = "office"
title = "Two flows and a ping"
duration = "12s"
seed = 3
record = { level = "packets", interval = "100ms" }
[[path.forward]]
rate = "5Mbit/s"
delay = "20ms"
queue = { kind = "fq_codel", ecn = true }
[[flow]]
scheme = "cubic"
start = "0s"
ecn = "classic"
[[flow]]
scheme = "bbr"
start = "3s"
[[probe]]
interval = "100ms"
kind = "ping"
"""


def run(folder: Path, experiment: str) -> ResultFolder:
    """The results of an experiment."""
    file = folder / "office.toml"
    file.write_text(experiment, encoding="utf-8")
    command = [sys.executable, "-m", "bakeoff", "run", str(file), "--out", str(folder / "results"), "--quiet"]
    subprocess.run(command, check=True, capture_output=True, timeout=250)
    return ResultFolder.open(folder / "results")


@pytest.fixture(scope="session")
def office(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    """A Cubic flow that is marked, a BBR flow that loses packets, and a ping, packet by packet; not to be changed."""
    return run(tmp_path_factory.mktemp("office"), EXPERIMENT)


@pytest.fixture(scope="session")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    """Only a flow whose headers nobody but its ends can read."""
    experiment = EXPERIMENT.partition("[[flow]]")[0] + '[[flow]]\nscheme = "quinn:cubic"\n'
    return run(tmp_path_factory.mktemp("encrypted"), experiment)
