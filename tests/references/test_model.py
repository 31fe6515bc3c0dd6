"""What a published report says of all flows together."""

from __future__ import annotations

from bakeoff.references.model import Published, PublishedRun, PublishedScheme


def test_totals_are_means_of_the_runs_that_have_them() -> None:
    numbers = (Published(1.0, 10.0, 0.1), Published(3.0, 30.0, None))
    runs = tuple(PublishedRun(number, total, {}) for number, total in enumerate(numbers, 1))
    row = PublishedScheme(name="x", key="x", run_count=2, flows={}, runs=runs)
    assert row.total == Published(2.0, 20.0, 0.1)
