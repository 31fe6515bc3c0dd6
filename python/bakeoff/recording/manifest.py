"""The manifest of a run: everything needed to repeat it and to trust its tables.

It holds no time of day and no duration, so that the same file, seed and version give the same bytes.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from bakeoff.errors import UserError, reason
from bakeoff.recording.provenance import SHOWN_DIGITS, git_state, host, versions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FORMAT = 1
FILE_NAME = "manifest.json"

Status = Literal["complete", "failed", "invalid"]


class PlannedRun(Protocol):
    """What a recording needs to know of a planned run."""

    @property
    def id(self) -> str:
        """Name of the run, also of its folder."""

    @property
    def cell(self) -> Mapping[str, str]:
        """Its place in the matrix."""

    @property
    def repeat(self) -> int:
        """Which repetition, from 1."""

    @property
    def seed(self) -> int:
        """Seed of all its random streams."""

    @property
    def scenario(self) -> Mapping[str, Any]:
        """What the world was asked to run."""


@dataclass(frozen=True)
class Origin:
    """What a world says of a run beside its tables.

    Attributes:
        provenance: see `Manifest`.
        measurements: see `Manifest`.
    """

    provenance: Mapping[str, str] = field(default_factory=dict)
    measurements: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TableEntry:
    """One table of a run.

    Attributes:
        rows: number of rows.
        size_bytes: size of the Parquet file.
        sha256: its digest, by which damage is found on reading.
    """

    rows: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Identity, origin and exit state of one run.

    Attributes:
        run: name of the run.
        cell: its place in the matrix.
        repeat: which repetition, from 1.
        seed: seed of all its random streams.
        status: `complete`; `failed`: it stopped with an error; `invalid`: its packets do not add up.
        error: one sentence if the status is not `complete`.
        scenario: what the world ran, resolved to integers.
        tables: the tables beside this file, by name.
        versions: versions of bakeoff and of the libraries that decide the bytes.
        git: commit of the checkout, and whether it has changes; None outside a checkout.
        host: system, kernel and machine.
        world: what executed the run; empty in recordings that were made before it was noted.
        provenance: what ran it beside bakeoff itself: in `linux` the guest's kernel (name, version, digest) and the
            digest of its program.
        measurements: what was measured of the run itself, where real time had a part in it: in `emu` the lateness of
            packets, CPU time, and the counters of every interface.
        console: the last lines of the guest's console if the status is not `complete`.
        format: version of this layout.
    """

    run: str
    cell: dict[str, str]
    repeat: int
    seed: int
    status: Status
    error: str | None
    scenario: dict[str, Any]
    tables: dict[str, TableEntry] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    git: dict[str, Any] | None = None
    host: dict[str, str] = field(default_factory=dict)
    world: str = ""
    provenance: dict[str, str] = field(default_factory=dict)
    measurements: dict[str, Any] = field(default_factory=dict)
    console: list[str] = field(default_factory=list)
    format: int = FORMAT

    def encode(self) -> bytes:
        """The bytes of the file: sorted keys, two spaces, a final newline."""
        return encode_json(asdict(self))


def encode_json(value: Any) -> bytes:
    """JSON that is the same for equal values and pleasant to read."""
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


def describe(  # noqa: PLR0913 - what a manifest is made of
    run: PlannedRun,
    status: Status,
    error: str | None,
    tables: dict[str, TableEntry] | None = None,
    *,
    world: str,
    origin: Origin,
    console: Sequence[str] = (),
) -> Manifest:
    """The manifest of a run that has just ended on this machine."""
    return Manifest(
        run=run.id,
        cell=dict(run.cell),
        repeat=run.repeat,
        seed=run.seed,
        status=status,
        error=error,
        scenario=dict(run.scenario),
        tables=tables or {},
        versions=versions(),
        git=git_state(),
        host=host(),
        world=world,
        provenance=dict(origin.provenance),
        measurements=dict(origin.measurements),
        console=list(console),
    )


def differences(found: Manifest, provenance: Mapping[str, str]) -> list[str]:
    """What ran a run and is another now, as in "bakeoff 0.1.0 (now 0.2.0)"; what was not noted then is another.

    Args:
        found: of the run.
        provenance: see `Manifest`; what would run it beside bakeoff now.
    """
    before, now = {**found.versions, **found.provenance}, {**versions(), **provenance}
    return [
        f"{name} {before.get(name, 'unknown')[:SHOWN_DIGITS]} (now {value[:SHOWN_DIGITS]})"
        for name, value in now.items()
        if before.get(name) != value
    ]


def read(path: Path) -> Manifest:
    """Reads a manifest.

    Raises:
        UserError: the file is missing, damaged, or of a later version of the layout.
    """
    try:
        return _decode(path, path.read_bytes())
    except FileNotFoundError:
        problem = "is missing"
    except OSError as error:
        problem = f"cannot be read ({reason(error)})"
    except (ValueError, KeyError, TypeError, AttributeError):
        problem = "is damaged or cut short"
    raise UserError(f"{path}: the manifest {problem}; `bakeoff run` with --resume repeats this run")


def check_format(path: Path, number: int) -> None:
    """Refuses a file of a later version of the layout.

    Raises:
        UserError: it is one.
    """
    if number > FORMAT:
        raise UserError(f"{path}: written by a later bakeoff (layout {number}, known: {FORMAT}); update bakeoff")


def _decode(path: Path, content: bytes) -> Manifest:
    entry = json.loads(content)
    check_format(path, entry["format"])
    if entry["status"] not in get_args(Status):
        raise ValueError(entry["status"])
    entry["tables"] = {name: TableEntry(**table) for name, table in entry["tables"].items()}
    return Manifest(**entry)
