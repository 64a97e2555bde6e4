"""The analyses of Li et al.'s experiments on rows with a known answer, and the grids of every scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import certiformer
from certiformer.reproduction.designs import _li_theory, li_depth, li_heads, li_rank, li_rates
from certiformer.reproduction.designs._li_analysis import calibration
from certiformer.reproduction.runs_table import Table
from certiformer.reproduction.study import Analysis
from certiformer.reproduction.sweep import Experiment, Row
from certiformer.reproduction.trend import Notes

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


def rates_level(config: dict[str, Any]) -> float:
    if config["kind"] == "ball":
        return float(0.8 * config["n"] ** (-2 / 3))
    return float(config["sigma"] ** 2 * 40 / config["n"])


@pytest.mark.parametrize("name", MODULES)
def test_grids_are_large_enough(name: str) -> None:
    module = MODULES[name]
    (study,) = module.STUDIES
    assert study.id == name
    abscissas = {"li.rates": "n", "li.rank": "d", "li.heads": "heads", "li.depth": "layers"}
    quick, paper = (study.experiment(scale).configs for scale in ("quick", "paper"))
    for configs, seeds in ((quick, 5), (paper, 10)):
        assert len({config["seed"] for config in configs}) >= seeds
        assert len({config[abscissas[name]] for config in configs}) >= 5


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


def words(analysis: Analysis, *parts: str) -> set[str]:
    """The verdicts of the findings whose setting has these parts."""
    return {f.verdict.word for f in analysis.findings if all(part in f.setting for part in parts)}


def test_planted_rates_are_found() -> None:
    sizes = (256, 2048, 16384, 32768, 10**3, 10**8, 10**12)  # not all of them: bounds take time
    rows = [row for row in planted(li_rates.experiment("quick"), rates_level) if row.config["n"] in sizes]
    analysis = li_rates.analyse(rows)
    assert analysis.fits["slope in n, σ = 0.1, random starts that fit"]["value"] == pytest.approx(-1.0, abs=0.03)
    assert words(analysis, "slope in n, σ = 0.1") == {"agrees"}
    assert analysis.fits["exponent in σ (σ ≤ 1), n = 32768"]["value"] == pytest.approx(2.0, abs=0.03)
    assert words(analysis, "exponent in σ", "no σ") == {"violated"}
    assert words(analysis, "exponent in σ", "P/n") == {"agrees"}
    assert words(analysis, "l1 ball, d = 0.8", "what the example predicts") == {"agrees"}
    assert words(analysis, "l1 ball: excess over printed") == {"violated"}
    assert words(analysis, "n·excess/(σ²P) at n = 16384, started") == {"agrees"}
    assert words(analysis, "excess over the sound bound S2") == {"holds"}
    assert "violated from n" in analysis.headline
    assert "exponent -0.66" in analysis.headline
    assert "the printed Theorem B.1 -0.95: it is violated from n" in analysis.headline
    # the slope of a bound with its constants is no claim, printed and sound alike
    assert words(analysis, "l1 ball, d = 0.8", "Theorem B.1") == words(analysis, "l1 ball", "S4chain") == {"measured"}


def test_a_noise_free_level_is_what_the_printed_bound_allows() -> None:
    rows = [row for row in planted(li_rates.experiment("quick"), lambda c: 1.0 / c["n"]) if row.config["n"] == 32768]
    analysis = li_rates.analyse([*rows, *planted(li_rates.experiment("smoke"), rates_level)])
    assert words(analysis, "exponent in σ", "P/n") == {"differs"}


def test_growth_with_the_dimension_is_told_from_none() -> None:
    experiment = li_rank.experiment("quick")

    def by_parameters(config: dict[str, Any]) -> float:
        if config["kind"] == "ball":
            return float(config["d"] / config["n"])
        return float(config["sigma"] ** 2 * 10 * config["d"] / config["n"])

    def by_rank(config: dict[str, Any]) -> float:
        return 1e-6 if config["kind"] == "ball" else float(config["sigma"] ** 2 * 40 / config["n"])

    analysis = li_rank.analyse(planted(experiment, by_parameters, spread=0.02))
    assert analysis.fits["rank one, exponent in d"]["value"] == pytest.approx(1.0, abs=0.05)
    assert words(analysis, "rank one, exponent in d", "printed") == {"violated"}
    assert words(analysis, "rank one, exponent in d", "free") == {"agrees"}
    assert words(analysis, "exact example: excess") == {"violated"}
    flat = li_rank.analyse(planted(experiment, by_rank))
    assert words(flat, "rank one, exponent in d", "free") == {"differs"}


def test_heads_and_depth_find_what_was_planted() -> None:
    heads = li_heads.analyse(
        planted(li_heads.experiment("quick"), lambda c: c["sigma"] ** 2 * 30 * c["heads"] / c["n"])
    )
    assert heads.fits["norms 1/H, exponent in H"]["value"] == pytest.approx(1.0, abs=0.05)
    assert words(heads, "norms 1/H, exponent", "printed") == {"violated"}
    assert words(heads, "norms 1/H, exponent", "free") == {"agrees"}
    depth = li_depth.analyse(planted(li_depth.experiment("quick"), lambda c: c["sigma"] ** 2 * 30 / c["n"]))
    (grown,) = [f for f in depth.findings if f.setting.startswith("Λ = 12: excess at L")]
    assert grown.ours == pytest.approx(1.0, abs=0.1)
    assert grown.verdict.word == "holds"
    assert depth.fits["Λ = 12, L = 2: slope in n"]["value"] == pytest.approx(-1.0, abs=0.03)


@pytest.mark.parametrize("name", MODULES)
def test_missing_cells_are_survived(name: str) -> None:
    module = MODULES[name]
    rows = planted(module.experiment("smoke"), lambda c: 1.0 / c["n"])
    for some in (rows[:1], rows[::3], [row for row in rows if row.config["seed"] == 0]):
        analysis = module.analyse(some)
        assert not any(isinstance(one.ours, float) and math.isinf(one.ours) for one in analysis.findings)
    assert not {"agrees", "differs", "violated", "holds"} & set(module.analyse(rows[:1]).tally)


def test_calibration_tells_a_bound_that_fails() -> None:
    rows = planted(li_heads.experiment("smoke"), lambda c: 1.0 / c["n"], spread=1e-3)

    def said(some: list[Row], factor: float) -> str:
        notes = Notes()
        calibration(notes, Table(some), lambda c: factor / c["n"])
        return notes.findings[0].verdict.word

    assert (said(rows, 2.0), said(rows, 0.5), said(rows[:1], 2.0)) == ("holds", "violated", "not violated")
