"""What this process may use of the machine that it runs on."""

from __future__ import annotations

import os


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0))


def memory_bytes() -> int:
    """The memory that is installed."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
