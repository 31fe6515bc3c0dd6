"""Whatever stands in a file or on the command line gives a plan or a `UserError`, and nothing else."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bakeoff.errors import UserError
from bakeoff.experiment import expand, load
from bakeoff.experiment.load import check_source
from bakeoff.experiment.source import Source
from bakeoff.reports import conformance, path

if TYPE_CHECKING:
    from bakeoff.experiment.catalogue import Catalogue

FULL: dict[str, Any] = {
    "name": "x",
    "title": "t",
    "duration": "2s",
    "repeats": 2,
    "seed": 3,
    "record": {"level": "packets", "interval": "10ms"},
    "start_jitter": "1ms",
    "reference": "pantheon/india-ppp0",
    "path": {
        "use": "nepal-aws-india",
        "forward": [
            {
                "rate": {"schedule": [{"at": "0s", "rate": "1Mbit/s"}, {"at": "1s", "rate": "0bit/s"}], "period": "3s"},
                "queue": {"kind": "fifo", "limit": ["5pkt", "2bdp"], "drop": "head"},
                "delay": "5ms",
                "loss": "1%",
                "jitter": "1us",
            },
            {
                "rate": {"token_bucket": "1Mbit/s", "burst": "3kB", "peak": "2Mbit/s"},
                "loss": {"to_bad": "1%", "to_good": "20%"},
                "duplicate": "1%",
                "reorder": {"probability": "1%", "behind": "3pkt", "within": "20ms"},
                "policer": {"rate": "1Mbit/s", "burst": "3kB"},
                "mangle": [{"match": {"ecn": "ect0"}, "set": {"dscp": 46}}],
            },
            {"rate": {"poisson": "1Mbit/s"}, "reorder": {"probability": "1%", "late": "3ms"}, "replay_window": "9pkt"},
            {
                "delay": "2ms",
                "slots": {"min": "2ms", "max": "3ms", "packets": "4pkt"},
                "reorder": {"probability": "1%"},
            },
            {"rate": {"trace": {"poisson": "1Mbit/s", "length": "1s", "slow_prefix": "500ms", "seed": 4}}},
            {"rate": {"trace": {"constant": "1Mbit/s", "length": "120ms"}}},
        ],
        "reverse": [{"rate": {"trace": [1, 2, 2]}}, {"rate": "unlimited"}],
    },
    "flow": [
        {"scheme": "cubic", "parameters": {"beta": 0.5}, "traffic": {"kind": "finite", "size": "1MB"}, "mss": "500B"},
        {"traffic": {"kind": "on-off", "on": "1s", "off": "1s"}, "start": "1s", "stop": "2s", "burst": "2pkt"},
        {"count": 3, "interval": "10ms", "direction": "reverse", "receive_window": "64kB", "ecn": "classic"},
    ],
    "matrix": {"scheme": ["bbr", "vegas"], "flow.1.mss": ["600B"], "pair": {"a": {"flow.*.pacing": "internal"}}},
    "claim": [{"id": "a", "says": "b", "where": {"pair": "a"}, "measure": "flow1.loss", "expect": "<= 1"}],
}

SCALARS = (
    st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["0s", "1s", "-1s", "1Mbit/s", "9Tbit/s", "0pkt", "1bdp", "24h", "unlimited", "infinite", "1%"])
)
WORDS = st.sampled_from(
    [
        "path",
        "forward",
        "reverse",
        "flow",
        "matrix",
        "claim",
        "rate",
        "trace",
        "poisson",
        "schedule",
        "use",
        "queue",
        "limit",
        "kind",
        "scheme",
        "0",
        "1",
        "*",
        "at",
    ]
)
SETTINGS = settings(suppress_health_check=[HealthCheck.too_slow])
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every node of a nested value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [above, *(place for key, inner in items for place in places(inner, (*above, key)))]


PLACES = [place for place in places(FULL) if place]


def replaced(place: tuple[Any, ...], junk: Any) -> dict[str, Any]:
    """The full file with one node replaced."""
    raw = copy.deepcopy(FULL)
    node: Any = raw
    for step in place[:-1]:
        node = node[step]
    node[place[-1]] = junk
    return raw


def attempt(raw: dict[str, Any], changes: list[str], catalogue: Catalogue) -> None:
    message = "sound"
    try:
        for run in expand(check_source(Source("x.toml", Path(), raw, ""), changes, catalogue)).runs:
            # What can be run can be told.
            path.describe(run.scenario)
            conformance.path_of(run.scenario)
    except UserError as error:
        message = str(error)
    assert 0 < len(message) < 700
    assert "\n" not in message


def test_the_whole_file_is_sound(catalogue: Catalogue) -> None:
    assert len(expand(check_source(Source("x.toml", Path(), copy.deepcopy(FULL), ""), [], catalogue)).runs) == 4


@SETTINGS
@given(place=st.sampled_from(PLACES), junk=JUNK)
def test_junk_in_any_place(catalogue: Catalogue, place: tuple[Any, ...], junk: Any) -> None:
    attempt(replaced(place, junk), [], catalogue)


@SETTINGS
@given(raw=st.dictionaries(st.sampled_from(list(FULL)) | st.text(max_size=5), JUNK, max_size=5))
def test_junk_for_a_file(catalogue: Catalogue, raw: dict[str, Any]) -> None:
    attempt(raw, [], catalogue)


@SETTINGS
@given(
    key=st.lists(WORDS | st.text(max_size=3), max_size=5).map(".".join)
    | st.sampled_from(["path.use", "path.trace", "rtt"]),
    value=st.text(max_size=12) | SCALARS.map(str) | st.sampled_from(["[1,", "{a=1}", "[]", "{}", "~x", "/", "[[["]),
)
def test_any_setting(catalogue: Catalogue, key: str, value: str) -> None:
    attempt(copy.deepcopy(FULL), [f"{key}={value}"], catalogue)


@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(errors="replace")))
def test_any_bytes_of_a_file(tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue, content: bytes) -> None:
    file = tmp_path_factory.mktemp("fuzz") / "x.toml"
    file.write_bytes(content)
    with pytest.raises(UserError):
        load(str(file), (), catalogue)


@given(name=st.text(max_size=20))
def test_any_name_of_a_file(catalogue: Catalogue, name: str) -> None:
    with pytest.raises(UserError):
        load(f"no-such-{name}", (), catalogue)
