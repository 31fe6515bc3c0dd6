"""File formats of other tools, read and written by ourselves."""
