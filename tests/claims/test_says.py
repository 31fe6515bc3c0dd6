"""Claims of the suites can be read alone."""

from __future__ import annotations

import re
import tomllib

import pytest

from bakeoff import suites

LEANS = re.compile(r"\.\.\.|(And|As long as it|Before a|But|It|Once it|So|Th(at|e same|em|en|ese|ey|ose|ough)|Which)\b")


@pytest.mark.parametrize("suite", suites.names())
def test_what_a_claim_says_does_not_lean_on_the_one_before(suite: str) -> None:
    claims = tomllib.loads(suites.file(suite).read_text(encoding="utf-8")).get("claim", [])
    assert [claim["says"] for claim in claims if LEANS.match(claim["says"])] == []
    assert [claim["says"] for claim in claims if "percentile of their" in claim["says"][:40]] == []
