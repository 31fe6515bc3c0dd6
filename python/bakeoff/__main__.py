"""`python -m bakeoff`."""

from bakeoff.cli import main

main(prog_name="bakeoff")
