"""From a file to scenarios: resolution, the matrix, names, seeds."""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.experiment import overrides, source
from bakeoff.experiment.plan import derive_seed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bakeoff.experiment import Plan
    from bakeoff.experiment.catalogue import Catalogue

    Planned = Callable[..., Plan]
    Scenario = Callable[..., dict[str, Any]]

FIFO: dict[str, Any] = {
    "kind": "fifo",
    "limit_packets": None,
    "limit_bytes": None,
    "limit_time_ns": None,
    "drop": "tail",
}


NO_LIMIT = """
name = "x"
duration = "1s"
[[path.forward]]
rate = "5Mbit/s"
[[path.forward]]
delay = "20ms"
[[path.reverse]]
rate = "1Mbit/s"
[[flow]]
scheme = "cubic"
"""


def test_a_queue_without_limit_that_nobody_asked_for_is_told(planned: Planned) -> None:
    (told,) = planned(NO_LIMIT).notes
    assert "x.toml: forward.0 has a queue without limit" in told
    assert "--set path.forward.0.queue.limit=1bdp" in told
    assert "reverse.0 has a queue" in planned(NO_LIMIT, "flow.1.direction=reverse").notes[0]
    for stated in ("queue.limit=1MB", "queue.limit=infinite", "rate=unlimited"):
        changes = (f"path.forward.0.{stated}", "flow.1.receive_window=64kB")
        assert planned(NO_LIMIT, *changes).notes == (), stated
    assert len(planned(NO_LIMIT, "matrix.path.forward.0.queue.kind=codel,fifo", "repeats=3").notes) == 1


OF_ITS_OWN = """
name = "x"
duration = "1s"
[[path.forward]]
rate = "5Mbit/s"
delay = "28ms"
queue = "codel"
[[path.forward]]
loss = 0.01
[[flow]]
scheme = "cubic"
"""


def test_what_a_file_keeps_on_a_path_that_the_command_line_names_is_told(planned: Planned) -> None:
    (told,) = planned(OF_ITS_OWN, "path.use=nepal-aws-india").notes
    kept = "path.forward.0.rate, path.forward.0.queue, path.forward.1.loss"
    assert told.endswith(
        f"x.toml: {kept} of the file stay in force on nepal-aws-india; remove them there to have that path as it is"
    )
    assert (
        "path.forward.0.rate"
        not in planned(OF_ITS_OWN, "path.use=nepal-aws-india", "path.forward.0.rate=3Mbit/s").notes[0]
    )
    of_file = OF_ITS_OWN.replace("[[path.forward]]", '[path]\nuse = "nepal-aws-india"\n[[path.forward]]', 1)
    assert planned(of_file).notes == ()
    alike = OF_ITS_OWN.partition("rate")[0] + 'delay = "28ms"\n[[flow]]\nscheme = "cubic"\n'
    assert planned(alike, "path.use=nepal-aws-india", "rate=3Mbit/s").notes == ()


def test_a_setting_that_some_variants_replace_is_told(planned: Planned, minimal: str) -> None:
    variants = 'a = { rate = "5Mbit/s" }\nb = { rtt = "5ms" }\nc = {}\nd = { rate = "1Mbit/s" }\n'
    text = f"{minimal}[matrix.pair]\n{variants}"
    (told,) = planned(text, "rate=7Mbit/s").notes
    assert told.endswith("x.toml: --set rate=7Mbit/s has no effect where pair is a or d, since the axis sets it there")
    assert planned(text, "rate=7Mbit/s", "pair=b").notes == ()
    assert planned(text, "loss=1%").notes == ()


PROBES = """
[[probe]]
[[probe]]
size = "1kB"
ecn = "ect1"
start = "1s"
stop = "9s"
direction = "reverse"
[matrix]
"probe.1.interval" = ["100ms", "1s"]
"""


