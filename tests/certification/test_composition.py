"""A checkpoint of another framework beside its predictions: the bound of its architecture, its norms paid for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from typer.testing import CliRunner

import certiformer
from certiformer.certification.composition import ID, composed
from certiformer.certification.sample import Sample
from certiformer.checkpoints.violations import THEOREMS
from certiformer.cli import application
from certiformer.theory.calculus import strata
from certiformer.theory.core.errors import CertiformerError
from checkpoints import tiny

CLASSES = 5


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CERTIFORMER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path):
    return tiny.write_folder(tmp_path / "vit", *tiny.vit())


def predictions(n=60, classes=CLASSES, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    logits = rng.normal(size=(n, classes))
    logits[np.arange(n), labels] += 3.0
    return {"heldout_logits": logits, "heldout_labels": labels}


def test_the_row_and_the_theorems_that_do_not_apply(folder):
    report = certiformer.certify(folder, predictions=predictions())
    row = report[ID]
    assert row.value is not None
    assert 1.0 < row.value < math.inf
    assert row.verdict.startswith("vacuous")
    assert row.n_needed > 1e5
    assert row.terms["paid for radii and margin (nats)"] > 100
    assert report["holdout"].informative
    ids = {one.id for one in report.statements}
    assert ids >= set(THEOREMS)
    for id in THEOREMS:
        assert report[id].value is None
        assert ": here" in report[id].reason
    shares = report.document["shares"]
    assert math.fsum(shares.values()) <= 0.05 * (1 + 1e-12)
    # The n that is asked for, by one scale, would do.
    found = composed(folder, Sample.of(predictions()))
    gap = 2 * found.analysis.rademacher(int(row.n_needed))
    assert gap + math.sqrt((found.paid - math.log(shares[ID])) / (2 * row.n_needed)) < 1


def test_the_class_contains_the_checkpoint_and_pays_once_for_every_norm(folder):
    found = composed(folder, Sample.of(predictions()))
    weights = {contribution.use.weight.name: contribution.use.weight for contribution in found.analysis.contributions}
    tensors, _ = tiny.vit()
    matrix, norm = (f"vit.encoder.layer.0.{name}.weight" for name in ("intermediate.dense", "layernorm_after"))
    up = weights[f"{matrix} x {norm}"]
    truth = np.linalg.norm(tensors[matrix].astype(float) * tensors[norm], 2)
    assert truth <= up.spectral <= truth * strata.DEFAULT_RATIO
    assert strata.radius(strata.index(up.spectral)) == up.spectral
    assert up.frobenius == math.inf  # one norm for every weight
    # Every weight of the graph, and the margin.
    assert found.radii == len(weights)
    assert found.paid >= (len(weights) + 1) * math.log(strata.NORMALISER)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (predictions(classes=4), "they are of another network"),
        ({"heldout_correct": np.array([True, False] * 20)}, "it needs margins"),
        ({**predictions(), "heldout_logits": np.where(predictions()["heldout_logits"] < -2, -np.inf, 1.5)}, "infinite"),
    ],
)
def test_what_cannot_be_said_is_said_so(folder, given, words):
    row = certiformer.certify(folder, predictions=given)[ID]
    assert row.value is None
    assert words in row.reason


def test_encoders_without_a_head_adapters_and_unknown_files(tmp_path):
    given = predictions()
    encoder = tiny.write_folder(tmp_path / "bert", *tiny.bert())
    assert "no output head" in certiformer.certify(encoder, predictions=given)[ID].reason
    base, config = tiny.llama()
    ground = tiny.write_folder(tmp_path / "base", base, config)
    tiny.write_adapter(tmp_path / "lora", ["model.layers.0.self_attn.q_proj"], base)
    assert "adapter" in certiformer.certify(tmp_path / "lora", predictions=given)[ID].reason
    other = tiny.write_folder(tmp_path / "other", base, {**config, "model_type": "newcomer"})
    assert "stands in no table" in certiformer.certify(other, predictions=given)[ID].reason
    asked = tiny.write_npz(tmp_path / "e.npz", tiny.torch_encoder()[0])
    assert "heads" in certiformer.certify(asked, predictions=given)[ID].reason
    assert "another network" in certiformer.certify(ground, predictions=given)[ID].reason
    (tmp_path / "broken.safetensors").write_bytes(b"nothing")
    with pytest.raises(CertiformerError, match="broken"):
        certiformer.certify(tmp_path / "broken.safetensors", predictions=given)


def test_the_head_behind_a_pooler_or_a_dense_layer(tmp_path):
    """A classifier reads what the file puts before it: each such layer is a weight of the class."""
    rng = np.random.default_rng(0)
    head = {"classifier.weight": (3, tiny.D), "classifier.bias": (3,)}
    dense = {"weight": (tiny.D, tiny.D), "bias": (tiny.D,)}
    sample = Sample.of(predictions(classes=3))
    for family, name in (("bert", "bert.pooler.dense"), ("distilbert", "pre_classifier")):
        tensors, config = tiny.FAMILIES[family]()
        more = {key: rng.normal(size=shape).astype(np.float32) for key, shape in head.items()}
        bare = composed(tiny.write_folder(tmp_path / family, {**tensors, **more}, config), sample)
        more |= {f"{name}.{end}": rng.normal(size=shape).astype(np.float32) for end, shape in dense.items()}
        whole = composed(tiny.write_folder(tmp_path / f"{family}2", {**tensors, **more}, config), sample)
        assert whole.radii == bare.radii + 2
        names = {contribution.use.weight.name for contribution in whole.analysis.contributions}
        assert f"{name}.weight" in names


def test_the_command(folder, tmp_path):
    np.savez(tmp_path / "p.npz", **predictions())
    run = CliRunner().invoke
    out = tmp_path / "out"
    done = run(
        application(), ["certify", str(folder), "--predictions", str(tmp_path / "p.npz"), "--out", str(out), "--all"]
    )
    assert done.exit_code == 0, done.output
    assert "composition" in done.stdout
    page = (out / "report.html").read_text()
    assert "no residual connections: here every block adds its input" in page
