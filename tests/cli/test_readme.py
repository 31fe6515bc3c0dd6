"""The experiment of the README, and what the documentation says that it prints."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ended

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXPORTS = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")


def block(begins: str) -> str:
    """The indented block of the README that begins so."""
    (found,) = re.findall(rf"^    {re.escape(begins)}.*?(?=^\S)", README, re.MULTILINE | re.DOTALL)
    return textwrap.dedent(found)


@pytest.fixture
def experiment(here: Path) -> Path:
    """Its file."""
    file = here / "short-buffer.toml"
    file.write_text(block('name = "short-buffer"'), encoding="utf-8")
    return file


def test_a_scheme_of_ones_own_does_as_the_readme_says(bakeoff: Callable[..., Ended], experiment: Path) -> None:
    (experiment.parent / "my_scheme.py").write_text(block("from bakeoff.scheme import"), encoding="utf-8")
    ended = bakeoff("run", experiment.name, "--scheme", "cubic,./my_scheme.py:MyScheme")
    assert ended.code == 0, ended.err
    shown = re.findall(r"^    (?:scheme  |TCP Cubic|MyScheme) .*", README, re.MULTILINE)
    assert len(shown) == 3
    assert {line.strip() for line in shown} <= {line.strip() for line in ended.out.splitlines()}


def test_the_tables_of_its_exports_are_those_of_the_page(bakeoff: Callable[..., Ended], experiment: Path) -> None:
    assert bakeoff("run", experiment.name, "--out", "short").code == 0
    assert bakeoff("export", "short", "--format", "csv").code == 0
    flows = pl.read_csv("short/csv/flows.csv").filter(pl.col("flow") > 0)
    means = flows.group_by("cell.scheme", "flow").agg(pl.col("goodput_mbps", "owd_p95_ms", "loss").mean())
    rows = means.sort("cell.scheme", "flow").rows()
    by_pandas = re.findall(r"^    (?:bbr|cubic|vegas)? +(\d) +([\d.]+) +([\d.]+) +([\d.]+)$", EXPORTS, re.MULTILINE)
    by_duckdb = re.findall(r"^    │ (\w+) +│ +(\d) │ +([\d.]+) │ +([\d.]+) │$", EXPORTS, re.MULTILINE)
    assert len(by_pandas) == len(by_duckdb) == len(rows) == 6
    for (scheme, flow, *values), pandas, duckdb in zip(rows, by_pandas, by_duckdb, strict=True):
        assert [float(text) for text in pandas] == [flow, *(round(value, 4) for value in values)]
        assert duckdb[0] == scheme
        assert [float(text) for text in duckdb[1:]] == [flow, *(round(value, 2) for value in values[:2])]
