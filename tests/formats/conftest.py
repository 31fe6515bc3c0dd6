"""A run of the simulator whose recordings are exported."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bakeoff.errors import RunFailed
from bakeoff.kernel import cache
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

FAR = """
name = "far"
duration = "4s"
seed = 3
record = { level = "packets" }
[[path.forward]]
rate = "5Mbit/s"
delay = "10ms"
loss = 0.01
queue = { kind = "cake", flow_mode = "flows", sce = "single" }
[[path.reverse]]
delay = "10ms"
reorder = { probability = 0.1, late = "3ms" }
[[flow]]
scheme = "reno_sce"
traffic = { kind = "bulk", write = "2000B" }
extra_delay = "5ms"
[[flow]]
scheme = "reno"
ecn = "classic"
ect = "ect1"
"""

SHORT = """
name = "short"
duration = "4s"
repeats = 2
[[path.forward]]
rate = "5Mbit/s"
delay = "20ms"
queue = { kind = "fifo", limit = "0.5bdp" }
[[flow]]
[[flow]]
start = "1s"
[variant.gentle]
scheme = "cubic"
parameters = { slow_start = "standard" }
[matrix]
scheme = ["gentle", "vegas"]
"""


def run(folder: Path, experiment: str, *words: str) -> ResultFolder:
    """The results of an experiment."""
    file = folder / "office.toml"
    file.write_text(experiment, encoding="utf-8")
    command = [sys.executable, "-m", "bakeoff", "run", str(file), "--out", str(folder / "results"), "--quiet", *words]
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


@pytest.fixture(scope="session")
def counted(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    """A flow with accurate ECN that is marked."""
    experiment = EXPERIMENT.partition("[[flow]]")[0] + '[[flow]]\nscheme = "dctcp"\n'
    return run(tmp_path_factory.mktemp("counted"), experiment)


@pytest.fixture(scope="session")
def far(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    """A flow with a delay of its own that knows some congestion, and one whose packets look as if they met it."""
    return run(tmp_path_factory.mktemp("far"), FAR)


@pytest.fixture(scope="session")
def of_kernel(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    """Senders of the kernel's and of ours in the linux world, if this machine can run it."""
    try:
        cache.default()
    except RunFailed as error:
        pytest.skip(str(error))
    flows = [("kernel:cubic", "classic"), ("kernel:dctcp", "accurate"), ("own:cubic", "classic")]
    tables = "".join(f'[[flow]]\nscheme = "{scheme}"\necn = "{ecn}"\n' for scheme, ecn in flows)
    head, probe = EXPERIMENT.replace("12s", "5s").partition("[[flow]]")[0], '[[probe]]\ninterval = "100ms"\n'
    return run(tmp_path_factory.mktemp("kernel"), head + tables + probe, "--world", "linux")


@pytest.fixture(scope="session")
def short(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    """Two schemes, one of them a variant, in two runs each; beside the folder is a link to it called `short`."""
    found = run(tmp_path_factory.mktemp("short"), SHORT)
    (found.path.parent / "short").symlink_to(found.path)
    return found
