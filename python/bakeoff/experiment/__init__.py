"""Experiments as data: the TOML file, its matrix, and the plan of runs that follows from them.

Read first: `load` gives an `Experiment`, `plan.expand` a `Plan` of `PlannedRun`s, each with the scenario of one run.

    experiment = load("pantheon/india-ppp0", ["repeats=1"])
    plan = expand(experiment)
"""

from bakeoff.experiment.cell import Cell, Unmet
from bakeoff.experiment.load import Experiment, load
from bakeoff.experiment.plan import Plan, PlannedRun, expand

__all__ = ["Cell", "Experiment", "Plan", "PlannedRun", "Unmet", "expand", "load"]
