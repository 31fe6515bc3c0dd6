"""The published tables agree with themselves: every cell is the mean of the printed runs."""

from __future__ import annotations

import statistics

import pytest

from bakeoff.errors import UserError
from bakeoff.references import find, load, names


@pytest.mark.parametrize("name", [name for name in names() if name.startswith("pantheon/")])
def test_means_are_those_of_the_printed_runs(name: str) -> None:
    checked = 0
    for scheme in load(name).schemes:
        for flow, means in scheme.flows.items():
            for metric, scale in (("throughput_mbps", 1), ("owd_p95_ms", 1), ("loss", 100)):
                printed = getattr(means, metric)
                runs = [getattr(run.flows[flow], metric) for run in scheme.runs]
                known = [value for value in runs if value is not None]
                if printed is None:
                    assert not known
                    continue
                assert f"{scale * statistics.fmean(known):.2f}" == f"{scale * printed:.2f}", (scheme.name, flow, metric)
                checked += 1
    assert checked == {"pantheon/india-ppp0": 126, "pantheon/london-sydney": 36}[name]


def test_rows_answer_to_our_keys() -> None:
    india = load("pantheon/india-ppp0")
    assert [row.name for row in india.schemes][:3] == ["TCP BBR", "TCP Cubic", "LEDBAT"]
    cubic = india.scheme("cubic")
    assert cubic is not None
    assert cubic.run_count == 3
    assert cubic.flows[1].loss == pytest.approx(0.0275)
    assert cubic.total.throughput_mbps == pytest.approx((1.63 + 2.01 + 2.02) / 3)
    quic = india.scheme("quic_cubic")
    assert quic is not None
    assert (quic.run_count, quic.runs, quic.total.throughput_mbps) == (0, (), None)
    assert india.scheme("reno") is None
    keys = [row.key for row in india.schemes]
    assert len(set(keys)) == len(keys) == 15


def test_unknown_names() -> None:
    with pytest.raises(UserError, match='did you mean "pantheon/india-ppp0"'):
        load("pantheon/india-ppp")
    assert find(None) is None
    assert find("something/else") is None
