"""Synthetic recordings: a crude window-based simulator, so that what reads recordings is tested without the core."""

from __future__ import annotations

import heapq
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

from bakeoff.recording import ResultFolder, Timing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Under nohup it is ignored, and what tests start would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example takes says something of the machine.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

SIZE = 1500
SECOND = 1_000_000_000
MS = 1_000_000
RATE_BPS = 2_100_000
DELAY_NS = 65 * MS
LIMIT = 50
SERVICE_NS = SIZE * 8 * SECOND // RATE_BPS
# What each pretended scheme aims at: packets of its own in the queue, or None for loss-driven growth.
TARGETS = {"cubic": None, "bbr": 14, "vegas": 4, "ledbat": 8, "reno": None}

Tables = dict[str, pl.DataFrame]


@dataclass
class Sender:
    """One pretended flow."""

    number: int
    start_ns: int
    target: int | None
    window: float = 4.0
    flying: int = 0
    sent: int = 0
    hold_ns: int = 0


@dataclass
class Network:
    """One queue between the senders and the receivers; acknowledgements take `DELAY_NS` back."""

    senders: list[Sender]
    loss: float
    rng: np.random.Generator
    free_ns: int = 0
    waiting: list[int] = field(default_factory=list)
    packets: list[tuple[int, int, int, int, int, str, str]] = field(default_factory=list)
    windows: list[tuple[int, int, float]] = field(default_factory=list)

    def send(self, sender: Sender, now: int, events: list[tuple[int, int, str, int]]) -> None:
        """Sends while the window is open; every packet is queued, dropped or lost at once."""
        while sender.flying < sender.window:
            sender.flying += 1
            self.waiting = [departure for departure in self.waiting if departure > now]
            departure = max(self.free_ns, now) + SERVICE_NS
            arrival, wait = departure + DELAY_NS, departure - SERVICE_NS - now
            fate = ("received", "")
            if len(self.waiting) >= LIMIT:
                fate, wait = ("dropped", "overlimit"), 0
            else:
                self.free_ns = departure
                self.waiting.append(departure)
                if self.rng.random() < self.loss:
                    fate = ("dropped", "loss")
            arrived = fate[0] == "received"
            self.packets.append((sender.number, sender.sent, now, arrival if arrived else -1, wait, *fate))
            sender.sent += 1
            heapq.heappush(events, (arrival + DELAY_NS, len(self.packets), "ack" if arrived else "loss", sender.number))

    def run(self, duration_ns: int) -> None:
        """All events up to the end."""
        events = [(s.start_ns, -s.number, "start", s.number) for s in self.senders]
        heapq.heapify(events)
        while events and events[0][0] < duration_ns:
            now, _, kind, number = heapq.heappop(events)
            sender = self.senders[number - 1]
            if kind != "start":
                sender.flying -= 1
            if kind == "loss" and now > sender.hold_ns:
                sender.hold_ns = now + 2 * DELAY_NS
                sender.window = max(2.0, sender.window * 0.7)
            elif kind == "ack":
                share = sender.target is None or self.free_ns - now < sender.target * SERVICE_NS * len(self.senders)
                sender.window += (1 if share else -0.5) / sender.window
            self.windows.append((now, number, sender.window))
            self.send(sender, now, events)


def simulate(scenario: dict[str, Any], seed: int) -> Tables:
    """The tables of one run, with -1 for what does not exist, as a world returns them."""
    duration = scenario["duration_ns"]
    senders = [
        Sender(number, flow["start_ns"], TARGETS.get(flow["scheme"]))
        for number, flow in enumerate(scenario["flows"], 1)
    ]
    network = Network(senders, scenario["forward"][0]["loss"], np.random.default_rng(seed))
    network.run(duration)
    names = ("flow", "number", "sent_ns", "received_ns", "queue_ns", "fate", "reason")
    packets = pl.DataFrame(network.packets, schema=names, orient="row").with_columns(
        pl.lit(SIZE).cast(pl.Int64).alias("size_bytes"), retransmit=pl.lit(value=False), ce=pl.lit(value=False)
    )
    late = (pl.col("received_ns") >= duration) & (pl.col("fate") == "received")
    packets = packets.with_columns(
        pl.when(late).then(pl.lit("inside")).otherwise("fate").alias("fate"),
        pl.when(late).then(-1).otherwise("received_ns").alias("received_ns"),
    )
    tables = {"packets": packets, "flows": flow_rows(packets, scenario)}
    tables |= hop_rows(packets, duration)
    if scenario["record"]["level"] != "summary":
        tables |= over_time(packets, network.windows, duration)
    if scenario["record"]["level"] != "packets":
        del tables["packets"]
    return tables


