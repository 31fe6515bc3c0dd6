"""The output folder of an experiment.

- `experiment.json`: the resolved experiment and its plan
- `runs/<run>/`: `manifest.json` and one Parquet file a table
- `journal.jsonl`: what varies between executions: time, load
- `report.html`: made from the rest, at any time
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
from typing import TYPE_CHECKING, Any, Protocol

from bakeoff.errors import UserError, reason
from bakeoff.recording import atomic, journal, lock, manifest, sameness, tables
from bakeoff.recording.latest import LATEST
from bakeoff.recording.recording import RunRecording

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from bakeoff.recording.journal import Timing
    from bakeoff.recording.manifest import Origin, PlannedRun, Status

EXPERIMENT = "experiment.json"
JOURNAL = "journal.jsonl"
REPORT = "report.html"
RUNS = "runs"

_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=,@%-]*")


class Plan(Protocol):
    """What a result folder needs to know of a plan."""

    @property
    def runs(self) -> Sequence[PlannedRun]:
        """The runs, in the order in which they are reported."""

    def to_json(self) -> dict[str, Any]:
        """The resolved experiment, as it is kept in the folder."""


class ResultFolder:
    """The output folder of one experiment. Safe to write to from several threads.

    Attributes:
        path: the folder.
        experiment: the resolved experiment.
        plan: identity (`id`, `cell`, `repeat`, `seed`) of every planned run, in order.
    """

    def __init__(self, path: Path, experiment: dict[str, Any], plan: list[dict[str, Any]]) -> None:
        self.path = path
        self.experiment = experiment
        self.plan = plan
        self._lock = threading.Lock()

    @classmethod
    def create(cls, path: Path, plan: Plan, *, resume: bool = False) -> ResultFolder:
        """Makes the folder for a plan, or takes up an earlier one.

        Args:
            path: where; parents are made.
            plan: what will run.
            resume: take up a folder that already holds this very plan, or the same with fewer repeats.

        Raises:
            UserError: the folder cannot be made, already holds an experiment, or another one than is resumed.
        """
        identities = [
            {"id": run.id, "cell": dict(run.cell), "repeat": run.repeat, "seed": run.seed} for run in plan.runs
        ]
        for name in (entry["id"] for entry in identities):
            if not _RUN_NAME.fullmatch(str(name)):
                raise ValueError(f"{name!r} cannot be the name of a folder")
        content = {"format": manifest.FORMAT, "experiment": plan.to_json(), "plan": identities}
        target = path / EXPERIMENT
        is_there = False
        with atomic.explained(path, writing="the result folder"):
            if target.exists():
                is_there = _is_there(path, content, plan.runs, resume=resume)
            elif path.is_dir() and not all(map(_is_of_create, path.iterdir())):
                raise UserError(f"{path}: not empty, and not of ours; choose an empty or new folder with --out")
            (path / RUNS).mkdir(parents=True, exist_ok=True)
        if not is_there:
            with lock.held(path / JOURNAL):
                atomic.write_file(target, manifest.encode_json(content), writing="the experiment")
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> ResultFolder:
        """Opens a folder that a run has made.

        Raises:
            UserError: it is not such a folder, or its `experiment.json` is damaged.
        """
        target = path / EXPERIMENT
        try:
            content = _decode(target)
        except OSError as error:
            there = f"there is one at {path / LATEST}" if (path / LATEST / EXPERIMENT).is_file() else ""
            advice = there or "give the folder that `bakeoff run` named"
            message = f"{path}: not a result folder of bakeoff ({EXPERIMENT}: {reason(error)}); {advice}"
            raise UserError(message) from error
        return cls(path, content["experiment"], content["plan"])

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Keeps others from running in the folder, and removes what an interrupted process has left half-written.

        Raises:
            UserError: another process is running in it.
        """
        with lock.held(self.path / JOURNAL):
            with atomic.explained(self.path, writing="the result folder"):
                atomic.sweep(self.path / RUNS)
                atomic.sweep(self.path, EXPERIMENT)
            yield

    def run_folder(self, run: str) -> Path:
        """Where a run's files are or will be."""
        return self.path / RUNS / run

    def is_complete(self, run: str) -> bool:
        """Whether a run ended well and all its tables are what was written."""
        folder = self.run_folder(run)
        try:
            found = manifest.read(folder / manifest.FILE_NAME)
            return found.status == "complete" and all(
                tables.is_whole(folder / f"{name}.parquet", entry) for name, entry in found.tables.items()
            )
        except (UserError, OSError):
            return False

    def differences(self, run: str, provenance: Mapping[str, str]) -> list[str]:
        """What a complete run came from and is another now; see `manifest.differences`."""
        return manifest.differences(manifest.read(self.run_folder(run) / manifest.FILE_NAME), provenance)

    def write_run(
        self,
        run: PlannedRun,
        run_tables: Mapping[str, pl.DataFrame],
        timing: Timing | None = None,
        *,
        origin: Origin | None = None,
    ) -> None:
        """Writes a complete run; an earlier folder of the same run is replaced.

        Args:
            run: what ran.
            run_tables: its tables by name, as the world returned them (-1: does not exist).
            timing: how long it took, for the journal.
            origin: what else the world says of it, for the manifest.

        Raises:
            UserError: the folder cannot be written; nothing half-written is left.
        """
        identity = {
            "bakeoff.run": run.id,
            "bakeoff.cell": json.dumps(dict(run.cell), sort_keys=True),
            "bakeoff.repeat": str(run.repeat),
            "bakeoff.seed": str(run.seed),
            "bakeoff.experiment": str(self.experiment.get("name", "")),
        }
        files: dict[str, bytes] = {}
        entries: dict[str, manifest.TableEntry] = {}
        for name, table in run_tables.items():
            files[f"{name}.parquet"], entries[name] = tables.encode(table, {**identity, "bakeoff.table": name})
        described = manifest.describe(
            run, "complete", None, entries, world=self._world, origin=origin or manifest.Origin()
        )
        files[manifest.FILE_NAME] = described.encode()
        self._put(run.id, "complete", files, timing)

    def write_failure(  # noqa: PLR0913 - what a failed run leaves
        self,
        run: PlannedRun,
        error: str,
        timing: Timing | None = None,
        *,
        status: Status = "failed",
        origin: Origin | None = None,
        console: Sequence[str] = (),
    ) -> None:
        """Notes that a run failed: a folder with only a manifest, which `--resume` replaces.

        Args:
            run: what ran.
            error: one sentence.
            timing: how long it took, for the journal.
            status: `failed`, or `invalid` if its packets do not add up.
            origin: what else the world says of it, for the manifest.
            console: the last lines that it printed, for the manifest.

        Raises:
            UserError: the folder cannot be written.
        """
        described = manifest.describe(
            run, status, error, world=self._world, origin=origin or manifest.Origin(), console=console
        )
        self._put(run.id, status, {manifest.FILE_NAME: described.encode()}, timing)

    @property
    def _world(self) -> str:
        return str(self.experiment.get("world", ""))

    def _put(self, run: str, status: Status, files: Mapping[str, bytes], timing: Timing | None) -> None:
        atomic.write_folder(self.run_folder(run), files, writing=f"run {run}")
        with self._lock:
            journal.append(self.path / JOURNAL, run, status, timing)

    def write_report(self, content: str, target: Path | None = None) -> Path:
        """Writes a report, by default `report.html` in the folder, and returns its path."""
        path = target or self.path / REPORT
        atomic.write_file(path, content.encode(), writing="the report")
        return path

    def recordings(self) -> list[RunRecording]:
        """Every run that left a manifest, in the order of the plan.

        Raises:
            UserError: a manifest is damaged.
        """
        timings = journal.read(self.path / JOURNAL)
        found = []
        for entry in self.plan:
            run = str(entry["id"])
            folder = self.run_folder(run)
            if folder.is_dir():
                found.append(RunRecording(folder, manifest.read(folder / manifest.FILE_NAME), timings.get(run)))
        return found


