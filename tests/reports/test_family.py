"""The page about a family of suites."""

from __future__ import annotations

from collections import Counter

import pytest

from bakeoff.reports import family


@pytest.mark.parametrize(
    ("holds", "fails", "undecided", "said"),
    [
        (55, 6, 1, "55 claims hold, 6 fail, 1 is undecided"),
        (1, 1, 0, "1 claim holds, 1 fails, 0 are undecided"),
        (0, 0, 2, "0 claims hold, 0 fail, 2 are undecided"),
    ],
)
def test_verdicts_are_counted_in_a_sentence(holds: int, fails: int, undecided: int, said: str) -> None:
    assert family.whole(Counter(holds=holds, fails=fails, undecided=undecided)) == said
