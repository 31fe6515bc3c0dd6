"""Experiments that are checked against a catalogue of our own, so that these tests need no scheme of the core."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.experiment import Experiment, Plan, expand, load
from bakeoff.experiment.catalogue import Catalogue, Entry, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MINIMAL = """
    name = "minimal"
    duration = "30s"

    [[path.forward]]
    rate = "12Mbit/s"
    delay = "20ms"
    queue = { limit = "50pkt" }

    [[flow]]
    scheme = "cubic"
"""


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    beta = Parameter("beta", "number", 0.7, "", "what is left after a loss", 0.1, 0.9)
    hystart = Parameter("hystart", "choice", "linux", "", "slow start", options=("linux", "plus", "off"))
    fast = Parameter("fast_convergence", "flag", default=True, unit="", doc="release bandwidth sooner")
    table = Parameter("table", "file", "", "", "a table of windows")
    schemes = [
        Entry("cubic", "TCP CUBIC", "RFC 9438", (beta, hystart, fast, table)),
        *(Entry(name, name.upper(), "a test") for name in ("reno", "bbr", "vegas", "ledbat")),
    ]
    queues = [Entry("fifo", "FIFO", "a test")]
    return Catalogue({entry.name: entry for entry in schemes}, {entry.name: entry for entry in queues})


@pytest.fixture
def minimal() -> str:
    return textwrap.dedent(MINIMAL)


@pytest.fixture
def loaded(tmp_path: Path, catalogue: Catalogue) -> Callable[..., Experiment]:
    """Loads a text as the file `x.toml`."""

    def function(text: str, *changes: str) -> Experiment:
        file = tmp_path / "x.toml"
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return load(str(file), changes, catalogue)

    return function


@pytest.fixture
def planned(loaded: Callable[..., Experiment]) -> Callable[..., Plan]:
    """The plan of a text."""
    return lambda text, *changes: expand(loaded(text, *changes))


@pytest.fixture
def scenario(planned: Callable[..., Plan]) -> Callable[..., dict[str, Any]]:
    """The scenario of the first run of a text."""
    return lambda text, *changes: planned(text, *changes).runs[0].scenario
