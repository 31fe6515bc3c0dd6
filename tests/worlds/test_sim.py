"""The simulated world: what the schema lets through, the core can run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bakeoff import _core
from bakeoff.errors import UserError
from bakeoff.experiment import PlannedRun, estimate, expand
from bakeoff.experiment.catalogue import is_stack, of_core
from bakeoff.experiment.load import check_source
from bakeoff.experiment.source import Source
from bakeoff.worlds import sim
from bakeoff.worlds.outcome import RunInvalid, RunStopped

TIMES = st.sampled_from(["0s", "1ns", "100us", "1ms", "7.5ms", "50ms", "2s"])
RATES = st.sampled_from(["1kbit/s", "0.57Mbit/s", "12Mbit/s", "1Gbit/s"])
LINKS = (
    st.just("unlimited")
    | RATES
    | RATES.map(lambda rate: {"poisson": rate})
    | st.lists(st.integers(0, 50), min_size=1).map(sorted).map(lambda times: {"trace": [*times, 51]})
    | RATES.map(
        lambda rate: {"schedule": [{"at": "0s", "rate": rate}, {"at": "9ms", "rate": "0bit/s"}], "period": "1s"}
    )
)
HOPS = st.fixed_dictionaries(
    {},
    optional={
        "rate": LINKS,
        "queue": st.fixed_dictionaries(
            {},
            optional={
                "limit": st.sampled_from(["1pkt", "9kB", "1ms", "1bdp", "infinite", ["20pkt", "10ms"]]),
                "drop": st.sampled_from(["tail", "head"]),
            },
        ),
        "delay": TIMES,
        "loss": st.sampled_from([0, 0.01, 0.5, "99%"]),
        "jitter": TIMES,
        "replay_window": st.sampled_from(["1pkt", "32pkt"]),
    },
)
TRAFFIC = st.sampled_from(
    [
        {"kind": "bulk"},
        {"kind": "finite", "size": "1B"},
        {"kind": "finite", "size": "100kB"},
        {"kind": "on-off", "on": "10ms", "off": "5ms", "distribution": "exponential"},
        {"kind": "on-off", "on": "1ns", "off": "30ms"},
    ]
)
NEEDY = ("dctcp", "prague", "reno_sce", "dctcp_sce", "cubic_sce")


def _sensible(flow: dict[str, Any]) -> dict[str, Any]:
    """The flow without the settings of ECN that the core refuses for it."""
    if flow["scheme"] in NEEDY:
        flow.pop("ecn", None)
    if flow.get("ecn", "off") in ("off", "sce"):
        flow.pop("ect", None)
    return flow


FLOWS = st.fixed_dictionaries(
    {"scheme": st.sampled_from(sorted(of_core().schemes))},
    optional={
        "traffic": TRAFFIC,
        "start": st.sampled_from(["0s", "20ms"]),
        "stop": st.sampled_from(["40ms", "60ms"]),
        "count": st.integers(1, 4),
        "interval": st.sampled_from(["0s", "1ms"]),
        "direction": st.sampled_from(["forward", "reverse"]),
        "extra_delay": TIMES,
        "mss": st.sampled_from(["100B", "1448B", "9kB"]),
        "receive_window": st.sampled_from(["20kB", "1MB"]),
        "pacing": st.sampled_from(["auto", "internal"]),
        "max_pacing_rate": st.sampled_from(["10kbit/s", "5Mbit/s"]),
        "burst": st.sampled_from(["1pkt", "10pkt"]),
        "handshake": st.booleans(),
        "ecn": st.sampled_from(["off", "classic", "accurate", "sce"]),
        "ect": st.sampled_from(["ect0", "ect1"]),
        "send_jitter": st.sampled_from(["0s", "10us", "5ms"]),
    },
).map(_sensible)
PROBES = st.fixed_dictionaries(
    {},
    optional={
        "interval": st.sampled_from(["1us", "1ms", "1s"]),
        "size": st.sampled_from(["36B", "84B", "9kB"]),
        "ecn": st.sampled_from(["off", "ect0", "ect1"]),
        "start": st.sampled_from(["0s", "20ms"]),
        "stop": st.sampled_from(["40ms", "60ms"]),
        "direction": st.sampled_from(["forward", "reverse"]),
    },
)
FILES = st.fixed_dictionaries(
    {
        "name": st.just("x"),
        "duration": st.just("80ms"),
        "seed": st.integers(0, 2**53),
        "start_jitter": st.sampled_from(["0s", "3ms"]),
        "record": st.fixed_dictionaries(
            {"level": st.sampled_from(["summary", "series", "packets"]), "interval": st.sampled_from(["1ms", "100ms"])}
        ),
        "path": st.fixed_dictionaries(
            {"forward": st.lists(HOPS, min_size=1, max_size=3)},
            optional={"reverse": st.lists(HOPS, min_size=1, max_size=2)},
        ),
        "flow": st.lists(FLOWS, min_size=1, max_size=3),
        "probe": st.lists(PROBES, max_size=2),
    }
)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(raw=FILES)
def test_what_the_schema_accepts_the_core_runs(raw: dict[str, Any]) -> None:
    try:
        plan = expand(check_source(Source("x.toml", Path(), raw, ""), [], of_core()))
    except UserError:
        assume(condition=False)
    assume(estimate.cost(plan.runs[0].scenario).packets < 50_000)
    try:
        sim.check(plan.runs[0].scenario)
    except RunStopped:
        assert any(is_stack(flow["scheme"]) for flow in plan.runs[0].scenario["flows"]), "only stacks are choosy"
        assume(condition=False)
    tables = sim.execute(plan.runs[0]).tables
    flows = tables["flows"]
    assert flows["flow"].to_list() == list(range(len(plan.runs[0].scenario["flows"]) + 1))
    sent, received, dropped, inside = (flows[f"{name}_packets"] for name in ("sent", "received", "dropped", "inside"))
    assert (sent == received + dropped + inside).all()
    if "series" in tables:
        columns = ["sent_bytes", "received_bytes", "goodput_bytes"]
        for flow, *totals in flows[1:].select("flow", *columns).iter_rows():
            parts = tables["series"].filter(pl.col("flow") == flow).select(columns).sum().row(0)
            assert list(parts) == totals


@pytest.mark.parametrize(
    "flow",
    [
        {"traffic": {"kind": "on-off", "on": "1s", "off": "3s"}},
        {"traffic": {"kind": "on-off", "on": "10ms", "off": "300ms"}},
        {"traffic": {"kind": "on-off", "on": "10ms", "off": "30ms"}, "receive_window": "14480B"},
        {"traffic": {"kind": "on-off", "on": "300ms", "off": "900ms", "distribution": "exponential"}},
        {"traffic": {"kind": "bulk", "write": "1449B"}},
        {"max_pacing_rate": "3Mbit/s"},
    ],
)
def test_flows_that_bound_themselves_send_no_more_than_estimated(flow: dict[str, Any]) -> None:
    hop = {"rate": "12Mbit/s", "delay": "20ms", "queue": {"limit": "50pkt"}}
    raw: dict[str, Any] = {"name": "x", "duration": "12s", "path": {"forward": [hop]}}
    raw["flow"] = [{"scheme": "cubic"} | flow]
    run = expand(check_source(Source("x.toml", Path(), raw, ""), [], of_core())).runs[0]
    sent = sim.execute(run).tables["flows"].filter(flow=1)["sent_packets"].item()
    assert sent <= estimate.cost(run.scenario).packets


def test_tables_are_those_that_the_core_declares() -> None:
    raw: dict[str, Any] = {
        "name": "x",
        "duration": "1s",
        "record": {"level": "packets"},
        "path": {"forward": [{"rate": "1Mbit/s", "delay": "5ms"}]},
        "flow": [{"scheme": "reno"}],
        "probe": [{}],
    }
    tables = sim.execute(expand(check_source(Source("x.toml", Path(), raw, ""), [], of_core())).runs[0]).tables
    declared = {table["name"]: [column["name"] for column in table["columns"]] for table in json.loads(_core.tables())}
    assert {name: table.columns for name, table in tables.items()} == declared
    kinds = {kind for table in tables.values() for kind in table.dtypes}
    assert kinds <= {pl.Int64, pl.Float64, pl.String, pl.Boolean}


def test_a_scenario_that_the_core_refuses_is_a_stopped_run() -> None:
    with pytest.raises(RunStopped, match="missing field"):
        sim.execute(PlannedRun("run1", {}, 1, 1, {"seed": 1}))


def test_packets_that_do_not_add_up_are_an_invalid_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise _core.ConservationError("hop forward.0: 3 packets too many")

    monkeypatch.setattr(_core, "run", fail)
    with pytest.raises(RunInvalid, match="3 packets too many"):
        sim.execute(PlannedRun("run1", {}, 1, 1, {}))
