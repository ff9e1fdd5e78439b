"""Run an experiment: `python -m experiments aida --data DATA`."""

from experiments.commands import app

app(prog_name="python -m experiments")
