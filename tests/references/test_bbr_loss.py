"""The published losses of BBR and Cubic stand beside the cells that they are about."""

from __future__ import annotations

import pytest

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
