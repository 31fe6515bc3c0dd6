"""What befalls packets on a hop, from the file to the scenario and its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bakeoff.errors import UserError
from bakeoff.experiment import expand, load
from bakeoff.worlds import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Scenario = Callable[..., dict[str, Any]]

FILE = """
name = "x"
duration = "1s"
[[path.forward]]
delay = "20ms"
ELEMENTS
[[flow]]
scheme = "reno"
"""


def hop_of(folder: Path, elements: str, *, world: str = "sim") -> Mapping[str, Any]:
    """The hop of the scenario, once the world has checked that it can be run."""
    if not elements.startswith("rate"):
        elements = 'rate = "10Mbit/s"\n' + elements
    file = folder / "x.toml"
    file.write_text(FILE.replace("ELEMENTS", elements), encoding="utf-8")
    plan = expand(load(str(file)))
    registry.world(world).check_plan(plan)
    found: Mapping[str, Any] = plan.runs[0].scenario["forward"][0]
    return found


def test_elements_come_in_base_units(tmp_path: Path) -> None:
    hop = hop_of(tmp_path, 'rate = { token_bucket = "10Mbit/s", burst = "16kB", peak = "1Gbit/s" }')
    assert hop["link"] == {
        "kind": "token-bucket",
        "rate_bps": 10_000_000,
        "burst_bytes": 16_000,
        "peak_bps": 1_000_000_000,
    }
    hop = hop_of(tmp_path, 'loss = { to_bad = "1%", to_good = 0.2 }')
    assert hop["loss"] == {"to_bad": 0.01, "to_good": 0.2, "in_bad": 1.0, "in_good": 0.0}
    hop = hop_of(tmp_path, 'duplicate = "2%"\nreorder = { probability = 1.0, gap = 5 }')
    assert hop["duplicate"] == 0.02
    assert hop["reorder"] == {"probability": 1.0, "change": {"kind": "ahead", "gap": 5}}
    hop = hop_of(tmp_path, 'reorder = { probability = "1%", behind = "3pkt" }')
    assert hop["reorder"]["change"] == {"kind": "behind", "packets": 3, "within_ns": 100_000_000}
    hop = hop_of(tmp_path, 'policer = { rate = "5Mbit/s", burst = "15kB" }')
    assert hop["policer"] == {"rate_bps": 5_000_000, "burst_bytes": 15_000}
    hop = hop_of(tmp_path, 'slots = { min = "20ms", max = "50ms", packets = "16pkt" }\nreplay_window = "32pkt"')
    assert hop["slots"] == {"min_ns": 20_000_000, "max_ns": 50_000_000, "packets": 16}
    assert hop["replay_window"] == 32
    hop = hop_of(tmp_path, 'mangle = [{ set = { ecn = "ect1", dscp = 0 } }]')
    assert hop["mangle"] == [{"match": {"ecn": None, "dscp": None}, "set": {"ecn": "ect1", "dscp": 0}}]


def test_a_plain_hop_has_no_elements(tmp_path: Path) -> None:
    assert set(hop_of(tmp_path, "")) == {"link", "queue", "delay_ns", "loss", "jitter_ns"}


@pytest.mark.parametrize(
    ("elements", "part"),
    [
        ('rate = { token_bucket = "1Mbit/s", burst = "1kB" }', "burst 1000B holds no packet of 1500B"),
        ('rate = { token_bucket = "1Mbit/s", burst = "9kB", peak = "1Mbit/s" }', "peak must be more than the rate"),
        ('policer = { rate = "1Mbit/s", burst = "1kB" }', "policer.burst 1000B holds no packet"),
        ("mangle = [{ match = { dscp = 3 }, set = { dscp = 0 } }]", "no packet has DSCP 3 here; give a flow dscp = 3"),
        ('slots = { min = "1ms", max = "5ms", packets = "16pkt" }', "shorter than the delay of the hop"),
        ('slots = { min = "30ms", max = "20ms", packets = "16pkt" }', "is not possible with slots.min"),
        ("mangle = [{ set = {} }]", "mangle.set is empty"),
        ("loss = { to_bad = 0.0, to_good = 0.2 }", "loss loses nothing"),
        (
            'queue = { kind = "cake" }\nmangle = [{ set = { dscp = 4 } }]',
            'packets have DSCPs, and tins for them do not exist here; give it diffserv = "besteffort"',
        ),
    ],
)
def test_what_is_impossible_is_refused(tmp_path: Path, elements: str, part: str) -> None:
    with pytest.raises(UserError, match=part.replace("(", r"\(").replace(".", r"\.")):
        hop_of(tmp_path, elements)


@pytest.mark.parametrize(
    ("elements", "part"),
    [
        ("duplicate = 0.1", "leave duplicate out"),
        ('policer = { rate = "1Mbit/s", burst = "9kB" }', "leave policer out"),
        ('mangle = [{ set = { ecn = "ect1" } }]', "leave mangle out"),
        ('slots = { min = "30ms", max = "40ms", packets = "16pkt" }', "leave slots out"),
        ('replay_window = "32pkt"', "leave replay_window out"),
        ("reorder = { probability = 0.1 }", "give reorder to a hop of its own"),
        ('reorder = { probability = 0.1, late = "1ms" }', "netem cannot hold single packets back"),
    ],
)
def test_what_the_kernel_lacks_is_refused_there(tmp_path: Path, elements: str, part: str) -> None:
    with pytest.raises(UserError, match=part):
        hop_of(tmp_path, elements, world="linux")


def test_the_kernel_takes_token_buckets_and_losses_in_bursts(tmp_path: Path) -> None:
    hop_of(tmp_path, 'rate = { token_bucket = "10Mbit/s", burst = "16kB" }', world="linux")
    hop_of(tmp_path, 'loss = { to_bad = "1%", to_good = "20%" }', world="linux")


@pytest.mark.parametrize(
    ("rate", "change", "link"),
    [
        (
            '{ schedule = [{ at = "0s", rate = "1Mbit/s" }], period = "2s" }',
            "path.forward.0.rate.schedule.0.rate=7Mbit/s",
            {"kind": "schedule", "steps": [{"at_ns": 0, "rate_bps": 7_000_000}], "period_ns": 2_000_000_000},
        ),
        (
            '{ token_bucket = "1Mbit/s", burst = "9kB" }',
            "path.forward.0.rate.token_bucket=7Mbit/s",
            {"kind": "token-bucket", "rate_bps": 7_000_000, "burst_bytes": 9000},
        ),
        (
            '{ token_bucket = "1Mbit/s", burst = "9kB" }',
            "path.forward.0.rate.poisson=7Mbit/s",
            {"kind": "poisson", "rate_bps": 7_000_000},
        ),
    ],
)
def test_a_rate_keeps_its_other_keys_as_long_as_its_form_stays(
    scenario: Scenario, minimal: str, rate: str, change: str, link: dict[str, Any]
) -> None:
    text = minimal.replace('rate = "12Mbit/s"', f"rate = {rate}")
    assert scenario(text, change)["forward"][0]["link"] == link


def test_a_rate_becomes_a_token_bucket(scenario: Scenario, minimal: str) -> None:
    text = minimal.replace('rate = "12Mbit/s"', 'rate = { poisson = "1Mbit/s" }')
    changes = ("path.forward.0.rate.token_bucket=7Mbit/s", "path.forward.0.rate.burst=9kB")
    link = {"kind": "token-bucket", "rate_bps": 7_000_000, "burst_bytes": 9000}
    assert scenario(text, *changes)["forward"][0]["link"] == link
