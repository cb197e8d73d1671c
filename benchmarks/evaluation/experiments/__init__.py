"""The experiments of the five papers."""

from __future__ import annotations

from benchmarks.evaluation.experiment import Experiment
from benchmarks.evaluation.experiments import alvarez, aoki, hopsworks, manfredi, tran

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    experiment for paper in (manfredi, hopsworks, alvarez, aoki, tran) for experiment in paper.EXPERIMENTS
)