def _is_of_create(entry: Path) -> bool:
    """Whether this is what is left where making a folder was interrupted, as by a full disk: nothing ran in it yet."""
    if entry.name == RUNS:
        return entry.is_dir() and not any(entry.iterdir())
    if entry.name == JOURNAL:
        return entry.is_file() and entry.stat().st_size == 0
    return atomic.is_temporary(entry, EXPERIMENT)


def _is_there(path: Path, content: Mapping[str, Any], runs: Sequence[PlannedRun], *, resume: bool) -> bool:
    """Whether a folder holds this experiment as it is; False where it holds fewer repeats of it.

    Raises:
        UserError: it is not to be resumed, or holds another one.
    """
    if not resume:
        message = f"{path}: already holds an experiment; add --resume to run what is missing"
        raise UserError(f"{message}, or choose another folder with --out")
    there = sameness.essence(_decode(path / EXPERIMENT))
    here = sameness.essence(json.loads(manifest.encode_json(content)))
    if there != here and not sameness.has_fewer_repeats(there, here):
        found = sameness.differences(there, here, path / RUNS, runs)
        what = f" ({', '.join(found)} changed)" if found else ""
        message = f"{path}: holds a different experiment or an older version of this one{what}, "
        raise UserError(f"{message}so it cannot be resumed; choose another --out")
    return there == here


def _decode(target: Path) -> dict[str, Any]:
    """The content of an `experiment.json`.

    Raises:
        UserError: it is damaged, or of a later version of the layout.
        OSError: it cannot be read.
    """
    try:
        content: dict[str, Any] = json.loads(target.read_bytes())
        manifest.check_format(target, content["format"])
        sound = isinstance(content["experiment"], dict) and isinstance(content["plan"], list)
    except (ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise UserError(f"{target}: damaged or cut short; run the experiment again into a new folder")
    return content
