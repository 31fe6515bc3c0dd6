"""Tables to Parquet bytes and back.

Rust marks what does not exist by -1; in a recording it is null. Every file carries the identity of its run
in its own metadata, so that a file sent by mail still says where it belongs.
"""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING

# Polars fetches numpy when it first needs it, and two threads that do so at once collide: it must be there before.
import numpy as np  # noqa: F401
import polars as pl
from polars.exceptions import PolarsError

from bakeoff.errors import UserError, reason
from bakeoff.recording.manifest import TableEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SENTINEL = -1
# Times, capacities, what headers say and what a transport may not tell can be absent; other counts always exist.
_NULLABLE_SUFFIX = "_ns"
_NULLABLE = frozenset(
    {"timeouts", "capacity_bytes", "flags", "payload_bytes", "sequence_bytes", "acknowledged_bytes"}
    | {f"sack_{number}_{edge}_bytes" for number in (1, 2, 3) for edge in ("start", "end")}
)


def for_keeping(table: pl.DataFrame) -> pl.DataFrame:
    """A table as it is stored: null for the sentinel -1 in the columns that may lack a value, and no unsigned 64-bit.

    The difference of two unsigned times is an error in some readers and a float in others.
    """
    table = table.with_columns(pl.col(pl.UInt64).cast(pl.Int64))
    columns = [
        name
        for name, kind in table.schema.items()
        if kind.is_signed_integer() and (name.endswith(_NULLABLE_SUFFIX) or name in _NULLABLE)
    ]
    return table.with_columns(pl.when(pl.col(name) != SENTINEL).then(pl.col(name)).alias(name) for name in columns)


def encode(table: pl.DataFrame, identity: Mapping[str, str]) -> tuple[bytes, TableEntry]:
    """Parquet bytes (zstd) of a table, and its entry in the manifest.

    Args:
        table: the table as the world returned it.
        identity: what the file says about its run.
    """
    buffer = io.BytesIO()
    for_keeping(table).write_parquet(buffer, compression="zstd", metadata=dict(sorted(identity.items())))
    content = buffer.getvalue()
    entry = TableEntry(rows=table.height, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    return content, entry


def decode(path: Path, entry: TableEntry, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Reads a table and checks that it is what was written.

    Args:
        path: the Parquet file.
        entry: its entry in the manifest.
        columns: which columns to read; all by default.

    Raises:
        UserError: the file is missing, cut short or altered.
    """
    try:
        content = path.read_bytes()
        if len(content) != entry.size_bytes:
            problem = f"is cut short ({len(content)} of {entry.size_bytes} bytes)"
        elif hashlib.sha256(content).hexdigest() != entry.sha256:
            problem = "was altered after it was written"
        else:
            return pl.read_parquet(io.BytesIO(content), columns=None if columns is None else list(columns))
    except OSError as error:
        problem = f"cannot be read ({reason(error)})"
    except PolarsError as error:
        problem = f"is not a readable Parquet file ({error})"
    raise UserError(f"{path}: the table {problem}; `bakeoff run` with --resume repeats this run")


def is_whole(path: Path, entry: TableEntry) -> bool:
    """Whether a table is what was written.

    Args:
        path: the Parquet file.
        entry: its entry in the manifest.

    Raises:
        OSError: it cannot be read.
    """
    if path.stat().st_size != entry.size_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == entry.sha256


def scan(path: Path, entry: TableEntry) -> pl.LazyFrame:
    """A table to be read in parts, after a check that it is what was written.

    Args:
        path: the Parquet file.
        entry: its entry in the manifest.

    Raises:
        UserError: the file is missing, cut short or altered.
    """
    try:
        if is_whole(path, entry):
            return pl.scan_parquet(path)
        problem = "was cut short or altered after it was written"
    except OSError as error:
        problem = f"cannot be read ({reason(error)})"
    raise UserError(f"{path}: the table {problem}; `bakeoff run` with --resume repeats this run")
