"""What executes runs.

Read first: `registry.world` (the worlds by name), `sim.execute` (one run in virtual time) and `runner.run_plan` (all of
them, on all cores).
"""
