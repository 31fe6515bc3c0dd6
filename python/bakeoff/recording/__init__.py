"""What runs leave behind: a folder of Parquet tables and JSON manifests that outlives the program.

Read first: `ResultFolder` (one experiment's output) and `RunRecording` (what one run wrote). A run is either
complete or absent: its folder is written under a temporary name, synced to disk, and renamed.
"""

from bakeoff.recording.journal import Timing
from bakeoff.recording.latest import latest_folder, latest_link, new_folder
from bakeoff.recording.manifest import Manifest, Origin
from bakeoff.recording.recording import RunRecording
from bakeoff.recording.store import ResultFolder

__all__ = ["Manifest", "Origin", "ResultFolder", "RunRecording", "Timing", "latest_folder", "latest_link", "new_folder"]
