"""Sizes beyond which an experiment is a slip of the pen, and refused before anything is allocated."""

MAX_FLOWS = 10_000
"""Flows of one run."""

MAX_PROBES = 100
"""Probes of one run."""

MAX_REPEATS = 10_000
"""Repeats of one cell."""

MAX_RUNS = 100_000
"""Runs of one plan."""

MAX_PACKETS = 10**10
"""Packets of one run: some two hours of one core."""

MAX_LINK_STEPS = 10**9
"""Steps of a schedule, or opportunities of a trace, in one run."""

MIN_MSS_BYTES = 100
MAX_MSS_BYTES = 65_000
"""Payload of a full packet; with its headers it fits an IP packet."""

MIN_PROBE_BYTES = 36
MAX_PROBE_BYTES = 65_000
"""IP size of a probe's packet: from IP and UDP headers with a number, to nearly what IP can carry."""

HEADER_BYTES = 52
"""IPv4 and TCP headers with timestamps: 20 + 20 + 12."""
