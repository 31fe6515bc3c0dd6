"""`bakeoff conformance`: the cases of BBRv3's draft, and a scheme that does not follow it."""

from __future__ import annotations

import io
import json
import tomllib
from typing import TYPE_CHECKING, Any

from rich.console import Console

from bakeoff import suites
from bakeoff.claims import ClaimResult
from bakeoff.reports import conformance, terminal, words
from bakeoff.reports.conformance import Case
from bakeoff.reports.console import PIPE_WIDTH

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
    heading, case, rest, slow, fast = ended.out.splitlines()
    assert heading.split() == ["verdict", "case", "measured", "expected"]
    path = "10 Mbit/s, from 1 s 5 Mbit/s, 50 packets, 40 ms of round trip, 1 s of data and 10 ms of silence in turn"
    assert case.startswith("fails")
    assert f"{case.removeprefix('fails').strip()} {rest.strip()}" == f"somebody ({path})", "broken between words"
    assert slow.startswith("fails")
    assert slow.rstrip().endswith("< 1 Mbit/s")
    assert fast.startswith("holds")
    assert "1 claim failed: slow" in ended.err


def test_in_a_pipe_sentences_are_broken_and_numbers_are_not() -> None:
    claim = ClaimResult(
        id="x",
        says="a sentence " * 20,
        source="",
        measure="total.loss",
        expect="between 0.123 and 0.456",
        verdict="undecided",
        mean=1,
        low=0.5,
        high=1.5,
        runs=2,
        reason="a reason " * 12,
    )
    out = io.StringIO()
    conformance.show([Case("a source " * 20, "a path " * 60, (claim,))], Console(file=out, width=PIPE_WIDTH))
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 160
    assert [text.count(word) for word in ("sentence", "reason", "source", "path")] == [20, 12, 20, 60]
    assert words.expected(claim) in text
    assert terminal.measured(claim) in text
    assert all(
        line.startswith(" " * 13) for line in text.splitlines() if "sentence" in line and "undecided" not in line
    )


def test_a_scheme_without_cases_is_refused(bakeoff: Command) -> None:
    ended = bakeoff("conformance", "bbr4")
    assert (ended.code, ended.out) == (2, "")
    assert 'did you mean "bbr3"' in ended.err