def test_probes(planned: Planned, minimal: str) -> None:
    runs = planned(minimal + PROBES).runs
    assert [run.scenario["probes"][0]["interval_ns"] for run in runs] == [10**8, 10**9]
    first, second = runs[0].scenario["probes"]
    times = {"start_ns": 0, "stop_ns": 30 * 10**9}
    assert first == {"interval_ns": 10**8, "size_bytes": 84, "ecn": "off", "direction": "forward"} | times
    changed = {"size_bytes": 1000, "ecn": "ect1", "direction": "reverse", "start_ns": 10**9, "stop_ns": 9 * 10**9}
    assert second == first | changed


def test_the_scenario_of_a_minimal_file(scenario: Scenario, minimal: str) -> None:
    found = scenario(minimal)
    assert found == {
        "seed": derive_seed(1, 1),
        "duration_ns": 30 * 10**9,
        "record": {"level": "series", "interval_ns": 10**8},
        "start_jitter_ns": 10**8,
        "forward": [
            {
                "link": {"kind": "constant", "rate_bps": 12_000_000},
                "queue": FIFO | {"limit_packets": 50},
                "delay_ns": 20_000_000,
                "loss": 0.0,
                "jitter_ns": 0,
            }
        ],
        "reverse": [
            {"link": {"kind": "unlimited"}, "queue": FIFO, "delay_ns": 20_000_000, "loss": 0.0, "jitter_ns": 0}
        ],
        "flows": [
            {
                "scheme": "cubic",
                "parameters": {},
                "traffic": {"kind": "bulk"},
                "start_ns": 0,
                "stop_ns": 30 * 10**9,
                "direction": "forward",
                "extra_delay_ns": 0,
                "mss_bytes": 1448,
                "header_bytes": 52,
                "receive_window_bytes": None,
                "pacing": "auto",
                "burst_packets": 1,
                "acks": "delayed",
                "send_jitter_ns": 0,
            }
        ],
    }
    json.dumps(found, allow_nan=False)


EVERY_KEY = """
name = "all"
title = "All keys"
description = "One of each"
duration = "20s"
seed = 7
world = "sim"
start_jitter = "0s"
record = { level = "packets", interval = "50ms" }
[[path.forward]]
rate = { schedule = [ { at = "0s", rate = "1Mbit/s" }, { at = "1s", rate = "0bit/s" } ], period = "2s" }
delay = "5ms"
queue = { kind = "fifo", limit = ["50pkt", "100ms", "64kB"], drop = "head" }
loss = "1%"
jitter = "1ms"
[[path.forward]]
rate = { poisson = "2Mbit/s" }
delay = "10ms"
[[path.reverse]]
rate = { trace = [1, 1, 5] }
[[flow]]
scheme = "cubic"
parameters = { beta = 0.5, hystart = "off", fast_convergence = false }
traffic = { kind = "on-off", on = "1s", off = "2s", distribution = "exponential" }
start = "1s"
stop = "10s"
extra_delay = "3ms"
mss = "1000B"
receive_window = "64kB"
pacing = "internal"
burst = "10pkt"
ecn = "classic"
ect = "ect1"
dscp = 46
max_pacing_rate = "5Mbit/s"
acks = "each"
handshake = false
send_jitter = "1us"
[[flow]]
scheme = "reno"
traffic = { kind = "finite", size = "1MB" }
direction = "reverse"
count = 2
interval = "500ms"
"""


