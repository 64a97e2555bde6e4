"""Margins of hypotheses: 1 exactly where the registered theorem says that its hypothesis begins to hold."""

import math

import jax
import numpy as np
import pytest

import certiformer
from certiformer.lab.models.shallow_encoder import ShallowEncoder, ShallowEncoderConfig
from certiformer.lab.tasks.mnist import mnist
from certiformer.reproduction.designs import hypotheses
from certiformer.reproduction.papers import _arda_width_grid
from certiformer.reproduction.sweep import Row


def row(config, values, arrays=None, key=""):
    return Row("", key, "", config, "done", values=values, arrays=arrays or {})


@pytest.fixture(scope="module")
def start():
    config = {"n": 8, "d_m": 32, "seed": 3}
    return config, hypotheses.run_mwigo(config).values


def test_the_features_are_those_of_the_model(start):
    config, values = start
    task, key = jax.random.split(jax.random.key(3))
    seen = mnist(task, n=8, pixels="unit", tokens="padded").train
    model = ShallowEncoder.init(key, ShallowEncoderConfig(seen.inputs.shape[-1], 32))
    features = np.stack([np.asarray(model.features(image), float) for image in seen.inputs])
    assert values["alpha"] == pytest.approx(np.linalg.svd(features, compute_uv=False)[-1], rel=1e-2)
    residual = np.linalg.norm([float(model(x)) - y for x, y in zip(seen.inputs, seen.labels, strict=True)])
    assert values["residual0"] == pytest.approx(residual, rel=1e-4)
    assert hypotheses.run_mwigo({**config, "n": 64}).values["alpha"] == 0.0


@pytest.mark.parametrize(("side", "variant"), [("printed", "value"), ("sound", "flow")])
def test_lemma_4_margin_is_one_where_the_registered_hypotheses_begin_to_hold(start, side, variant):
    """The residual is made so small that the margin is just above 1, then just below."""
    config, values = start
    margin = hypotheses.lemma_4_margins(row(config, values))[side]

    def hold_somewhere(residual):
        names = ("alpha", "RX", "B", "ds", "d", "wOF", "WQF", "WKF", "WVF", "WQ2", "WK2", "WV2")
        given = {name: values[name] for name in names} | {"n": 8, "dm": 32, "residual0": residual}
        for inner in hypotheses.RADII:
            for outer in hypotheses.RADII:
                found = certiformer.bound("mwigo.lem4", **given, RQ=inner, RK=inner, RV=inner, RO=outer)
                conditions = getattr(found, side)[variant].hypotheses
                if all(one.state == "verified" for one in conditions if one.requires.startswith("alpha^")):
                    return True
        return False

    assert hold_somewhere(values["residual0"] * margin * 0.999)
    assert not hold_somewhere(values["residual0"] * margin * 1.001)


def test_arda_the_step_is_short_where_theorem_1_says_so():
    """With the initial norms given, the registered bound is finite if and only if the margin is above 1."""
    radius, steps = _arda_width_grid.RADIUS, 4000
    for m in (8, 256):
        norms = np.full(m // 2, 2.8)
        config = {"width": m, "steps": steps, "seed": 1, "teacher": "paper", "n": 8, "n_more": 2}
        analysis = hypotheses.analyse_arda([row(config, {"travelled": 0.25}, {"u_norms": norms})])
        (short,) = [f for f in analysis.findings if f.setting.startswith("the step is short")]
        radii = {f"{kind}_{block}": radius for kind in ("rho", "nu") for block in "cuw"}
        theorem = certiformer.bound(
            "arda.thm1", activation="tanh", m=m, d=8, n=100, delta=0.05, delta_R=0.05, tau=steps,
            eta=_arda_width_grid.step_size(steps), u_norms=[float(norm) for norm in norms], **radii,
        )  # fmt: skip
        assert (short.ours > 1.0) == math.isfinite(theorem.sound["init"].value)
        (way,) = [f for f in analysis.findings if f.setting.startswith("no head")]
        assert way.ours == pytest.approx(4.0)


def test_trauger_the_printed_range_begins_at_the_sample_size_that_is_told():
    norms, sizes = {"scores": [3.0, 2.0]}, {"Bx": 1.5}
    config = {"tokens": 20, "samples": 300, "d": 7, "seed": 0}
    analysis = hypotheses.analyse_trauger([row(config, {"norms": norms, "token_sizes": sizes})])
    (needed,) = [f for f in analysis.findings if f.setting.startswith("sample size n")]
    C = 3.0**2 * math.log(2 * 8 + 1)
    for n, state in ((math.ceil(needed.ours * 1.001), "verified"), (int(needed.ours * 0.999), "fails")):
        found = certiformer.explain("trauger.thm4.1")(Bw=1, Bc=1, Bv=1, L_sigma=1.0, n=n, d=8, Bx=1.5, C=C)
        (one,) = [h for h in found.printed()["value"].hypotheses if h.requires.startswith("2 Bx")]
        assert one.state == state


def test_li_counts_fits_that_do_as_well_as_the_teacher():
    rows = []
    for n, lost in ((256, 2.0), (512, 1.0), (1024, 0.5)):
        for seed in range(4):
            losses = {"random_loss": lost * 0.1, "local_loss": 0.05, "teacher_loss": 0.1}
            fits = {"random_fits": lost <= 1.0, "local_fits": True}
            rows.append(row({"n": n, "seed": seed}, losses | fits))
    analysis = hypotheses.analyse_li(rows)
    said = {f.setting: f.ours for f in analysis.findings}
    assert said["smallest n at which all fits from random starts do as well as the teacher"] == 512.0
    assert said["fits from random starts: margin at n = 256"] == pytest.approx(0.5)
    assert "smallest n at which all do: 512" in analysis.headline
