"""A laboratory for congestion control: one experiment file, one plan, one recording, one report.

Start at `bakeoff.experiment` (what is run), `bakeoff.worlds` (what runs it), `bakeoff.recording` (what it wrote) and
`bakeoff.metrics` (what that means).
"""

from bakeoff._core import version

__version__ = version()
"""The version of this package and of its compiled core, as in `1.2.3`."""
