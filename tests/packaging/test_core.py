"""The compiled core keeps what its stub and its declarations promise."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import numpy as np
import pytest

from bakeoff import __version__, _core

KINDS = {"u32": np.uint32, "u64": np.uint64, "i64": np.int64, "f64": np.float64, "bool": np.bool_}


def scenario(**changes: Any) -> str:
    hop = {"link": {"kind": "constant", "rate_bps": 10_000_000}, "queue": {"kind": "fifo"}, "delay_ns": 10_000_000}
    found = {
        "seed": 1,
        "duration_ns": 10**9,
        "record": {"level": "packets", "interval_ns": 10**8},
        "forward": [hop],
        "reverse": [hop],
        "flows": [{"scheme": "reno", "traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": 10**9}],
    }
    return json.dumps(found | changes)


def test_a_recording_has_the_declared_tables_and_columns() -> None:
    probe = {"interval_ns": 10**7, "size_bytes": 84, "start_ns": 0, "stop_ns": 10**9}
    found = _core.run(scenario(probes=[probe]))["tables"]
    declared = {table["name"]: table["columns"] for table in json.loads(_core.tables())}
    assert list(found) == list(declared)
    for name, columns in found.items():
        assert list(columns) == [column["name"] for column in declared[name]]
        rows = [values[0] if isinstance(values, tuple) else values for values in columns.values()]
        assert len({len(values) for values in rows}) == 1, name
        for column in declared[name]:
            values = columns[column["name"]]
            kind = column["kind"]
            if isinstance(values, list | tuple):
                assert kind == "text", column
            else:
                assert values.dtype == KINDS[kind], column


def test_schemes_and_queues_say_where_they_deviate() -> None:
    listed = [*json.loads(_core.schemes()), *json.loads(_core.queues())]
    found = {entry["name"]: entry["deviations"] for entry in listed}
    assert len(found) == len(listed)
    assert [name for name, text in found.items() if not text] == []
    assert len(found["bbr"].splitlines()) == 2
    assert "(`bbr_packets_in_net_at_edt`). Here the pacer" in found["bbr"], "lines of a source are no lines of a text"
    assert "UDT over UDP" in found["pcc"], "what its kin have in common is part of it"
    assert found["sprout"] == found["sprout_ewma"]
    assert "**" not in "".join(found.values()), "the section ends where the next one begins"
    assert "[`" not in "".join(found.values()), "links are for readers of the code"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a scenario"),
        (scenario(sede=1), "sede"),
        (scenario(duration_ns=0), "duration"),
        (scenario(flows=[{"scheme": "rneo", "traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": 1}]), "rneo"),
    ],
)
def test_a_bad_scenario_is_a_value_error_of_one_line(text: str, said: str) -> None:
    with pytest.raises(_core.ScenarioError, match=said) as caught:
        _core.run(text)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def test_other_threads_go_on_during_a_run() -> None:
    second = 10**9
    hop = {
        "link": {"kind": "constant", "rate_bps": 50_000_000},
        "queue": {"kind": "fifo", "limit_packets": 100},
        "delay_ns": 10**7,
    }
    flow = {"scheme": "reno", "traffic": {"kind": "bulk"}, "start_ns": 0, "stop_ns": 100 * second}
    record = {"level": "summary", "interval_ns": second}
    text = scenario(duration_ns=100 * second, record=record, forward=[hop], flows=[flow])
    entered = threading.Event()
    order = []

    def run() -> None:
        entered.set()
        _core.run(text)
        order.append("run")

    worker = threading.Thread(target=run)
    interval_s = sys.getswitchinterval()
    # No thread is interrupted: the other one comes to its turn only if the run lets go of the interpreter.
    sys.setswitchinterval(60)
    try:
        worker.start()
        assert entered.wait(20)
        order.append("other")
        worker.join()
    finally:
        sys.setswitchinterval(interval_s)
    assert order == ["other", "run"]


def test_versions_agree() -> None:
    assert __version__ == _core.version()
    assert __version__.count(".") == 2
