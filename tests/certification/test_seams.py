"""What records mean, through the public entry point: every false statement that was found has a test here."""

import inspect
import math
import subprocess
import sys

import jax
import numpy as np
import pytest

import certiformer
from certiformer.certificates.betting import Betting
from certiformer.certificates.holdout import HoldOut
from certiformer.certification.split import data_hash
from certiformer.lab import models
from certiformer.lab.paper_results import BINDINGS, paying
from certiformer.theory.core.errors import InputError, UnknownNameError
from certiformer.theory.core.report import confidence_text


def answers(n=500, errors=20):
    labels = np.arange(n) % 2
    return {"heldout_labels": labels, "heldout_predictions": np.where(np.arange(n) < errors, 1 - labels, labels)}


# Compared models


def test_a_report_says_which_models_are_paid_for():
    """Counting models pays for those that were fixed beforehand; a model made after a look is not covered."""
    report = certiformer.certify(predictions=answers(), declaration={"models": 201})
    assert any("fixed before any of them was scored" in check.requires for check in report["holdout"].conditions)
    assert "201 models or settings were compared" in report.summary
    assert any("none was made after looking" in text for text in report.conditions)
    assert "however many models are counted" in report["holdout"].guarantee
    alone = certiformer.certify(predictions=answers())
    assert not any("made after looking" in check.requires for check in alone["holdout"].conditions)


def test_every_certificate_pays_for_compared_models():
    rng = np.random.default_rng(0)
    given = {
        **answers(),
        "progressive_losses": np.arange(500) < 10,
        "unlabelled_predictions": np.zeros(200, int),
        "unlabelled_final_predictions": np.zeros(200, int),
        "head_features": rng.normal(size=(60, 3)),
        "head_labels": rng.integers(2, size=60),
    }
    del given["heldout_predictions"]
    given["heldout_probabilities"] = np.where(np.arange(500) < 20, 0.4, 0.9)
    given["heldout_labels"] = np.ones(500, int)
    one, many = (certiformer.certify(predictions=given, declaration={"models": k}) for k in (1, 10_000))
    seen = [row.id for row in one.statements if row.value is not None]
    assert {"holdout", "betting", "progressive", "disagreement", "occam", "pacbayes.gibbs", "pacbayes.single"} == set(
        seen
    )
    for id in seen:
        assert many[id].value > one[id].value or one[id].value == 1.0, id
    assert many["progressive"].terms["models paid for"] == 10_000


# Confidence


@pytest.mark.parametrize(
    ("delta", "text"),
    [(0.05, "95 %"), (0.0100001, "98.9999 %"), (1e-6, "99.9999 %"), (1e-15, "1 - 1e-15"), (2.5e-9, "1 - 2.5e-09")],
)
def test_no_confidence_is_called_certainty(delta, text):
    assert confidence_text(delta) == text
    report = certiformer.certify(evidence=HoldOut(errors=0, n=2000), delta=delta)
    assert f"with confidence {text}" in report.headline
    assert "100 %" not in report.headline + report.document["summary"]
    assert report["holdout"].confidence < 1.0
    evaluated = certiformer.bound("holdout", errors=0, n=2000, delta=delta).report()
    assert f"with confidence {text}" in evaluated.headline


# Shares


def test_shares_do_not_depend_on_the_sample():
    """Without initial weights no result of this architecture applies; its share stays what it is, and is lost."""
    model = models.build("shallow_encoder", jax.random.key(1), d=4, d_m=6)
    x = np.random.default_rng(0).normal(size=(80, 3, 4)).astype(np.float32)
    y = np.where(np.arange(80) % 2, 1, -1)
    report = certiformer.certify(model, heldout=(x[:40], y[:40]), train=(x[40:], y[40:]))
    assert report["mwigo.lem2"].value is None
    shares = report.document["shares"]
    assert set(shares) == {"holdout", "betting", *paying("shallow_encoder")}
    assert shares["holdout"] == pytest.approx(0.05 * 4 / 6)


def test_paying_results_are_results():
    assert set(paying("cls_transformer")) | set(paying("shallow_encoder")) <= set(BINDINGS)
    assert paying("independent_heads") == ()


# The Arda rows

RUN = {
    **{f"{kind}_{block}": size for kind, size in (("rho", 0.15), ("nu", 0.1)) for block in "cuw"},
    "eta": 0.02,
    "tau": 10**6,
    "delta": 0.5,
    "delta_R": 0.4,
}


def arda_report(tmp_path, radius=0.999, **changes):
    key = jax.random.key(0)
    model = models.build("independent_heads", key, d=2, heads=200, activation="erf")
    models.save(tmp_path / "arda.safetensors", model, {"training": {**RUN, **changes}})
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1, 2))
    x = (radius * x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)
    y = rng.choice([-1, 1], size=40)
    np.savez(
        tmp_path / "arda.npz", heldout_inputs=x[:20], heldout_labels=y[:20], train_inputs=x[20:], train_labels=y[20:]
    )
    return certiformer.certify(tmp_path / "arda.safetensors", data=tmp_path / "arda.npz")


def test_labels_outside_the_envelope_have_no_arda_row(tmp_path):
    row = arda_report(tmp_path)["arda.thm1"]
    assert row.value is None
    assert "they do not come from it" in row.reason


