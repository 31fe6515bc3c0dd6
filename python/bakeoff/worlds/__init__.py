"""What executes runs.

Read first: `sim.execute` (one run in virtual time) and `runner.run_plan` (all of them, on all cores).
"""