def test_every_key_reaches_the_scenario(scenario: Scenario) -> None:
    found = scenario(EVERY_KEY)
    assert found["record"] == {"level": "packets", "interval_ns": 50_000_000}
    first, second = found["forward"]
    assert first["link"] == {
        "kind": "schedule",
        "steps": [{"at_ns": 0, "rate_bps": 1_000_000}, {"at_ns": 10**9, "rate_bps": 0}],
        "period_ns": 2 * 10**9,
    }
    assert first["queue"] == {
        "kind": "fifo",
        "limit_packets": 50,
        "limit_bytes": 64_000,
        "limit_time_ns": 10**8,
        "drop": "head",
    }
    assert (first["loss"], first["jitter_ns"]) == (0.01, 10**6)
    assert second["link"] == {"kind": "poisson", "rate_bps": 2_000_000}
    assert found["reverse"][0]["link"] == {"kind": "trace", "opportunities_ms": (1, 1, 5)}
    assert "traces" not in found
    flow = found["flows"][0]
    assert flow == {
        "scheme": "cubic",
        "parameters": {"beta": 0.5, "hystart": "off", "fast_convergence": False},
        "traffic": {"kind": "on-off", "on_ns": 10**9, "off_ns": 2 * 10**9, "distribution": "exponential"},
        "start_ns": 10**9,
        "stop_ns": 10**10,
        "direction": "forward",
        "extra_delay_ns": 3_000_000,
        "mss_bytes": 1000,
        "header_bytes": 52,
        "receive_window_bytes": 64_000,
        "pacing": "internal",
        "burst_packets": 10,
        "ecn": "classic",
        "ect": "ect1",
        "dscp": 46,
        "max_pacing_rate_bps": 5_000_000,
        "acks": "each",
        "handshake": False,
        "send_jitter_ns": 1000,
    }
    assert [flow["start_ns"] for flow in found["flows"][1:]] == [0, 500_000_000]
    assert found["flows"][1]["traffic"] == {"kind": "finite", "size_bytes": 1_000_000}


def test_what_an_application_writes_at_once(scenario: Scenario, minimal: str) -> None:
    found = scenario(minimal, "flow.1.traffic={kind='bulk',write='2kB'}")
    assert found["flows"][0]["traffic"] == {"kind": "bulk", "write_bytes": 2000}


def test_the_bdp_of_a_schedule_is_of_its_mean_rate(scenario: Scenario, minimal: str) -> None:
    # A quarter of the period at 16 and the rest at 4 Mbit/s; without a period the last rate, which stays.
    for period, mean in [(",period='8s'", "7Mbit/s"), ("", "4Mbit/s")]:
        rate = f"rate={{schedule=[{{at='0s',rate='16Mbit/s'}},{{at='2s',rate='4Mbit/s'}}]{period}}}"
        constant = scenario(minimal, f"rate={mean}", "queue=1bdp")
        assert scenario(minimal, rate, "queue=1bdp")["forward"][0]["queue"] == constant["forward"][0]["queue"]


def test_a_bdp_counts_both_directions_and_the_extra_delay(scenario: Scenario, minimal: str) -> None:
    assert scenario(minimal, "queue=1bdp")["forward"][0]["queue"]["limit_bytes"] == 60_000
    longer = scenario(minimal, "queue=0.5bdp", "flow.1.extra_delay=30ms")
    assert longer["forward"][0]["queue"]["limit_bytes"] == 75_000
    assert longer["forward"][0]["queue"]["limit_packets"] is None


def test_a_bdp_of_a_trace_is_at_its_mean_rate(scenario: Scenario, minimal: str) -> None:
    found = scenario(minimal, "rate={trace=[1,2,3,40]}", "queue=1bdp")
    assert found["forward"][0]["queue"]["limit_bytes"] == 1_200_000 * 40 // 8000


def test_a_trace_is_kept_as_far_as_the_run_goes(scenario: Scenario, minimal: str) -> None:
    link = scenario(minimal, "rate={trace=[1,29000,30000,30001,40000]}", "duration=30s")["forward"][0]["link"]
    assert link["opportunities_ms"] == (1, 29000, 30000, 30001)