def test_an_arda_row_has_its_own_confidence(tmp_path):
    report = arda_report(tmp_path, radius=1.0, nu_c=2.0, nu_u=2.0, nu_w=2.0, rho_c=3.0, rho_u=3.0, rho_w=3.0)
    row = report["arda.thm1"]
    assert row.value is not None
    assert row.confidence == pytest.approx(0.1)
    assert row.terms["failure probability of its own"] == pytest.approx(0.9)
    assert "arda.thm1" not in report.document["shares"]
    assert "not part of the joint one" in report.summary
    assert any("unit ball before they were rounded" in c.requires or c.why for c in row.conditions)
    none = arda_report(tmp_path, nu_c=2.0, nu_u=2.0, nu_w=2.0, rho_c=3.0, rho_u=3.0, rho_w=3.0, delta_R=0.5)
    assert "nothing is left to say" in none["arda.thm1"].reason


# Names


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="predictions"):
        certiformer.certify(predictons=answers())
    with pytest.raises(UnknownNameError, match="train_labels"):
        certiformer.certify(predictions={**answers(), "trian_labels": np.zeros(3)})
    with pytest.raises(UnknownNameError, match="scale"):
        certiformer.reproduce("arda.fig1", scael="smoke")


def test_public_verbs_name_their_options():
    for verb in (certiformer.certify, certiformer.reproduce):
        kinds = {parameter.kind for parameter in inspect.signature(verb).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds
    assert "predictions" in inspect.signature(certiformer.certify).parameters


@pytest.mark.deep
def test_mypy_sees_unknown_names(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    script = tmp_path / "caller.py"
    script.write_text("import certiformer\ncertiformer.certify(predictons={}, dleta=3)\n")
    text, _, _ = mypy.run([str(script), "--follow-imports=silent", "--no-incremental", "--ignore-missing-imports"])
    assert 'Unexpected keyword argument "predictons"' in text


# Dead features


def test_dead_features_are_errors_of_a_random_readout():
    """Features that are all zero score zero whatever is drawn, and a zero score is an error."""
    from certiformer.lab.procedures import HeadPosterior

    x = np.concatenate([np.zeros(20), np.full(80, 5.0)])[:, None]
    labels = np.ones(100, int)
    report = certiformer.certify(
        train=(x, labels),
        by=[HeadPosterior(features=lambda batch: batch, prior=[[3.0]])],
        declaration={"repeats": "natural"},
    )
    assert report["pacbayes.gibbs"].evidence.error == pytest.approx(0.2, abs=1e-6)


# Records


def test_records_are_certified_as_they_are():
    record = HoldOut(errors=28, n=5000, models=4)
    report = certiformer.certify(evidence=record, delta=0.05)
    exact = certiformer.bound("holdout", errors=28, n=5000, delta=0.05, models=4).sound["value"].value
    assert report["holdout"].value == pytest.approx(exact, rel=1e-9)
    assert report.document["provenance"]["configurations_tried"] == 4
    bet = Betting(losses=(0.1,) * 40, low=0.0, high=1.0, smoothing=0.01, classes=10)
    both = certiformer.certify(evidence=[record, bet], declaration={"classes": 10})
    assert both["betting"].trivial == pytest.approx(math.log(10))


def test_data_hash_tells_data_apart():
    a = np.arange(6.0)
    assert data_hash(a) == data_hash(a.copy())
    assert len({data_hash(a), data_hash(a.reshape(2, 3)), data_hash(a + 1), data_hash(a, a)}) == 4


def test_predictions_are_certified_without_jax():
    code = (
        "import sys, numpy as np, certiformer\n"
        "y = np.arange(100) % 2\n"
        "given = {'heldout_labels': y, 'heldout_probabilities': np.where(y, .9, .1)}\n"
        "report = certiformer.certify(predictions=given)\n"
        "report.page()\n"
        "import certiformer.cli\n"
        "heavy = {'jax', 'equinox', 'optax', 'matplotlib', 'scipy.optimize', 'scipy.linalg'}\n"
        "heavy |= {'certiformer.theory.networks'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_repeats_among_unlabelled_examples_are_refused():
    """Ten inputs fifty times each are not five hundred comparisons."""
    labels, ten = np.arange(500) % 2, np.random.default_rng(0).normal(size=(10, 3))
    given = {
        "heldout_labels": labels,
        "heldout_predictions": labels,
        "heldout_inputs": np.random.default_rng(1).normal(size=(500, 3)),
        "unlabelled_predictions": labels,
        "unlabelled_final_predictions": labels,
        "unlabelled_inputs": np.repeat(ten, 50, axis=0),
    }
    with pytest.raises(InputError, match="490 of 500 inputs repeat"):
        certiformer.certify(predictions=given)


@pytest.mark.parametrize("train", [np.array([b"3", b"40"]), np.array([3.0, 40.0]), np.array([" 3", "40"], object)])
def test_ids_of_any_type_are_matched(train):
    labels = np.arange(20) % 2
    given = {"heldout_labels": labels, "heldout_predictions": labels, "heldout_ids": np.arange(20), "train_ids": train}
    with pytest.raises(InputError, match="1 of 20"):
        certiformer.certify(predictions=given)
    mixed = {**given, "heldout_ids": np.array([*range(19), 3.0], object)}
    mixed.pop("train_ids")
    with pytest.raises(InputError, match="1 of 20 rows repeat"):
        certiformer.certify(predictions=mixed)
