"""Small experiments with a known answer, for the tests of everything around an experiment."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from certiformer.experiments.statistics import Prediction, power_law, verdict
from certiformer.experiments.study import Analysis, Finding, Plot, Study
from certiformer.report import plots
from certiformer.sweep import Experiment, Outcome

SEEDS = {"smoke": 2, "quick": 5, "paper": 20}


def run(config):
    """1/n with a little noise; misbehaves on request by a file, so that the configuration stays the same."""
    if "CERTIFORMER_TOY_FAILS" in os.environ and Path(os.environ["CERTIFORMER_TOY_FAILS"]).exists():
        raise ValueError(f"no luck with n = {config['n']}")
    time.sleep(float(os.environ.get("CERTIFORMER_TOY_SLEEPS", "0")))
    noise = np.random.default_rng([config["seed"], config["n"]]).normal(1.0, 0.05)
    return Outcome({"risk": noise / config["n"]})


def raises(config):
    raise ValueError("never")


def experiment(scale):
    configs = [{"n": n, "seed": seed} for n in (10, 100, 1000) for seed in range(SEEDS[scale])]
    return Experiment("li.toy", run=f"{__name__}:run", configs=configs)


def analyse(rows):
    points = {}
    for row in rows:
        points.setdefault(row.config["n"], []).append(row.values["risk"])
    slope = power_law(points)
    figure, (axes,) = plots.panels()
    n = sorted(points)
    plots.band(axes, n, [float(np.mean(points[k])) for k in n], label="risk")
    plots.theory(axes, n, [1 / k for k in n], label="1/n")
    plots.label(axes, "n, examples", "risk", log="xy")
    said = verdict(slope, Prediction(-0.5), Prediction(-1.0))
    finding = Finding("slope in n", -0.5, slope.value, slope.ends, said, -1.0)
    return Analysis((finding,), {"slope": slope}, {"risk": Plot(figure, "The risk falls.")}, ("A remark <b>.",))


TOY = Study(
    id="li.toy",
    paper="li",
    title="A toy & its risk",
    claim="The risk falls like the root.",
    experiment=experiment,
    analyse=analyse,
    cost=lambda config: 0.01,
    probe=lambda config: 0.02,
    readings=("Nothing is left open.",),
)
STUDIES = (TOY,)
