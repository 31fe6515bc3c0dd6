"""Reading one run back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bakeoff.recording import tables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from bakeoff.recording.journal import Timing
    from bakeoff.recording.manifest import Manifest


@dataclass(frozen=True)
class RunRecording:
    """What one run wrote.

    Attributes:
        folder: where its files are.
        manifest: identity, origin and exit state.
        timing: how long it took; None if the journal does not say.
    """

    folder: Path
    manifest: Manifest
    timing: Timing | None = None

    @property
    def id(self) -> str:
        """Name of the run."""
        return self.manifest.run

    @property
    def complete(self) -> bool:
        """Whether the run ended well and has tables."""
        return self.manifest.status == "complete"

    @property
    def scenario(self) -> dict[str, Any]:
        """What the world ran."""
        return self.manifest.scenario

    @property
    def level(self) -> str:
        """How much was recorded: `summary`, `series` or `packets`."""
        return str(self.scenario["record"]["level"])

    def has(self, name: str) -> bool:
        """Whether the run recorded this table."""
        return name in self.manifest.tables

    def table(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """One table of the run; times in nanoseconds from its start, what does not exist is null.

        Args:
            name: such as `flows`, `hops`, `series` or `packets`.
            columns: which columns to read; all by default.

        Raises:
            KeyError: the run did not record this table.
            UserError: the file is missing or damaged.
        """
        return tables.decode(self.folder / f"{name}.parquet", self.manifest.tables[name], columns)

    def scan(self, name: str) -> pl.LazyFrame:
        """A table to be read in parts, for those that may be larger than memory; otherwise as `table`."""
        return tables.scan(self.folder / f"{name}.parquet", self.manifest.tables[name])
