"""The pages of claims and of conformance have numbers in their units, as the reports have them."""

from __future__ import annotations

import importlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bakeoff.claims import ClaimResult


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "scripts"))


CLAIM = ClaimResult(
    id="C1",
    says="It ends",
    source=None,
    where={"rtt": "10ms"},
    measure="total.spike_ms",
    statistic="median",
    expect="<= 7",
    verdict="holds",
    mean=5.3,
    low=4.9,
    high=5.7,
    runs=5,
    reason=None,
    unit="ms",
)


def test_claims_have_their_units() -> None:
    row = importlib.import_module("claims")._row(asdict(CLAIM))
    assert row == (
        "| **C1** It ends<br>`total.spike_ms` in rtt 10ms | median 5.30 ms (4.90 to 5.70) | ≤ 7 ms | 5 | holds |  |"
    )


@pytest.mark.parametrize(
    ("measure", "expect", "numbers", "cells"),
    [
        ("total.convergence_s", "<= 0.2", (0.1, 0.05, 0.15), "0.100 s (0.0500 to 0.150) | ≤ 0.2 s"),
        ("flow1.loss", ">= 90%", (0.96, 0.95, 0.97), "96.0 % (95.0 to 97.0) | ≥ 90 %"),
        ("flow1.timeouts", "3 +- 0", (3.0, 3.0, 3.0), "3.00 | 3 ± 0"),
    ],
)
def test_conformance_has_its_units(measure: str, expect: str, numbers: tuple[float, ...], cells: str) -> None:
    names = ("measured", "low", "high")
    check: dict[str, Any] = {"id": "a", "says": "It ends", "measure": measure, "expect": expect, "verdict": "holds"}
    check |= {"runs": 5, "reason": None} | dict(zip(names, numbers, strict=True))
    case = {"verdict": "holds", "source": "draft", "path": "10 Mbit/s", "checks": [check]}
    *_, row = importlib.import_module("conformance").table([case])
    assert row == f"| holds | It ends | {cells} |"