def flow_rows(packets: pl.DataFrame, scenario: dict[str, Any]) -> pl.DataFrame:
    """The table `flows`."""
    rows = []
    for number in range(len(scenario["flows"]) + 1):
        chosen = packets.filter(pl.col("flow") == number) if number else packets
        got = chosen.filter(pl.col("fate") == "received")
        inside = chosen.filter(pl.col("fate") == "inside")
        flows = scenario["flows"][number - 1 : number] or scenario["flows"]
        delay = (got["received_ns"] - got["sent_ns"]).to_numpy()
        row: dict[str, Any] = {
            "flow": number,
            "start_ns": min(flow["start_ns"] for flow in flows),
            "stop_ns": max(flow["stop_ns"] for flow in flows),
            "sent_packets": chosen.height,
            "sent_bytes": chosen.height * SIZE,
            "received_packets": got.height,
            "received_bytes": got.height * SIZE,
            "goodput_bytes": got.height * 1448,
            "retransmits": chosen.filter(pl.col("fate") == "dropped").height,
            "timeouts": 0,
            "dropped_packets": chosen.filter(pl.col("fate") == "dropped").height,
            "inside_packets": inside.height,
            "ce_marks": 0,
            "first_sent_ns": chosen["sent_ns"].min() if chosen.height else -1,
            "first_received_ns": got["received_ns"].min() if got.height else -1,
            "last_received_ns": got["received_ns"].max() if got.height else -1,
            "inside_bytes": inside.height * SIZE,
            "completed_ns": -1,
        }
        for name, values, percents in (
            ("owd", delay, (50, 95, 99)),
            ("queue", got["queue_ns"].to_numpy(), (50, 95)),
        ):
            for percent in percents:
                there = values.size > 0
                row[f"{name}_p{percent}_ns"] = int(np.percentile(values, percent, method="nearest")) if there else -1
        rows.append(row)
    return pl.DataFrame(rows)


def hop_rows(packets: pl.DataFrame, duration: int) -> Tables:
    """The tables `hops` and `verdicts`."""
    fates = dict(packets["fate"].value_counts().iter_rows())
    drops = packets.filter(pl.col("fate") == "dropped")["reason"].value_counts(sort=True)
    waits = packets.filter(pl.col("fate") == "received")["queue_ns"].to_numpy()
    there = waits.size > 0
    hop: dict[str, Any] = {
        "hop": "forward.0",
        "in_packets": packets.height,
        "in_bytes": packets.height * SIZE,
        "out_packets": fates.get("received", 0),
        "out_bytes": fates.get("received", 0) * SIZE,
        "dropped_packets": fates.get("dropped", 0),
        "marked_packets": 0,
        "inside_packets": fates.get("inside", 0),
        "inside_bytes": fates.get("inside", 0) * SIZE,
        "queue_p50_ns": int(np.percentile(waits, 50, method="nearest")) if there else -1,
        "queue_p95_ns": int(np.percentile(waits, 95, method="nearest")) if there else -1,
        "capacity_bytes": RATE_BPS * duration // (8 * SECOND),
    }
    back: dict[str, Any] = {name: (-1 if name.endswith("_ns") or name == "capacity_bytes" else 0) for name in hop}
    back |= {"hop": "reverse.0"}
    verdicts = {
        "hop": ["forward.0"] * drops.height,
        "verdict": ["drop"] * drops.height,
        "reason": drops["reason"].to_list(),
        "packets": drops["count"].to_list(),
        "bytes": [count * SIZE for count in drops["count"].to_list()],
    }
    kinds = {
        "hop": pl.String,
        "verdict": pl.String,
        "reason": pl.String,
        "packets": pl.Int64,
        "bytes": pl.Int64,
    }
    return {"hops": pl.DataFrame([hop, back]), "verdicts": pl.DataFrame(verdicts, schema=kinds)}


