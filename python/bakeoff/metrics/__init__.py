"""What recordings mean: Pantheon's definitions exactly as they are, and corrected ones beside them.

Read first: `summarise` (one run in numbers), `pantheon` and `corrected` (the definitions), `statistics`
(means over repeats).
"""

from bakeoff.metrics.contract import run_to_json, to_json
from bakeoff.metrics.definitions import DEFINITIONS, Definition
from bakeoff.metrics.hops import HopSummary
from bakeoff.metrics.probes import ProbeSummary
from bakeoff.metrics.summary import FlowSummary, RunSummary, TotalSummary, summarise

__all__ = [
    "DEFINITIONS",
    "Definition",
    "FlowSummary",
    "HopSummary",
    "ProbeSummary",
    "RunSummary",
    "TotalSummary",
    "run_to_json",
    "summarise",
    "to_json",
]
