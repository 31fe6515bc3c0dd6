"""What a class in Python is told is enough to do, packet by packet, what the core's schemes do."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bakeoff.experiment import expand, load
from bakeoff.worlds import sim

TWINS = Path(__file__).parent / "linux_twins.py"
EXPERIMENT = """
name = "twins"
duration = "10s"
[[path.forward]]
rate = "12Mbit/s"
delay = "20ms"
{hop}
[[flow]]
start = "0s"
{flow}
[[flow]]
start = "2s"
{flow}
[matrix]
scheme = ["{scheme}"]
"""


def tables(folder: Path, scheme: str, hop: str, flow: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The flows of a run, and their windows."""
    file = folder / "twins.toml"
    file.write_text(EXPERIMENT.format(scheme=scheme, hop=hop, flow=flow))
    found = sim.execute(expand(load(str(file))).runs[0]).tables
    return found["flows"], found["telemetry"].filter(pl.col("name").is_in(["cwnd", "ssthresh"]))


@pytest.mark.parametrize(
    ("twin", "core", "hop", "flow"),
    [
        ("Reno", "reno", 'queue = { limit = "1bdp" }', ""),
        ("Reno", "reno", 'queue = { limit = "0.3bdp" }\nloss = 0.01', ""),
        ("Dctcp", "dctcp", 'queue = { kind = "fq_codel", ce_threshold = "2ms" }', 'ecn = "accurate"'),
    ],
)
def test_a_twin_in_python_sends_the_same_packets(tmp_path: Path, twin: str, core: str, hop: str, flow: str) -> None:
    ours, theirs = (tables(tmp_path, scheme, hop, flow) for scheme in (f"{TWINS}:{twin}", core))
    flows, windows = theirs
    congested = flows["dropped_packets"] + flows["ce_marks"]
    assert congested.min() > 10, "each flow is told of congestion"  # type: ignore[operator] # of whole numbers
    assert ours[0].equals(flows)
    assert ours[1].equals(windows)