def test_limits_of_a_queue_do_not_turn_on_how_much_of_a_trace_a_run_sees(scenario: Scenario, minimal: str) -> None:
    for duration in ("20s", "30s", "60s"):
        found = scenario(minimal, "rate={trace=[1,2,3,4,39000,40000]}", "queue=1000bdp", f"duration={duration}")[
            "forward"
        ][0]
        assert found["queue"]["limit_bytes"] == 1000 * 1800 * 40 // 8000
        assert found["link"].get("mean_rate_bps") == (None if duration == "60s" else 1800)


def test_the_default_reverse_is_as_slow_as_all_forward_hops(scenario: Scenario, minimal: str) -> None:
    found = scenario(minimal + '[[path.forward]]\ndelay = "7ms"\n')
    assert [hop["delay_ns"] for hop in found["reverse"]] == [27_000_000]


def test_runs_are_all_cells_once_and_then_again(planned: Planned, minimal: str) -> None:
    text = minimal.replace('scheme = "cubic"', "") + (
        '[matrix]\nscheme = ["bbr", "cubic"]\nrate = ["1Mbit/s", "12Mbit/s"]\n'
    )
    plan = planned(text, "repeats=2")
    assert [run.id for run in plan.runs] == [
        "bbr_1Mbit-s_run1",
        "bbr_12Mbit-s_run1",
        "cubic_1Mbit-s_run1",
        "cubic_12Mbit-s_run1",
        "bbr_1Mbit-s_run2",
        "bbr_12Mbit-s_run2",
        "cubic_1Mbit-s_run2",
        "cubic_12Mbit-s_run2",
    ]
    assert plan.runs[1].cell == {"scheme": "bbr", "rate": "12Mbit/s"}
    assert plan.runs[1].scenario["forward"][0]["link"]["rate_bps"] == 12_000_000
    assert plan.runs[2].scenario["flows"][0]["scheme"] == "cubic"


CLAIMED = """
claim_repeats = 3
[[flow]]
scheme = "cubic"
[[path.forward]]
rate = "1Mbit/s"
[[claim]]
id = "a"
says = "b"
measure = "duration_s"
expect = "> 1"
where = { loss = 0, rtt = "1ms" }
against = { rtt = "2ms" }
[matrix]
loss = [0, 0.5]
rtt = ["1ms", "2ms", "3ms"]
"""


def test_cells_that_a_claim_is_about_run_more_often(planned: Planned) -> None:
    def often(*changes: str) -> dict[tuple[str, ...], int]:
        runs = planned('name = "x"\nduration = "1s"\n' + CLAIMED, *changes).runs
        assert len({run.id for run in runs}) == len(runs)
        return {tuple(run.cell.values()): run.repeat for run in runs}

    once = dict.fromkeys(itertools.product(("0", "0.5"), ("1ms", "2ms", "3ms")), 1)
    assert often() == once | {("0", "1ms"): 3, ("0", "2ms"): 3}
    assert often("repeats=2") == dict.fromkeys(once, 2), "who asks for a number gets it"
    assert often("repeats=2", "claim_repeats=4") == dict.fromkeys(once, 2) | {("0", "1ms"): 4, ("0", "2ms"): 4}
    assert often("claim_repeats=1") == once
    without = {cell: 1 for cell in once if cell[1] != "2ms"}
    assert often("matrix.rtt=1ms,3ms") == without, "what it is compared with is left out"


def test_seeds_depend_on_the_repeat_and_the_experiment_only(planned: Planned, minimal: str) -> None:
    text = minimal.replace('scheme = "cubic"', "") + '[matrix]\nscheme = ["bbr", "cubic"]\n'
    runs = planned(text, "repeats=2").runs
    assert {run.seed for run in runs if run.repeat == 1} == {derive_seed(1, 1)}
    assert {run.seed for run in runs if run.repeat == 2} == {derive_seed(1, 2)}
    assert all(run.scenario["seed"] == run.seed < 2**53 for run in runs)
    assert planned(minimal, "seed=2").runs[0].seed != planned(minimal).runs[0].seed
    # Recordings of one version must not change with the next: the derivation is part of the format.
    assert derive_seed(1, 1) == 4978047188321132


