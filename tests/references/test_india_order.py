"""What the published runs of India ppp0 tell of the order by throughput of those that fill the link: nearly nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bakeoff.references import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_FILL = ["bbr", "cubic", "copa", "ledbat", "pcc", "vegas", "verus"]
_DRAWS = 4_000


def _runs(scheme: str) -> list[float]:
    """The total of each published run, Mbit/s."""
    row = load("pantheon/india-ppp0").scheme(scheme)
    assert row is not None
    return [run.total.throughput_mbps for run in row.runs if run.total.throughput_mbps is not None]


def _variance_ratio(groups: NDArray[np.float64]) -> float:
    """F: the variance between the means of groups (rows) over that within them."""
    runs = groups.shape[1]
    return float(runs * groups.mean(axis=1).var(ddof=1) / groups.var(axis=1, ddof=1).mean())


def _chance(schemes: Sequence[str]) -> tuple[float, float]:
    """F of these schemes, and how often it is as large when the runs are dealt out at random."""
    groups = np.array([_runs(scheme) for scheme in schemes])
    found = _variance_ratio(groups)
    random = np.random.default_rng(1)
    dealt = (_variance_ratio(random.permuted(groups.ravel()).reshape(groups.shape)) for _ in range(_DRAWS))
    return found, float(np.mean([ratio >= found for ratio in dealt]))


def _like_published(fill: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
    """Rank correlations with the published order if chance orders those that fill the link, and all else is right."""
    published = np.array([np.mean(_runs(scheme)) for scheme in [*fill, *others]])
    random = np.random.default_rng(1)
    perfect = np.tile(published, (_DRAWS, 1))
    perfect[:, : len(fill)] = published.max() + random.random((_DRAWS, len(fill)))
    ranks = perfect.argsort().argsort()
    return np.array([np.corrcoef(rank, published.argsort().argsort())[0, 1] for rank in ranks])


def test_that_they_differ_at_all_cannot_be_told_from_three_runs_each() -> None:
    ratio, chance = _chance(_FILL)
    assert round(ratio, 1) == 2.3
    assert 0.07 < chance < 0.09
    _, without_verus = _chance([scheme for scheme in _FILL if scheme != "verus"])
    assert 0.23 < without_verus < 0.27


def test_a_perfect_model_would_seldom_rank_them_alike() -> None:
    eight = _like_published(_FILL, ["sprout"])
    assert 0.32 < eight.mean() < 0.35
    assert 0.03 < (eight >= 0.8).mean() < 0.05
    twelve = _like_published([*_FILL, "taova", "indigo_2_256"], ["sprout", "indigo_1_32", "indigo_1_128"])
    assert 0.57 < twelve.mean() < 0.59
    assert 0.06 < (twelve >= 0.8).mean() < 0.09
