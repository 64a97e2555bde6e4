"""Independence of N and T, and stochastic steps: the analyses on rows with a known answer."""

import math

import numpy as np
import pytest

from certiformer.reproduction.designs import arda_independence, arda_stochastic
from certiformer.reproduction.sweep import Row


def rows_of(grid, values):
    rng, rows = np.random.default_rng(0), []
    for index, config in enumerate(grid):
        norms = {"u_norms": np.full(config["width"] // 2, 2.8)}
        found = values(config, math.exp(0.02 * rng.normal()))
        rows.append(Row("", str(index), "", config, "done", values=found, arrays=norms))
    return rows


def test_growth_with_the_sample_and_with_the_length_is_found():
    """A loss that grows like N^(1/2) and falls like 1/T; errors that are flat."""

    def values(config, noise):
        loss = noise * config["n"] ** 0.5 / config["tokens"]
        flat = {"linearisation_largest": noise, "approximation": noise}
        return {**flat, "training": loss, "training_at_start": 2.0 * loss}

    analysis = arda_independence.analyse(rows_of(arda_independence.experiment("paper").configs, values))
    said = {f.setting: f for f in analysis.findings}
    (grown,) = [f for name, f in said.items() if name.startswith("lowest training loss, exponent in N")]
    assert grown.ours == pytest.approx(0.5, abs=0.03)
    assert grown.verdict.word in ("violated", "differs")
    (fallen,) = [f for name, f in said.items() if name.startswith("lowest training loss, exponent in T")]
    assert fallen.ours == pytest.approx(-1.0, abs=0.03)
    assert fallen.verdict.word in ("holds", "agrees")
    part = said["lowest training loss as a part of that at the start, exponent in T"]
    assert part.ours == pytest.approx(0.0, abs=1e-9)


def test_the_rate_of_stochastic_steps_is_found_and_the_bounds_hold():
    def values(config, noise):
        return {"mean": noise * 1e-3 * config["steps"] ** -0.25 * (2.0 if config["batch"] == 1 else 1.0)}

    rows = rows_of(arda_stochastic.experiment("paper").configs, values)
    analysis = arda_stochastic.analyse(rows)
    (slope,) = [f for f in analysis.findings if "the whole sample, exponent" in f.setting]
    assert slope.ours == pytest.approx(-0.25, abs=0.02)
    assert slope.verdict.word == "measured"
    assert {f.verdict.word for f in analysis.findings if "bound, largest" in f.setting} == {"holds"}
    (double,) = [f for f in analysis.findings if "mini-batches of 1 / the whole sample, 4,096" in f.setting]
    assert double.ours == pytest.approx(2.0, rel=0.05)
    rows[0].values["mean"] = 1e9
    words = {f.verdict.word for f in arda_stochastic.analyse(rows).findings if "bound, largest" in f.setting}
    assert words != {"holds"}
