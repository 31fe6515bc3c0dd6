"""How evenly flows share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def jain(shares: Sequence[float]) -> float | None:
    """Jain's fairness index, `(sum x)^2 / (n * sum x^2)`: 1 for equal shares, 1/n if one flow has everything.

    Source: R. Jain, D. Chiu, W. Hawe, DEC-TR-301 (1984).

    Args:
        shares: one non-negative share a flow; a starved flow is a share of 0.

    Returns:
        A ratio in 1/n..1; None for fewer than two flows or if all shares are 0.
    """
    top = max(shares, default=0.0)
    if len(shares) < 2 or top <= 0:
        return None
    scaled = [share / top for share in shares]
    return math.fsum(scaled) ** 2 / (len(scaled) * math.fsum(share * share for share in scaled))
