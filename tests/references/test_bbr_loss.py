"""The published losses of BBR and Cubic stand beside the cells that they are about."""

from __future__ import annotations

import re

import pytest

from bakeoff import experiment, suites
from bakeoff.references import load


@pytest.mark.parametrize("name", ["bbr-loss/as-published", "bbr-loss/clean"])
def test_rows_are_found_by_cell(name: str) -> None:
    table = load(name)
    assert len(table.schemes) == 27
    row = table.scheme("quic_bbr", {"sender": "BBR(true)", "case": "4"})
    assert row is not None
    assert (row.name, row.total.loss, row.total.throughput_mbps) == ("BBR(true), case 4", 0.0128, None)
    assert row.counts_packets
    assert table.scheme("quic_cubic", {"sender": "BBR(true)", "case": "4"}) is None
    assert table.scheme("quic_bbr") is None


@pytest.mark.parametrize("name", ["bbr-loss/as-published", "bbr-loss/clean"])
def test_the_text_says_what_each_case_is(name: str) -> None:
    told = re.findall(
        r"^\| (\d) \| (\d) Mbit/s \| (\d+) ms \((\d+) bytes\) \| (\d+) ms \|$", suites.doc(name), re.MULTILINE
    )
    run: dict[str, tuple[float, ...]] = {}
    for planned in experiment.expand(experiment.load(name, [])).runs:
        forward, reverse = planned.scenario["forward"], planned.scenario["reverse"]
        rate, limit = forward[0]["link"]["rate_bps"], forward[0]["queue"]["limit_bytes"]
        wait_ms, rtt_ms = 8000 * limit / rate, sum(hop["delay_ns"] for hop in forward + reverse) / 1e6
        found = (rate / 1e6, wait_ms, limit, rtt_ms)
        assert run.setdefault(planned.cell["case"], found) == found
    assert {case: tuple(map(float, numbers)) for case, *numbers in told} == run
    assert len(run) == 9
