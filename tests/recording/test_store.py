"""Result folders: whole or absent, identical when repeated, honest when damaged."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest

import bakeoff
from bakeoff.errors import BakeoffError, RunFailed, UserError
from bakeoff.recording import (
    Origin,
    ResultFolder,
    Timing,
    atomic,
    latest_folder,
    manifest,
    new_folder,
    provenance,
    tables,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_repetition_is_byte_identical(
    tmp_path: Path, plan_of: Callable[..., Any], tables_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 2, seconds=3)
    for name, order in (("first", plan.runs), ("second", plan.runs[::-1])):
        folder = ResultFolder.create(tmp_path / name, plan)
        for run in order:
            folder.write_run(run, tables_of(run.scenario, run.seed), Timing(started=name, wall_s=1.0, cpu_s=2.0))
    first, second = snapshot(tmp_path / "first"), snapshot(tmp_path / "second")
    assert first.pop("journal.jsonl") != second.pop("journal.jsonl")
    assert first == second


def test_sentinels_become_null_and_identity_is_inside(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    folder = filled(plan_of(("cubic",), 1, seconds=3))
    (recording,) = folder.recordings()
    packets = recording.table("packets")
    lost = packets.filter(packets["fate"] != "received")
    assert lost.height > 0
    assert lost["received_ns"].is_null().all()
    assert recording.table("hops")["capacity_bytes"].to_list() == [2_100_000 * 3 // 8, None]
    metadata = pl.read_parquet_metadata(recording.folder / "packets.parquet")
    assert metadata["bakeoff.run"] == "cubic_run1"
    assert json.loads(metadata["bakeoff.cell"]) == {"scheme": "cubic"}


def test_only_times_capacities_and_timeouts_can_be_absent() -> None:
    absent, there = [-1, -1, -1, -1, -1.0], [5, 7, 3, 1, 1.0]
    names = ("t_ns", "capacity_bytes", "timeouts", "count", "value")
    table = pl.DataFrame({name: list(pair) for name, *pair in zip(names, absent, there, strict=True)})
    assert tables.for_keeping(table).rows() == [(None, None, None, -1, -1.0), (5, 7, 3, 1, 1.0)]


def test_times_are_signed() -> None:
    table = pl.DataFrame({"t_ns": [1]}, schema={"t_ns": pl.UInt64})
    assert tables.for_keeping(table).schema == {"t_ns": pl.Int64}


def test_columns_have_unit_suffixes(india: ResultFolder) -> None:
    recording = india.recordings()[0]
    unitless = {"flow", "number", "hop", "verdict", "reason", "fate", "name", "value", "retransmit", "ce", "timeouts"}
    for name in recording.manifest.tables:
        for column in recording.table(name).columns:
            assert column.endswith(
                ("_ns", "_bytes", "_packets", "_marks", "packets", "bytes")
            ) or column in unitless | {"retransmits"}, column


def test_duckdb_reads_the_folder(india: ResultFolder) -> None:
    files = str(india.path / "runs" / "*" / "packets.parquet")
    query = "select count(*), sum(size_bytes) from read_parquet(?) where fate = 'received'"
    (found,) = duckdb.execute(query, [files]).fetchall()
    received = [r.table("packets").filter(pl.col("fate") == "received") for r in india.recordings()]
    assert found == (sum(t.height for t in received), sum(int(t["size_bytes"].sum()) for t in received))


def test_a_manifest_says_what_ran_and_what_a_failed_run_printed(
    tmp_path: Path, plan_of: Callable[..., Any], tables_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic",), 2, seconds=3, world="linux")
    folder = ResultFolder.create(tmp_path / "x", plan)
    kernel = {"kernel": "1-abc"}
    folder.write_run(plan.runs[0], tables_of(plan.runs[0].scenario, 1), origin=Origin(kernel))
    folder.write_failure(plan.runs[1], "it failed", origin=Origin(kernel), console=("one", "two"))
    complete, failed = (recording.manifest for recording in folder.recordings())
    assert (complete.world, complete.provenance, complete.console) == ("linux", kernel, [])
    assert (failed.world, failed.provenance, failed.console) == ("linux", kernel, ["one", "two"])


def test_a_manifest_without_world_and_console_is_read(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    folder = filled(plan_of(("cubic",), 1, seconds=3))
    file = folder.run_folder("cubic_run1") / "manifest.json"
    older = json.loads(file.read_text())
    for name in ("world", "provenance", "console"):
        del older[name]
    file.write_text(json.dumps(older))
    (recording,) = folder.recordings()
    assert (recording.manifest.world, recording.manifest.provenance) == ("", {})


def test_resume_runs_what_is_missing(
    tmp_path: Path, plan_of: Callable[..., Any], tables_of: Callable[..., Any]
) -> None:
    plan = plan_of(("cubic", "bbr"), 1, seconds=3)
    folder = ResultFolder.create(tmp_path / "r", plan)
    first, second = plan.runs
    folder.write_run(first, tables_of(first.scenario, 1))
    folder.write_failure(second, "the core said no.")
    assert [folder.is_complete(run.id) for run in plan.runs] == [True, False]
    assert [r.manifest.status for r in folder.recordings()] == ["complete", "failed"]
    again = ResultFolder.create(tmp_path / "r", plan, resume=True)
    again.write_run(second, tables_of(second.scenario, 1))
    assert all(again.is_complete(run.id) for run in plan.runs)
    assert again.recordings()[1].manifest.error is None
    assert {entry.name for entry in (again.path / "runs").iterdir()} == {run.id for run in plan.runs}


def test_a_build_is_another_where_code_that_decides_a_run_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> str:
        return provenance.versions.__wrapped__()["build"]

    monkeypatch.setattr(bakeoff, "__file__", str(tmp_path / "__init__.py"))
    found = [build()]
    deciding = ("_core.abi3.so", "scheme/host.py", "scenario.py", "experiment/catalogue.py", "recording/tables.py")
    for name in deciding:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
        found.append(build())
    assert len(set(found)) == 1 + len(deciding)
    (tmp_path / "report.py").write_text("x")
    assert build() == found[-1]


def test_only_what_the_checkout_tracks_can_be_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
        command = ["git", "-C", str(tmp_path), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    (tmp_path / "pyproject.toml").write_text("")
    git("init")
    git("add", "pyproject.toml")
    git("commit", "-m", "x")
    monkeypatch.setattr(bakeoff, "__file__", str(tmp_path / "python" / "bakeoff" / "__init__.py"))
    (tmp_path / "results").write_text("of a run")
    assert provenance.git_state.__wrapped__() == {"commit": git("rev-parse", "HEAD"), "changed": False}
    (tmp_path / "pyproject.toml").write_text("changed")
    assert provenance.git_state.__wrapped__() == {"commit": git("rev-parse", "HEAD"), "changed": True}


def test_the_code_that_decides_a_run_is_there() -> None:
    package = Path(bakeoff.__file__).parent
    assert [pattern for pattern in provenance._DECIDING if not any(package.glob(pattern))] == []


def test_resume_refuses_another_experiment(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    ResultFolder.create(tmp_path / "r", plan_of(repeats=2))
    with pytest.raises(UserError, match="add --resume"):
        ResultFolder.create(tmp_path / "r", plan_of(repeats=2))
    with pytest.raises(UserError, match=r"different experiment .* \(repeats changed\)"):
        ResultFolder.create(tmp_path / "r", plan_of(repeats=1), resume=True)
    for repeats in (2, 3):
        with pytest.raises(UserError, match="different experiment or an older version of this one"):
            ResultFolder.create(tmp_path / "r", plan_of(repeats=repeats, scenarios_sha256="x"), resume=True)


def test_resume_adds_repeats(tmp_path: Path, plan_of: Callable[..., Any], tables_of: Callable[..., Any]) -> None:
    few, many = plan_of(("cubic",), 1, seconds=3), plan_of(("cubic",), 10, seconds=3)
    folder = ResultFolder.create(tmp_path / "r", few)
    folder.write_run(few.runs[0], tables_of(few.runs[0].scenario, 1))
    grown = ResultFolder.create(tmp_path / "r", many, resume=True)
    assert [grown.is_complete(run.id) for run in many.runs] == [True] + 9 * [False]
    assert ResultFolder.open(tmp_path / "r").experiment["repeats"] == 10
    reseeded = replace(many, runs=tuple(replace(run, seed=run.seed + 1) for run in many.runs))
    with pytest.raises(UserError, match="holds a different experiment"):
        ResultFolder.create(tmp_path / "r", reseeded, resume=True)


def test_a_folder_in_which_another_process_runs_does_not_grow(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    folder = ResultFolder.create(tmp_path / "r", plan_of(repeats=1))
    with folder.taken(), pytest.raises(UserError, match="another bakeoff is running in this folder"):
        ResultFolder.create(tmp_path / "r", plan_of(repeats=2), resume=True)
    assert ResultFolder.open(tmp_path / "r").experiment["repeats"] == 1


def test_how_an_experiment_is_spelt_makes_no_other_of_it(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    here = {"source": "a.toml", "settings": ["--set seed=1"], "axis_values": {"scheme": {"Mine": "./mine.py:Mine"}}}
    there = {"source": "./a.toml", "settings": [], "axis_values": {"scheme": {"Mine": "/home/x/mine.py:Mine"}}}
    ResultFolder.create(tmp_path / "r", plan_of(repeats=1, **here))
    assert ResultFolder.create(tmp_path / "r", plan_of(repeats=1, **there), resume=True).recordings() == []


def test_a_run_that_cannot_be_trusted_is_not_complete(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    plan = plan_of(("cubic",), 1)
    folder = ResultFolder.create(tmp_path / "r", plan)
    folder.write_failure(plan.runs[0], "packets were late", status="invalid")
    (recording,) = folder.recordings()
    assert (recording.manifest.status, recording.complete) == ("invalid", False)
    assert not folder.is_complete("cubic_run1")


def test_a_folder_of_someone_else_is_left_alone(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="not of ours"):
        ResultFolder.create(tmp_path, plan_of())
    assert snapshot(tmp_path) == {"thesis.tex": b"years of work"}


def test_a_folder_whose_making_was_interrupted_can_be_made(
    tmp_path: Path, plan_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RunFailed, match="make room, then repeat the command"):
            ResultFolder.create(tmp_path / "r", plan_of())
    # As after a kill.
    left = tmp_path / "r" / f"{atomic.TEMPORARY_PREFIX}experiment.json-00000000"
    left.write_text("{")
    with ResultFolder.create(tmp_path / "r", plan_of()).taken():
        assert not left.exists()


@pytest.mark.parametrize("name", ["runs/thesis.tex", "runs", ".partial-thesis", "journal.jsonl"])
def test_a_folder_that_only_looks_like_ours_is_left_alone(
    tmp_path: Path, plan_of: Callable[..., Any], name: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("years of work")
    with pytest.raises(UserError, match="not of ours"):
        ResultFolder.create(tmp_path, plan_of(), resume=True)
    assert snapshot(tmp_path) == {name: b"years of work"}


@pytest.mark.parametrize("damage", ["cut", "altered", "gone"])
def test_a_damaged_table_is_named(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], damage: str
) -> None:
    folder = filled(plan_of(("cubic",), 1, seconds=3))
    path = folder.run_folder("cubic_run1") / "packets.parquet"
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[:1000])
    elif damage == "altered":
        path.write_bytes(content[:1000] + b"\0" + content[1001:])
    else:
        path.unlink()
    with pytest.raises(UserError, match=r"packets\.parquet.*--resume") as caught:
        folder.recordings()[0].table("packets")
    assert "\n" not in str(caught.value)
    assert not folder.is_complete("cubic_run1"), "so that --resume repeats it"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'"x"', b'{"format": 1}', b'{"format": 1, "status": "odd"}', b"\xff\xfe"]
)
def test_a_damaged_manifest_is_named(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any], content: bytes
) -> None:
    folder = filled(plan_of(("cubic",), 1, seconds=3))
    (folder.run_folder("cubic_run1") / "manifest.json").write_bytes(content)
    assert not folder.is_complete("cubic_run1")
    with pytest.raises(UserError, match=r"manifest\.json"):
        folder.recordings()


def test_a_status_that_nobody_knows_is_no_manifest(
    filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]
) -> None:
    folder = filled(plan_of(("cubic",), 1, seconds=3))
    file = folder.run_folder("cubic_run1") / "manifest.json"
    file.write_text(file.read_text().replace('"status": "complete"', '"status": "done"'))
    with pytest.raises(UserError, match=r"manifest\.json: the manifest is damaged or cut short"):
        folder.recordings()


def test_a_later_layout_is_refused(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    folder = filled(plan_of(("cubic",), 1, seconds=3))
    for path, read in (
        (folder.run_folder("cubic_run1") / "manifest.json", folder.recordings),
        (folder.path / "experiment.json", lambda: ResultFolder.open(folder.path)),
    ):
        path.write_text(path.read_text().replace('"format": 1', f'"format": {manifest.FORMAT + 1}'))
        with pytest.raises(UserError, match="later bakeoff"):
            read()


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"{}"])
def test_not_a_result_folder(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "experiment.json").write_bytes(content)
    with pytest.raises(UserError, match=r"experiment\.json"):
        ResultFolder.open(tmp_path)


FULL_OR_BROKEN = [(number, RunFailed) for number in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)]


@pytest.mark.parametrize("trouble", [*FULL_OR_BROKEN, (errno.EACCES, UserError)])
def test_trouble_in_the_middle_leaves_nothing(
    tmp_path: Path,
    plan_of: Callable[..., Any],
    tables_of: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    trouble: tuple[int, type[BakeoffError]],
) -> None:
    number, kind = trouble
    plan = plan_of(("cubic",), 1, seconds=3)
    folder = ResultFolder.create(tmp_path / "r", plan)
    before = snapshot(tmp_path)
    calls = 0

    def fsync(_: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(kind, match="run cubic_run1 could not be written") as caught:
        folder.write_run(plan.runs[0], tables_of(plan.runs[0].scenario, 1))
    assert type(caught.value) is kind
    assert snapshot(tmp_path) == before
    assert not list((tmp_path / "r" / "runs").iterdir())


def _write(path: Path, way: str) -> None:
    if way == "whole":
        atomic.write_file(path, b"new", writing="the report")
        return
    with atomic.stream_file(path, writing="the table") as file:
        file.write(b"new")


@pytest.mark.parametrize("way", ["whole", "piece by piece"])
@pytest.mark.parametrize(
    ("trouble", "seen"), [(OSError(errno.ENOSPC, "full"), RunFailed), (KeyboardInterrupt(), KeyboardInterrupt)]
)
def test_a_file_that_cannot_be_finished_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, trouble: BaseException, seen: type[BaseException]
) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def fsync(_: int) -> None:
        raise trouble

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(seen):
        _write(tmp_path / "file", way)
    assert snapshot(tmp_path) == {"file": b"old"}


@pytest.mark.parametrize("way", ["whole", "piece by piece"])
def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path, way: str) -> None:
    (tmp_path / "far").mkdir()
    link, file = tmp_path / "link", tmp_path / "far" / "file"
    link.symlink_to(file)
    for _ in range(2):
        _write(link, way)
        assert link.is_symlink()
        assert file.read_bytes() == b"new"
    assert [entry.name for entry in file.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("way", ["whole", "piece by piece"])
@pytest.mark.parametrize("kind", ["fifo", "link to a fifo", "folder", "link to itself"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, kind: str, way: str) -> None:
    path = tmp_path / "there"
    if kind == "folder":
        path.mkdir()
    elif kind == "link to itself":
        path.symlink_to(path)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        os.mkfifo(tmp_path / "fifo")
        path.symlink_to(tmp_path / "fifo")
    before = {entry.name: entry.lstat().st_ino for entry in tmp_path.iterdir()}
    with pytest.raises(
        UserError, match=r"/there: is not a regular file, so it is not replaced; name a file with --out"
    ):
        _write(path, way)
    assert {entry.name: entry.lstat().st_ino for entry in tmp_path.iterdir()} == before


def test_a_folder_below_a_file_is_refused(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="could not be written"):
        ResultFolder.create(tmp_path / "file" / "r", plan_of())


def test_what_an_interrupted_writer_left_is_swept(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    plan = plan_of()
    ResultFolder.create(tmp_path / "r", plan)
    left = tmp_path / "r" / "runs" / f"{atomic.TEMPORARY_PREFIX}cubic_run1-00000000"
    left.mkdir()
    (left / "flows.parquet").write_bytes(b"half")
    folder = ResultFolder.create(tmp_path / "r", plan, resume=True)
    assert left.exists(), "somebody may still be writing it"
    with folder.taken():
        assert not left.exists()
    assert folder.recordings() == []


def test_a_folder_is_taken_by_one_process_at_a_time(tmp_path: Path, plan_of: Callable[..., Any]) -> None:
    folder = ResultFolder.create(tmp_path / "r", plan_of())
    left = folder.run_folder(f"{atomic.TEMPORARY_PREFIX}cubic_run1-00000000")
    sentence = r"^\S+/r: another bakeoff is running in this folder; wait for it, or choose another --out$"
    with folder.taken():
        left.mkdir()
        other = ResultFolder.create(tmp_path / "r", plan_of(), resume=True)
        with pytest.raises(UserError, match=sentence), other.taken():
            pass
        assert left.exists(), "it is the other's"
    with other.taken():
        assert not left.exists()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands begin, whose `results` has the results."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_new_folders_do_not_collide_and_latest_follows(here: Path) -> None:
    first = new_folder("pantheon/india-ppp0")
    second = new_folder("pantheon/india-ppp0")
    assert first != second
    assert latest_folder("pantheon/india-ppp0") == second.resolve() == here / second
    assert latest_folder("none") is None


def test_the_latest_is_found_where_all_results_have_moved_to(
    here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = new_folder("x").name
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (here / "results").rename(elsewhere / "results")
    monkeypatch.chdir(elsewhere)
    assert latest_folder("x") == elsewhere / "results" / "x" / name


def test_what_stands_in_place_of_the_link_stays(here: Path) -> None:
    folder = here / "results" / "x"
    (folder / "latest").mkdir(parents=True)
    with pytest.raises(
        UserError, match=r"x/latest: is no link, so it is not replaced; rename it, or name a folder with --out$"
    ):
        new_folder("x")
    assert [entry.name for entry in folder.iterdir()] == ["latest"]


def test_the_journal_survives_a_crash(filled: Callable[..., ResultFolder], plan_of: Callable[..., Any]) -> None:
    plan = plan_of(("cubic",), 2, seconds=3)
    folder = filled(plan)
    with (folder.path / "journal.jsonl").open("ab") as file:
        file.write(b'{"run": "cubic_run2", "started"\xff')
    timings = [recording.timing for recording in folder.recordings()]
    assert [timing.cpu_s for timing in timings if timing] == [0.25, 0.25]
    # The next one is not taken for a part of what was cut short.
    run = plan.runs[1]
    folder.write_failure(run, "it failed", Timing(started="now", wall_s=2.0, cpu_s=1.5))
    assert [recording.timing.cpu_s for recording in folder.recordings() if recording.timing] == [0.25, 1.5]
    assert b"" not in (folder.path / "journal.jsonl").read_bytes().split(b"\n")[:-1]


def test_reading_some_columns(india: ResultFolder) -> None:
    table = india.recordings()[0].table("packets", ["flow", "sent_ns"])
    assert table.columns == ["flow", "sent_ns"]
    assert np.all(np.diff(table["sent_ns"].to_numpy()) >= 0)
