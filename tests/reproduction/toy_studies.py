"""Small experiments with a known answer, for the tests of everything around an experiment."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from certiformer.reproduction import study_registry
from certiformer.reproduction.panel import Panel, Plot
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.study import Study
from certiformer.reproduction.sweep import Experiment, Outcome
from certiformer.reproduction.trend import Notes, Theory, Trend

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
    notes = Notes()
    trend = Trend(
        "slope in n",
        Table(rows),
        "n",
        "risk",
        printed=Theory("printed", exponent=-0.5),
        sound=Theory("1/n", lambda part: 1.0 / part.config["n"]),
        label="risk",
    )
    panel = Panel("n, examples", "risk", notes.note(trend), log="xy")
    notes.remarks.append("A remark <b>.")
    return notes.analysis(f"the risk falls with exponent {trend.slope}.", risk=Plot([panel], "The risk falls."))


TOY = Study(
    id="li.toy",
    paper="li",
    title="A toy & its risk",
    claim="The risk falls like the root.",
    experiment=experiment,
    analyse=analyse,
    readings=("Nothing is left open.",),
    cell=("n",),
)
STUDIES = (TOY,)


def alone(monkeypatch, *studies):
    """These are the only experiments there are."""
    monkeypatch.setattr(study_registry, "MODULES", {study.id: __name__ for study in studies})
    monkeypatch.setattr(study_registry, "_study", {study.id: study for study in studies}.__getitem__)
