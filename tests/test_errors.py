"""What the system says of an error, in our sentences."""

from __future__ import annotations

import pytest

from bakeoff.errors import reason


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(13, "Permission denied", "/Far/X"), "permission denied"),
        (OSError("No Such File: /Far/X"), "no Such File: /Far/X"),
        (ValueError("embedded null byte"), "embedded null byte"),
        (ValueError(), ""),
    ],
)
def test_only_the_first_letter_changes(error: Exception, said: str) -> None:
    assert reason(error) == said
