"""`bakeoff conformance`: the cases of BBRv3's draft, and a scheme that does not follow it."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Any

from bakeoff import suites

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from tests.cli.conftest import Ended

    Command = Callable[..., Ended]


def test_bbr3_does_what_its_draft_says(bakeoff: Command) -> None:
    ended = bakeoff("conformance", "bbr3", "--json", "-q")
    found = json.loads(ended.out)
    assert (found["scheme"], found["suite"]) == ("bbr3", "conformance/bbr3")
    claims = tomllib.loads(suites.file("conformance/bbr3").read_text())["claim"]
    checks = [check for case in found["cases"] for check in case["checks"]]
    assert [check["id"] for check in checks] == [claim["id"] for claim in claims]
    wrong = {check["id"]: (check["measured"], check["expect"]) for check in checks if check["verdict"] != "holds"}
    assert not wrong
    assert ended.code == 0
    assert all(case["path"] and case["source"] for case in found["cases"])


def test_a_failing_case_is_shown_and_ends_with_one(
    bakeoff: Command, monkeypatch: pytest.MonkeyPatch, here: Any
) -> None:
    suite = here / "conformance" / "bbr.toml"
    suite.parent.mkdir()
    suite.write_text(
        """
        name = "conformance/bbr"
        title = "BBR"
        duration = "2s"
        [[path.forward]]
        rate = { schedule = [{ at = "0s", rate = "10Mbit/s" }, { at = "1s", rate = "5Mbit/s" }] }
        delay = "20ms"
        queue = { kind = "fifo", limit = "50pkt" }
        [[flow]]
        scheme = "bbr"
        traffic = { kind = "on-off", on = "1s", off = "10ms" }
        [[claim]]
        id = "slow"
        says = "It is slow"
        source = "somebody"
        measure = "total.throughput_mbps"
        expect = "< 1"
        [[claim]]
        id = "fast"
        says = "It is fast"
        source = "somebody"
        measure = "most(flow1.cwnd)"
        expect = "> 4"
        """
    )
    suite.with_suffix(".md").write_text("# BBR\n")
    monkeypatch.setattr(suites, "_FOLDER", here)
    ended = bakeoff("conformance", "bbr", "-q")
    assert ended.code == 1
    heading, case, slow, fast = ended.out.splitlines()
    assert heading.split() == ["verdict", "case", "measured", "expected"]
    path = "10 Mbit/s, from 1 s 5 Mbit/s, 50 packets, 40 ms of round trip, 1 s of data and 10 ms of silence in turn"
    assert case.startswith("fails")
    assert f"somebody ({path})" in case
    assert slow.startswith("fails")
    assert slow.rstrip().endswith("< 1 Mbit/s")
    assert fast.startswith("holds")
    assert "1 claim failed: slow" in ended.err


def test_a_scheme_without_cases_is_refused(bakeoff: Command) -> None:
    ended = bakeoff("conformance", "bbr4")
    assert (ended.code, ended.out) == (2, "")
    assert 'did you mean "bbr3"' in ended.err