def test_names_of_runs_are_files_and_unlike(planned: Planned, minimal: str) -> None:
    labels = ["a", "A", "a/b", "a b", f"../{'x' * 300}"]
    text = minimal + "[matrix]\n" + "".join(f'odd."{label}" = {{ loss = 0 }}\n' for label in labels)
    names = [run.id for run in planned(text).runs]
    assert len({name.casefold() for name in names}) == 5
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+%-]{0,150}", name) for name in names)


def test_a_run_has_one_name_with_few_repeats_and_with_many(planned: Planned, minimal: str) -> None:
    assert [run.id for run in planned(minimal, "repeats=10").runs][::9] == ["run1", "run10"]


def test_variants_set_several_keys(planned: Planned, minimal: str) -> None:
    text = minimal + (
        '[[flow]]\n[matrix.pair.cubic-vs-bbr]\n"flow.1.scheme" = "cubic"\n"flow.2.scheme" = "bbr"\n'
        '[matrix.pair.two-reno]\n"flow.*.scheme" = "reno"\nqueue = "1bdp"\n'
    )
    first, second = planned(text).runs
    assert first.cell == {"pair": "cubic-vs-bbr"}
    assert [flow["scheme"] for flow in first.scenario["flows"]] == ["cubic", "bbr"]
    assert [flow["scheme"] for flow in second.scenario["flows"]] == ["reno", "reno"]
    assert second.scenario["forward"][0]["queue"]["limit_bytes"] == 60_000


def test_an_rtt_is_split_between_the_directions(scenario: Scenario, minimal: str) -> None:
    text = minimal + '[[path.forward]]\ndelay = "7ms"\n'
    found = scenario(text, "rtt=100ms")
    assert [hop["delay_ns"] for hop in found["forward"]] == [50_000_000, 0]
    assert [hop["delay_ns"] for hop in found["reverse"]] == [50_000_000]


def test_an_rtt_replaces_the_delays_of_the_way_back(scenario: Scenario, minimal: str) -> None:
    text = minimal + '[[path.reverse]]\ndelay = "7ms"\n[[path.reverse]]\ndelay = "8ms"\n'
    found = scenario(text, "rtt=100ms")
    assert [hop["delay_ns"] for hop in (*found["forward"], *found["reverse"])] == [50_000_000, 50_000_000, 0]


def test_a_scheme_axis_fills_the_flows_that_name_none(planned: Planned, minimal: str) -> None:
    runs = planned(minimal + '[[flow]]\n[matrix]\nscheme = ["bbr"]\n').runs
    assert [flow["scheme"] for flow in runs[0].scenario["flows"]] == ["cubic", "bbr"]


def test_the_folder_tells_both_numbers_of_repeats(planned: Planned) -> None:
    head = 'name = "x"\nduration = "1s"\n'
    found = planned(head + CLAIMED, "repeats=2").to_json()
    assert (found["repeats"], found["claim_repeats"]) == (2, 2)
    found = planned(head + CLAIMED).to_json()
    assert (found["repeats"], found["claim_repeats"]) == (1, 3)


def test_a_setting_narrows_its_axis(planned: Planned, minimal: str) -> None:
    text = minimal + '[matrix]\nrate = ["1Mbit/s", "12Mbit/s"]\nloss = [0, 0.1]\n'
    assert [run.cell for run in planned(text, "rate=3Mbit/s").runs] == [
        {"rate": "3Mbit/s", "loss": "0"},
        {"rate": "3Mbit/s", "loss": "0.1"},
    ]
    assert len(planned(text, "matrix.loss=0.1,0.2,0.3").runs) == 6
    assert len(planned(text, "path.rate=3Mbit/s").runs) == 2


