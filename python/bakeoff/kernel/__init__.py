"""Kernels for the guest of the linux world: User-mode Linux with time travel, built from the distribution's source.

Nothing of a kernel is shipped with bakeoff: `bakeoff kernel build` fetches the source, configures it, makes three small
changes, compiles it into the user's cache, and boots it once.
"""