def over_time(packets: pl.DataFrame, windows: list[tuple[int, int, float]], duration: int) -> Tables:
    """The tables `series`, `telemetry` and `hop_series`."""
    width = 100 * MS
    starts = np.arange(0, duration, width)
    rows = []
    for number in sorted(packets["flow"].unique()):
        chosen = packets.filter(pl.col("flow") == number)
        got = chosen.filter(pl.col("fate") == "received")
        sent = np.bincount(chosen["sent_ns"].to_numpy() // width, minlength=starts.size)[: starts.size]
        where = got["received_ns"].to_numpy() // width
        delay = (got["received_ns"] - got["sent_ns"]).to_numpy()
        count = np.bincount(where, minlength=starts.size)
        mean = np.bincount(where, weights=delay, minlength=starts.size) / np.maximum(count, 1)
        most = np.zeros(starts.size, dtype=np.int64)
        np.maximum.at(most, where, delay)
        rows.append(
            pl.DataFrame(
                {
                    "flow": np.full(starts.size, number),
                    "t_ns": starts,
                    "sent_bytes": sent * SIZE,
                    "received_bytes": count * SIZE,
                    "goodput_bytes": count * 1448,
                    "received_packets": count,
                    "owd_mean_ns": np.where(count > 0, mean, -1).astype(np.int64),
                    "owd_max_ns": np.where(count > 0, most, -1),
                }
            )
        )
    telemetry = pl.DataFrame(
        [(t, n, "cwnd", value) for t, n, value in windows],
        schema={"t_ns": pl.Int64, "flow": pl.Int64, "name": pl.String, "value": pl.Float64},
        orient="row",
    )
    hop_series = pl.DataFrame(
        {
            "t_ns": starts + width,
            "hop": ["forward.0"] * starts.size,
            "queue_packets": np.zeros(starts.size, dtype=np.int64),
            "queue_bytes": np.zeros(starts.size, dtype=np.int64),
            "capacity_bytes": np.full(starts.size, RATE_BPS // 80),
        }
    )
    return {"series": pl.concat(rows), "telemetry": telemetry, "hop_series": hop_series}


@dataclass(frozen=True)
class FakeRun:
    """A planned run."""

    id: str
    cell: dict[str, str]
    repeat: int
    seed: int
    scenario: dict[str, Any]


@dataclass(frozen=True)
class FakePlan:
    """A plan, as the recording side needs it."""

    experiment: dict[str, Any]
    runs: tuple[FakeRun, ...]

    def to_json(self) -> dict[str, Any]:
        """The resolved experiment."""
        return self.experiment


def make_scenario(scheme: str, *, flows: int = 3, level: str = "packets", seconds: int = 30) -> dict[str, Any]:
    """A scenario in the image of the India path: flows 10 s apart."""
    hop: dict[str, Any] = {
        "link": {"kind": "constant", "rate_bps": RATE_BPS},
        "queue": {"kind": "fifo", "limit_packets": LIMIT, "limit_bytes": None, "limit_time_ns": None, "drop": "tail"},
        "delay_ns": DELAY_NS,
        "loss": 0.005,
        "jitter_ns": 0,
    }
    back = {**hop, "link": {"kind": "unlimited"}, "loss": 0.0}
    back["queue"] = {**hop["queue"], "limit_packets": None}
    return {
        "seed": 1,
        "duration_ns": seconds * SECOND,
        "record": {"level": level, "interval_ns": 100 * MS},
        "start_jitter_ns": 0,
        "forward": [hop],
        "reverse": [back],
        "flows": [
            {
                "scheme": scheme,
                "parameters": {},
                "traffic": {"kind": "bulk"},
                "start_ns": number * seconds * SECOND // flows,
                "stop_ns": seconds * SECOND,
                "direction": "forward",
                "extra_delay_ns": 0,
                "mss_bytes": 1448,
                "header_bytes": 52,
            }
            for number in range(flows)
        ],
    }


def make_plan(
    schemes: tuple[str, ...] = ("cubic", "bbr"),
    repeats: int = 2,
    *,
    flows: int = 3,
    level: str = "packets",
    seconds: int = 30,
    **experiment: Any,
) -> FakePlan:
    """A plan over some schemes."""
    resolved = {
        "name": "pantheon/india-ppp0",
        "title": "India ppp0 to AWS India",
        "description": "A 2.1 Mbit/s cellular path.",
        "doc": "# India\n\nWhy these numbers.\n\n## What differs from the published report\n\n- One bottleneck.\n",
        "source": "pantheon/india-ppp0",
        "settings": [],
        "world": "sim",
        "duration_ns": seconds * SECOND,
        "repeats": repeats,
        "seed": 1,
        "record": {"level": level, "interval_ns": 100 * MS},
        "reference": "pantheon/india-ppp0",
        "axes": {"scheme": list(schemes)},
        "claims": [],
        "scenarios_sha256": "",
    }
    runs = tuple(
        FakeRun(
            id=f"{scheme}_run{repeat}",
            cell={"scheme": scheme},
            repeat=repeat,
            seed=repeat,
            scenario=make_scenario(scheme, flows=flows, level=level, seconds=seconds),
        )
        for repeat in range(1, repeats + 1)
        for scheme in schemes
    )
    return FakePlan(resolved | experiment, runs)


def fill(path: Path, plan: FakePlan) -> ResultFolder:
    """A result folder in which every run of a plan is complete."""
    folder = ResultFolder.create(path, plan)
    for run in plan.runs:
        timing = Timing(started=f"2026-01-02T03:04:{run.repeat:02}.000+00:00", wall_s=1.5, cpu_s=0.25)
        folder.write_run(run, simulate(run.scenario, run.seed), timing)
    return folder


@pytest.fixture
def plan_of() -> Callable[..., FakePlan]:
    """Makes plans: `plan_of(("cubic",), repeats=1, level="series")`."""
    return make_plan


@pytest.fixture
def filled(tmp_path: Path) -> Callable[..., ResultFolder]:
    """Makes complete result folders from plans."""
    return lambda plan: fill(tmp_path / "results", plan)


@pytest.fixture
def tables_of() -> Callable[[dict[str, Any], int], Tables]:
    """The tables of a synthetic run, with -1 for what does not exist: `tables_of(scenario, seed)`."""
    return simulate


@pytest.fixture(scope="session")
def india(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    """A complete folder of four schemes and three repeats, at level packets; not to be changed."""
    return fill(tmp_path_factory.mktemp("india") / "results", make_plan(("bbr", "cubic", "ledbat", "vegas"), 3))