def test_a_setting_narrows_its_axis_to_a_variant(planned: Planned, minimal: str) -> None:
    variants = "".join(f'[matrix.queue.{name}]\nloss = "{name}%"\n' for name in ("1", "2"))
    text = f'{minimal}[matrix]\nrate = ["1Mbit/s", "12Mbit/s"]\n{variants}'
    assert [run.cell["queue"] for run in planned(text, "queue=2").runs] == ["2", "2"]
    assert planned(text, "queue=2").runs[0].scenario["forward"][0]["loss"] == 0.02
    assert [run.cell["queue"] for run in planned(text, "matrix.queue=2,1", "rate=1Mbit/s").runs] == ["2", "1"]
    # What is no variant sets the key of that name, for all of them.
    runs = planned(text, "queue=7pkt").runs
    assert [run.cell["queue"] for run in runs] == ["1", "2", "1", "2"]
    assert {run.scenario["forward"][0]["queue"]["limit_packets"] for run in runs} == {7}


def test_traces_are_relative_to_the_file_and_settings_to_the_shell(
    planned: Planned, minimal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.trace").write_text("1\n2\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "b.trace").write_text("5\n")
    monkeypatch.chdir(elsewhere)
    text = minimal + '[matrix]\ntrace = ["a.trace"]\n'
    run = planned(text).runs[0]
    assert run.scenario["forward"][0]["link"]["opportunities_ms"] == (1, 2)
    assert run.id == "a.trace_run1"
    assert run.scenario["traces"] == {"forward.0": "a.trace"}
    run = planned(text, "path.trace=b.trace").runs[0]
    assert run.scenario["forward"][0]["link"]["opportunities_ms"] == (5,)
    assert run.cell == {"trace": "b.trace"}
    assert run.scenario["traces"] == {"forward.0": "b.trace"}
    (elsewhere / "c.trace").write_text("7\n")
    found = [
        run.scenario["forward"][0]["link"]["opportunities_ms"]
        for run in planned(text, "matrix.trace=b.trace,c.trace").runs
    ]
    assert found == [(5,), (7,)]
    monkeypatch.setenv("HOME", str(elsewhere))
    assert planned(text, "path.trace=~/b.trace").runs[0].scenario["forward"] == run.scenario["forward"]
    at_home = planned(text.replace("a.trace", "~/b.trace")).runs[0]
    assert at_home.scenario["forward"] == run.scenario["forward"]


def test_a_scenario_names_the_variants_of_its_flows(planned: Planned, minimal: str) -> None:
    text = minimal + '[variant.mine]\nscheme = "bbr"\n'
    assert "names" not in planned(text).runs[0].scenario
    assert planned(text, "flow.1.scheme=mine").runs[0].scenario["names"] == {"1": "mine"}


def test_a_named_path_is_overridden_key_by_key(scenario: Scenario, minimal: str) -> None:
    head = 'name = "x"\nduration = "9s"\npath.use = "nepal-aws-india"\n[[flow]]\nscheme = "cubic"\n'
    plain = scenario(head)["forward"][0]
    assert plain["link"] == {"kind": "poisson", "rate_bps": 570_000}
    assert plain["queue"]["limit_packets"] == 14
    assert plain["loss"] == 0.0477
    changed = scenario(head + '[[path.forward]]\nqueue = { limit = "99pkt" }\n', "rate=3Mbit/s")["forward"][0]
    assert changed["link"] == {"kind": "constant", "rate_bps": 3_000_000}
    assert changed["queue"]["limit_packets"] == 99
    assert (changed["loss"], changed["delay_ns"]) == (0.0477, 28_000_000)


@pytest.mark.parametrize(
    "value", ["a", " a ", "", "1", "true", "[x", 'q"uote', "12Mbit/s", 3, 0.5, True, [1, "a"], {"k": "1"}]
)
def test_what_is_written_of_a_value_is_read_as_this_value(catalogue: Catalogue, value: Any) -> None:
    assert overrides.parse(f"key={overrides.written(value)}", catalogue).value == value


