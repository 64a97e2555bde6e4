"""The analyses of Li et al.'s experiments on rows with a known answer, and the grids of every scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import certiformer
from certiformer.experiments import _li_theory, li_depth, li_heads, li_rank, li_rates
from certiformer.experiments._li_analysis import calibration, exponent
from certiformer.experiments.study import Analysis, Finding
from certiformer.sweep import Experiment, Row

MODULES = {"li.rates": li_rates, "li.rank": li_rank, "li.heads": li_heads, "li.depth": li_depth}


def planted(experiment: Experiment, level: Callable[[dict[str, Any]], float], spread: float = 0.05) -> list[Row]:
    """Rows whose excess is `level(config)` times a few per cent of chance."""
    rng = np.random.default_rng(0)
    rows = []
    for run in experiment.runs:
        config = run.config
        values: dict[str, Any] = {"local": level(config) * math.exp(spread * rng.standard_normal())}
        if config.get("kind") != "ball":
            values |= {"directions": 10 * config["d"] * config["heads"] * max(1, config["layers"]), "resolved": 9.0}
        if config.get("restarts"):
            values |= {"random": 2.0 * values["local"], "random_fits": config["seed"] % 2 == 0}
        rows.append(Row(run.key, experiment.name, experiment.version, config, "done", values=values))
    return rows


def finding(analysis: Analysis, words: str) -> Finding:
    (found,) = [one for one in analysis.findings if words in one.setting]
    return found


def rates_level(config: dict[str, Any]) -> float:
    if config["kind"] == "ball":
        return float(0.8 * config["n"] ** (-2 / 3))
    return float(config["sigma"] ** 2 * 40 / config["n"])


def test_planted_rates_are_found() -> None:
    sizes = (256, 2048, 16384, 32768, 10**3, 10**8, 10**12)  # not all of them: bounds take time
    rows = [row for row in planted(li_rates.experiment("quick"), rates_level) if row.config["n"] in sizes]
    analysis = li_rates.analyse(rows)
    slope = finding(analysis, "slope in n, σ = 0.1, local")
    assert slope.ours == pytest.approx(-1.0, abs=0.03)
    assert slope.verdict == "agrees"
    noise = finding(analysis, "exponent in σ")
    assert noise.ours == pytest.approx(2.0, abs=0.03)
    assert noise.verdict == "supports the sound theory"
    ball = finding(analysis, "l1 ball, d = 0.8")
    assert ball.ours == pytest.approx(-2 / 3, abs=0.01)
    assert ball.verdict == "supports the sound theory"
    assert finding(analysis, "l1 ball: excess over printed").verdict == "printed bound violated"
    assert finding(analysis, "n·excess/σ² at n = 16384, local").ours == pytest.approx(40.0, rel=0.05)
    assert finding(analysis, "n·excess/σ² at n = 16384, local").verdict == "agrees"
    assert all(one.verdict == "holds" for one in analysis.findings if "sound bound S2" in one.setting)


def test_a_noise_free_level_supports_the_printed_theory() -> None:
    rows = [row for row in planted(li_rates.experiment("quick"), lambda c: 1.0 / c["n"]) if row.config["n"] == 32768]
    assert finding(li_rates.analyse(rows), "exponent in σ").verdict == "supports the printed theory"


def test_growth_with_the_dimension_is_told_from_none() -> None:
    experiment = li_rank.experiment("quick")

    def by_parameters(config: dict[str, Any]) -> float:
        if config["kind"] == "ball":
            return float(config["d"] / config["n"])
        return float(config["sigma"] ** 2 * 10 * config["d"] / config["n"])

    def by_rank(config: dict[str, Any]) -> float:
        return 1e-6 if config["kind"] == "ball" else float(config["sigma"] ** 2 * 40 / config["n"])

    analysis = li_rank.analyse(planted(experiment, by_parameters))
    assert finding(analysis, "rank one, exponent in d").ours == pytest.approx(1.0, abs=0.05)
    assert finding(analysis, "rank one, exponent in d").verdict == "supports the sound theory"
    assert finding(analysis, "exact example, n").verdict == "supports the sound theory"
    assert finding(analysis, "exact example: excess").verdict == "printed bound violated"
    assert finding(li_rank.analyse(planted(experiment, by_rank)), "rank one, exponent in d").verdict == (
        "supports the printed theory"
    )


def test_heads_and_depth_find_what_was_planted() -> None:
    heads = li_heads.analyse(
        planted(li_heads.experiment("quick"), lambda c: c["sigma"] ** 2 * 30 * c["heads"] / c["n"])
    )
    assert finding(heads, "norms 1/H, exponent").ours == pytest.approx(1.0, abs=0.05)
    assert finding(heads, "norms 1/H, exponent").verdict == "supports the sound theory"
    assert finding(heads, "norms 1 each, exponent").verdict == "inconclusive"
    depth = li_depth.analyse(planted(li_depth.experiment("quick"), lambda c: c["sigma"] ** 2 * 30 / c["n"]))
    assert finding(depth, "Λ = 12, exponent in L").ours == pytest.approx(0.0, abs=0.04)
    assert finding(depth, "slope in n").ours == pytest.approx(-1.0, abs=0.03)


@pytest.mark.parametrize("name", MODULES)
def test_missing_cells_are_survived(name: str) -> None:
    module = MODULES[name]
    rows = planted(module.experiment("smoke"), lambda c: 1.0 / c["n"])
    for some in ([], rows[:1], rows[::3], [row for row in rows if row.config["seed"] == 0]):
        analysis = module.analyse(some)
        assert not any(isinstance(one.ours, float) and math.isinf(one.ours) for one in analysis.findings)
    assert not any("support" in one.verdict or "violated" in one.verdict for one in module.analyse(rows[:1]).findings)


@pytest.mark.parametrize("name", MODULES)
def test_grids_are_large_enough(name: str) -> None:
    module = MODULES[name]
    (study,) = module.STUDIES
    assert study.id == name
    abscissas = {"li.rates": "n", "li.rank": "d", "li.heads": "heads", "li.depth": "layers"}
    quick, paper = (study.experiment(scale).configs for scale in ("quick", "paper"))
    for configs, seeds in ((quick, 5), (paper, 20)):
        assert len({config["seed"] for config in configs}) >= seeds
        assert len({config[abscissas[name]] for config in configs}) >= 5
    assert math.fsum(study.cost(config) for config in quick) <= 150
    assert math.fsum(study.cost(config) for config in study.experiment("smoke").configs) <= 3


def test_printed_bounds_are_those_of_the_registry_at_their_best_radius() -> None:
    config = next(c for c in li_rank.experiment("quick").configs if c["kind"] == "head")
    given = _li_theory.inputs_of(config)
    best = _li_theory.printed_bound("li.thmB.4", given)
    for radius in (1e-3, 1e-5, 1e-8):
        assert best <= certiformer.bound("li.thmB.4", **given, radius=radius).printed["value"].value * (1 + 1e-3)
    sound = certiformer.bound("li.thmB.4", **given, radius=1.0 / config["n"]).sound
    assert _li_theory.sound_bound("li.thmB.4", given) == sound["S2_opt"].value
    assert sound["S2_opt"].applies


def test_inputs_describe_the_class() -> None:
    head = next(c for c in li_heads.experiment("quick").configs if c["heads"] == 4 and c["budget"] == "shared")
    given = _li_theory.inputs_of(head)
    assert given["H"] == 4
    assert given["B"] == pytest.approx(0.64)
    assert given["kappa"] == pytest.approx(2 * 1.64)
    assert _li_theory.inputs_of(head, honest=True)["kappa"] == pytest.approx(2 * (1.64 + head["sigma"]))
    deep = next(c for c in li_depth.experiment("quick").configs if c["layer_constant"] == 12.0)
    given = _li_theory.inputs_of(deep)
    assert given["Bc"] * given["Bv"] * (1 + 2 * given["BQK"]) == pytest.approx(12.0)


def test_calibration_tells_a_bound_that_fails() -> None:
    rows = planted(li_heads.experiment("smoke"), lambda c: 1.0 / c["n"], spread=1e-3)
    assert calibration(rows, lambda c: 2.0 / c["n"]).verdict == "holds"
    assert calibration(rows, lambda c: 0.5 / c["n"]).verdict == "does not hold"
    assert calibration(rows[:1], lambda c: 2.0 / c["n"]).verdict == "inconclusive"


def test_exponent_of_a_power() -> None:
    assert exponent([1.0, 2.0, 4.0], [3.0, 12.0, 48.0]) == pytest.approx(2.0)
    assert math.isnan(exponent([1.0], [3.0]))
