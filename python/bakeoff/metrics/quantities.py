"""Conversions between what recordings count in (ns, bytes) and what reports speak in (s, ms, Mbit/s)."""

from __future__ import annotations

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


def mbps(size_bytes: float, duration_ns: float) -> float | None:
    """Rate in Mbit/s of bytes over a duration; None if the duration is not positive."""
    return 8e3 * size_bytes / duration_ns if duration_ns > 0 else None


def ms(time_ns: float | None) -> float | None:
    """Nanoseconds as milliseconds; None stays None."""
    return None if time_ns is None else time_ns / NS_PER_MS