def test_a_rate_of_the_file_replaces_that_of_a_named_path(scenario: Scenario) -> None:
    head = 'name = "x"\nduration = "9s"\npath.use = "nepal-aws-india"\n[[flow]]\nscheme = "cubic"\n'
    found = scenario(head + "[[path.forward]]\nrate = { trace = [1, 2] }\n")
    assert found["forward"][0]["link"]["kind"] == "trace"


def test_hops_of_a_named_path_that_the_file_does_not_name_stay(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {"forward": [{"rate": "1Mbit/s", "delay": "1ms"}, {"delay": "2ms"}], "reverse": [{"delay": "3ms"}]}
    monkeypatch.setattr(source, "read_path", lambda _: named)
    head = 'name = "x"\nduration = "9s"\npath.use = "nepal-aws-india"\n[[flow]]\nscheme = "cubic"\n'
    found = scenario(head + '[[path.forward]]\ndelay = "5ms"\n')
    assert [hop["delay_ns"] for hop in (*found["forward"], *found["reverse"])] == [5_000_000, 2_000_000, 3_000_000]


def test_paths_can_be_an_axis(planned: Planned) -> None:
    text = """
        name = "x"
        duration = "9s"
        [path]
        [[flow]]
        scheme = "cubic"
        [matrix]
        loss = [0, 0.2]
        "path.use" = ["nepal-aws-india", "india-aws-india"]
    """
    runs = planned(text).runs
    assert [run.scenario["forward"][0]["link"]["rate_bps"] for run in runs] == [570_000, 100_420_000] * 2
    assert [run.scenario["forward"][0]["loss"] for run in runs] == [0.0, 0.0, 0.2, 0.2]


def test_the_resolved_experiment_tells_plans_apart(planned: Planned, minimal: str) -> None:
    claim = '[[claim]]\nid = "a"\nsays = "b"\nmeasure = "duration_s"\nexpect = "> 1"\n'
    text = f"{minimal}{claim}[matrix]\nloss = [0, 0.5]\n"
    plan = planned(text, "repeats=2")
    found = plan.to_json()
    assert found == planned(text, "repeats=2").to_json()
    json.dumps(found, allow_nan=False)
    assert found["axes"] == {"loss": ["0", "0.5"]}
    assert found["settings"] == ["--set repeats=2"]
    assert found["claims"] == [
        {
            "id": "a",
            "says": "b",
            "source": None,
            "where": {},
            "against": {},
            "measure": "duration_s",
            "statistic": "mean",
            "expect": "> 1",
            "note": None,
        }
    ]
    other = planned(text.replace("20ms", "21ms"), "repeats=2").to_json()
    assert found["scenarios_sha256"] != other["scenarios_sha256"]


def test_claims_name_cells_of_the_matrix(planned: Planned, minimal: str) -> None:
    claim = '[[claim]]\nid = "a"\nsays = "b"\nmeasure = "duration_s"\nexpect = "> 1"\nwhere = { loss = 0.5 }\n'
    plan = planned(minimal + claim + "[matrix]\nloss = [0, 0.5]\n")
    assert plan.experiment.claims[0].where == {"loss": "0.5"}


def test_a_claim_about_a_cell_that_was_left_out_is_left_out(planned: Planned, minimal: str) -> None:
    claim = '[[claim]]\nid = "a"\nsays = "b"\nmeasure = "duration_s"\nexpect = "> 1"\nwhere = { loss = 0.5 }\n'
    text = f"{minimal}{claim}[matrix]\nloss = [0, 0.5]\n"
    assert len(planned(text).to_json()["claims"]) == 1
    assert planned(text, "loss=0").to_json()["claims"] == []
    assert planned(text, "matrix.loss=0.1,0.2").to_json()["claims"] == []
    assert len(planned(text, "matrix.loss=0.1,0.5").to_json()["claims"]) == 1
