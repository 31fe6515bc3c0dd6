"""Tables of the core as data frames."""

from __future__ import annotations

import numpy as np
import polars as pl

from bakeoff.worlds import frames


def test_words_come_as_they_are_or_as_indices_into_a_list() -> None:
    columns = {
        "flow": np.array([1, 2, 3], dtype=np.uint32),
        "said": ["a", "b", "c"],
        "fate": (np.array([1, 0, 0], dtype=np.uint8), ["dropped", "received"]),
    }
    rows = [(1, "a", "received"), (2, "b", "dropped"), (3, "c", "dropped")]
    table = frames.of_core({"packets": columns})["packets"]
    assert table.rows() == rows
    assert table.schema == {"flow": pl.Int64, "said": pl.String, "fate": pl.String}


def test_words_of_a_table_without_rows_are_words() -> None:
    nothing = np.array([], dtype=np.uint32)
    table = frames.of_core({"packets": {"said": [], "fate": (nothing, []), "mark": (nothing, ["ce"])}})["packets"]
    assert table.schema == dict.fromkeys(("said", "fate", "mark"), pl.String)
    assert table.is_empty()
