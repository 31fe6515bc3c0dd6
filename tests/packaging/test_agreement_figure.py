"""The figure of a page on agreement: how far the worlds differ is read off it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
CIRCLE = re.compile(
    r'<circle cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+" fill="(#\w+)" fill-opacity="[\d.]+"( stroke="[^"]+")?'
)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> str:
    """The figure of three flows: alike, 3 % above and a fifth of the kernel's."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    pages = importlib.import_module("agreement_pages").PAGES
    cells = [
        cell("reno", 10.0, 10.0, 0.0),
        cell("cubic", 103.0, 100.0, 1.0),
        cell("cubic", 0.2, 1.0, 26.7, link="2M-40ms"),
        cell("bbr", 1.0, 1.0, None),
    ]
    figure: str = importlib.import_module("agreement_figure").figure(pages["schemes"], cells)
    return figure


def cell(scheme: str, here: float, there: float, tolerances: float | None, **axes: str) -> dict[str, Any]:
    return {
        "suite": "agreement-one",
        "scheme": scheme,
        "flow": 1,
        "metric": "throughput_mbps",
        "cell": {"scheme": scheme} | axes,
        "a": {"mean": here},
        "b": {"mean": there},
        "tolerance_ratio": tolerances,
    }


def test_three_percent_are_far_from_the_line_of_zero(drawn: str) -> None:
    (zero,) = (float(y) for y in re.findall(r'y="([\d.]+)" text-anchor="end">0 %<', drawn))
    (alike, above, below) = (float(y) for _, y, _, _ in CIRCLE.findall(drawn))
    assert alike == pytest.approx(zero - 4, abs=0.11)
    (three,) = (float(y) for y in re.findall(r'y="([\d.]+)" text-anchor="end">\+3 %<', drawn))
    assert above == pytest.approx(three - 4, abs=0.11)
    assert alike - above > 20
    assert below > alike + 80


def test_schemes_and_what_is_far_have_names(drawn: str) -> None:
    assert re.findall(r'font-weight="bold">([^<]+)<', drawn)[1:] == ["reno", "cubic"], "bbr has no value"
    assert re.findall(r'paint-order="stroke">([^<]+)<', drawn) == ["2M-40ms, flow 1"]
    assert [bool(edge) for _, _, _, edge in CIRCLE.findall(drawn)] == [False, False, True]
    assert drawn.count(">one<") == 2


def test_the_parts_of_all_groups_have_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    page = importlib.import_module("agreement_pages").PAGES["schemes"]
    cells = [
        cell(scheme, 1.0, 1.0, 0.0) | {"suite": f"agreement-{suite}"}
        for scheme, suite in (("cubic", "one"), ("reno", "loss"), ("cubic", "loss"), ("reno", "one"))
    ]
    columns = importlib.import_module("agreement_figure").columns_of(page, cells)
    assert [(column.row, column.part) for column in columns] == [
        ("reno", "one"),
        ("reno", "loss"),
        ("cubic", "one"),
        ("cubic", "loss"),
    ]


def test_what_both_worlds_lack_is_no_panel(drawn: str) -> None:
    assert "Throughput per flow: simulator over Linux" in drawn
    assert "Loss" not in drawn
