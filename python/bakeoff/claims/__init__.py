"""Claims: what an experiment is expected to show, and whether it did.

Read first: `evaluate` (verdicts over runs), `measure` and `expect` (the two small languages, parsed and never
run as code).
"""

from bakeoff.claims.evaluate import ClaimResult, Verdict, check, evaluate
from bakeoff.claims.expect import Expectation, parse_expectation
from bakeoff.claims.measure import parse_measure
from bakeoff.claims.telemetry import Telemetry
from bakeoff.claims.tokens import ClaimSyntaxError
from bakeoff.claims.tree import Measure

__all__ = [
    "ClaimResult",
    "ClaimSyntaxError",
    "Expectation",
    "Measure",
    "Telemetry",
    "Verdict",
    "check",
    "evaluate",
    "parse_expectation",
    "parse_measure",
]
