"""Tables of the core as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np  # noqa: F401 - the core would load it within the first run, and its time be taken for the run's
import polars as pl
from polars import selectors

if TYPE_CHECKING:
    from collections.abc import Mapping


def of_core(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, pl.DataFrame]:
    """Data frames of what the core returns, by name of the table."""
    return {name: _frame(columns) for name, columns in tables.items()}


def _frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    table = pl.DataFrame({name: _column(values) for name, values in columns.items()})
    # Unsigned columns would wrap in the first subtraction of a reader; no count or time needs the 64th bit.
    return table.with_columns(selectors.unsigned_integer().cast(pl.Int64))


def _column(values: Any) -> Any:
    """A column; lists of words have no type when they are empty."""
    match values:
        case list():
            return pl.Series(values, dtype=pl.String)
        case (codes, words):
            return pl.Series(words, dtype=pl.String).gather(codes)
    return values
