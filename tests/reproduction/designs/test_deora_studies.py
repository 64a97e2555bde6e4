"""Grids of Deora's experiments, and what their analyses make of runs whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from certiformer.reproduction.designs import _deora_theory as theory
from certiformer.reproduction.designs import deora_margins, deora_stability, deora_training
from certiformer.reproduction.sweep import Row

MODULES = (deora_training, deora_margins, deora_stability)


def row(config, values, arrays):
    return Row(str(config), "planted", "", config, "done", values=values, arrays=arrays)


def planted_training(configs, exponent=-1.2):
    """Training loss 3 K^exponent / n, test loss larger by 1/n of it."""
    for config in configs:
        steps = np.array([1, *config["checkpoints"]], float)
        noise = 1.0 + 0.02 * np.random.default_rng(config["seed"]).standard_normal()
        train = 3.0 * noise * steps**exponent
        curves = dict.fromkeys(("output", "largest_head", "relevant_mass", "test_error"), 0.0 * steps)
        arrays = {"train": train, "test": train * (1.0 + 1.0 / config["n"]), **curves}
        yield row(config, {"first_phase_error": 0.0}, arrays)


def planted_stability(configs, exponent=-1.0):
    for config in configs:
        noise = 1.0 + 0.02 * np.random.default_rng(config["seed"]).standard_normal()
        steps = np.array(config["checkpoints"], float)
        apart = 0.1 * noise * config["n"] ** exponent * np.log(steps) ** 2
        arrays = {"stability": apart, "left_out_gap": apart}
        yield row(config, {"first_phase_error": 0.0, "B2": 0.0, "BPhi": 0.0}, arrays)


def planted_margins(configs, factor=1.1):
    """`factor` times the sound margin without first-phase error; the first step has half of it."""
    for config in configs:
        noise = 1.0 + 0.001 * np.random.default_rng(config["seed"]).random()
        sound = theory.proposition_2(config, 0.0).sound["gamma_zero" if config["start"] == "zero" else "gamma_opt"]
        margin = factor * noise * sound.value
        found = {"margin": margin, "margin_at_most": margin, "first_step": margin / 2}
        yield row(config, {**found, "first_phase_error": 0.0, "BPhi": 0.0, "B2": 0.0}, {})


def told(analysis, *words):
    return [finding for finding in analysis.findings if all(word in finding.setting for word in words)]


def without_nan(analysis):
    for finding in analysis.findings:
        for value in (finding.paper, finding.ours, finding.sound, *(finding.ci or ())):
            assert not (isinstance(value, float) and math.isnan(value)), finding
    return analysis


@pytest.mark.parametrize("module", MODULES)
def test_grids(module):
    assert len({config["seed"] for config in module.experiment("quick").configs}) >= 5
    assert len({config["seed"] for config in module.experiment("paper").configs}) >= 10


def test_corollary_2_raises_only_the_printed_side_to_one():
    config = {**deora_stability.MIXTURE, "start": "zero", "heads": 2**24, "eta": 0.375, "n": 100}
    start = theory.start_of(config, 0.0, 0.0, 0.0)
    printed, sound = theory.corollary_2(config, start, 100, 100)
    assert printed["g0"].value == pytest.approx((2.0 + math.log(100)) / start.gamma)
    assert math.isfinite(sound["train"].value)
    few = theory.theorem("deora.thm1", {**config, "heads": 1}, start, 100)
    assert few is None
    many = theory.theorem("deora.thm1", config, start, 100)
    assert many.sound["H_needed"].value < many.printed["H_needed"].value


def test_planted_exponents_in_steps_are_found():
    few = [c for c in deora_training.experiment("quick").configs if c["heads"] == 16]
    analysis = without_nan(deora_training.analyse(list(planted_training(few))))
    for finding in told(analysis, "exponent of the training loss in K"):
        assert finding.ours == pytest.approx(-1.2, abs=1e-9)
        assert finding.verdict.word == "holds"
    assert "in 2 of 2 settings" in analysis.headline
    slow = without_nan(deora_training.analyse(list(planted_training(few, exponent=-0.2))))
    assert {f.verdict.word for f in told(slow, "exponent of the training loss in K")} == {"violated"}


def test_planted_exponents_in_n_are_found():
    configs = [c for c in deora_stability.experiment("quick").configs if c["start"] == "zero"]
    analysis = without_nan(deora_stability.analyse(list(planted_stability(configs, exponent=-1.1))))
    for finding in told(analysis, "exponent in n", "leave-one-out"):
        assert finding.ours == pytest.approx(-1.1, abs=0.03)
        assert finding.verdict.word == "holds"
    assert "violated" not in {f.verdict.word for f in told(analysis, "exponent in K")}
    printed, sound = told(analysis, "mean leave-one-out distance, n = 128, K = 128", "2^24")
    assert {printed.verdict.word, sound.verdict.word} == {"holds"}
    assert sound.ours < sound.sound < printed.paper
    flat = deora_stability.analyse(list(planted_stability(configs, exponent=-0.5)))
    assert {f.verdict.word for f in told(flat, "exponent in n", "mean leave-one-out")} == {"violated"}


def test_margins_below_their_bound_are_noticed():
    configs = deora_margins.experiment("quick").configs
    analysis = without_nan(deora_margins.analyse(list(planted_margins(configs))))
    assert {f.verdict.word for f in told(analysis, "sound lower bound over")} == {"not violated"}
    for finding in told(analysis, "first gradient step / the largest"):
        assert finding.ours == pytest.approx(0.5)
    for finding in told(analysis, "after the first phase, S ="):
        if finding.paper is not None:
            above = finding.ours > float(finding.paper.removeprefix("< "))
            assert finding.verdict.word == ("differs" if above else "agrees")
    low = deora_margins.analyse(list(planted_margins(configs, factor=0.9)))
    assert {f.verdict.word for f in told(low, "sound lower bound over")} == {"violated"}


@pytest.mark.parametrize(
    ("module", "planted"),
    [(deora_training, planted_training), (deora_margins, planted_margins), (deora_stability, planted_stability)],
)
def test_missing_cells_and_single_seeds_leave_things_open(module, planted):
    configs = module.experiment("smoke").configs
    alone = [config for config in configs if config["seed"] == 0]
    without_nan(module.analyse(list(planted(alone))))
    for start in ("zero", "one-step"):
        cell = [config for config in alone if config["start"] == start][:1]
        if cell:
            analysis = without_nan(module.analyse(list(planted(cell))))
            said = {finding.verdict.word for finding in told(analysis, "exponent")}
            assert said <= {"cannot tell", "measured", "not violated"}
