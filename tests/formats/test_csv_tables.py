"""Tables in CSV have the numbers of the JSON, and the recipes of the docs those of the tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

from bakeoff.formats import csv_tables
from bakeoff.metrics import summarise
from bakeoff.metrics.contract import run_to_json

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from bakeoff.recording import ResultFolder

DOCS = Path(__file__).resolve().parents[2] / "docs"


def looked_up(value: Any, column: str) -> Any:
    """What the JSON has under a name with dots; None behind what does not exist."""
    for name in column.split("."):
        value = None if value is None else value[name]
    return value


def test_every_number_of_the_json_is_there(short: ResultFolder, tmp_path: Path) -> None:
    recordings = short.recordings()
    files = list(csv_tables.write(recordings, tmp_path))
    assert [file.name for file in files] == ["flows.csv", "hops.csv"]
    table = duckdb.read_csv(str(files[0]))
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]
    runs = [run_to_json(summarise(recording)) for recording in recordings]
    places = [(one, entry) for one in runs for entry in [*one["flows"], {"flow": 0, **one["total"]}]]
    assert len(rows) == len(places) == 12
    told = 0
    for row, (one, entry) in zip(rows, places, strict=True):
        assert (row["run"], row["cell.scheme"]) == (one["id"], one["cell"]["scheme"])
        assert (row["repeat"], row["seed"]) == (one["repeat"], one["seed"])
        for column, value in row.items():
            if column.partition(".")[0] in entry:
                assert value == looked_up(entry, column), column
                told += value is not None
            elif column not in {"run", "cell.scheme", "repeat", "seed", "duration_s", "cpu_s"}:
                assert value is None, column
    assert told > 12 * 15
    assert rows[0]["cell.scheme"] == "gentle"
    assert rows[0]["scheme"] == "cubic"


def test_hops_and_probes_have_tables_of_their_own(office: ResultFolder, tmp_path: Path) -> None:
    files = {file.stem: pl.read_csv(file) for file in csv_tables.write(office.recordings(), tmp_path)}
    (summary,) = (summarise(recording) for recording in office.recordings())
    assert files["hops"]["hop"].to_list() == [hop.hop for hop in summary.hops]
    (marked,) = summary.hops[0].marked.items()
    assert files["hops"][f"marked.{marked[0]}"].to_list() == [marked[1], None]
    assert files["probes"]["rtt_p95_ms"].to_list() == [probe.rtt_p95_ms for probe in summary.probes]


def test_the_recipes_of_the_docs_say_what_the_tables_say(
    short: ResultFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(short.path.parent)
    text = (DOCS / "exports.md").read_text(encoding="utf-8")
    (query,) = re.findall("```sql\n(.*?)```", text, re.DOTALL)
    (script,) = re.findall("```python\n(.*?)```", text, re.DOTALL)
    found: dict[str, Any] = {}
    exec(script, found)  # noqa: S102 - ours
    flows = pl.read_csv(next(csv_tables.write(short.recordings(), tmp_path))).filter(pl.col("flow") > 0)
    columns = (pl.col("goodput_mbps").mean().round(2), pl.col("owd_p95_ms").mean().round(2))
    ours = flows.group_by("cell.scheme", "flow").agg(columns).sort("cell.scheme", "flow")
    assert duckdb.execute(query).fetchall() == ours.rows()
    assert [row[1:] for row in found["found"].rows()] == [row[1:] for row in ours.rows()]
    assert found["found"]["scheme"].to_list() == ["cubic", "cubic", "vegas", "vegas"]


def test_the_page_of_recordings_has_the_types_of_the_files(office: ResultFolder) -> None:
    (recording,) = office.recordings()
    sections = (DOCS / "reference" / "recording.md").read_text(encoding="utf-8").split("\n## `")[1:]
    assert {section.partition("`")[0] for section in sections} == set(
        json.loads((recording.folder / "manifest.json").read_text())["tables"]
    )
    for section in sections:
        schema = pl.read_parquet_schema(recording.folder / f"{section.partition('`')[0]}.parquet")
        told = dict(re.findall(r"^\| `(\w+)` \| (\w+)(?: or null)? \|", section, re.MULTILINE))
        assert told == {name: str(kind).lower() for name, kind in schema.items()}


def test_a_run_that_pantheon_would_have_discarded_has_its_columns(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], tmp_path: Path
) -> None:
    plan = plan_of(("cubic",), 1, flows=2, seconds=4)
    # Nothing of the second flow arrives before the end.
    plan.runs[0].scenario["flows"][1]["start_ns"] = 3_990_000_000
    flows, _ = csv_tables.write(filled(plan).recordings(), tmp_path)
    table = pl.read_csv(flows)
    assert table["pantheon_discarded"].drop_nulls().len() > 0
    judged = [column for column in table.columns if column.startswith("pantheon.")]
    assert judged == ["pantheon.throughput_mbps", "pantheon.owd_p95_ms", "pantheon.loss"]
    assert table.select(judged).null_count().row(0) == (3, 3, 3)
    assert "pantheon" not in table.columns
