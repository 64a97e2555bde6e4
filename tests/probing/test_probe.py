"""From texts to certificates with a tiny encoder: forward pass, splits, heads, verification, prediction."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from scipy.special import erf
from typer.testing import CliRunner

from certiformer.certification.verify import verify
from certiformer.checkpoints.cache import Cache
from certiformer.checkpoints.cache import folder as cache_folder
from certiformer.checkpoints.encoder import Encoder
from certiformer.checkpoints.errors import CheckpointError
from certiformer.cli import application
from certiformer.core.errors import InputError
from certiformer.probing.embedding import embed
from certiformer.probing.probe import predict, probe
from certiformer.probing.texts import chosen, read_texts
from checkpoints import tiny

WORDS = [f"word{n}" for n in range(tiny.V - 5)]


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CERTIFORMER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def encoder(tmp_path):
    folder = tiny.write_folder(tmp_path / "encoder", *tiny.bert())
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    return folder


@pytest.fixture
def texts(tmp_path):
    """Spam says words of the first half, ham of the second, with some noise; a few texts come twice."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(400):
        spam = number % 2 == 0
        half = rng.choice(len(WORDS) // 2, size=6) + (0 if spam else len(WORDS) // 2)
        rows.append((" ".join(WORDS[w] for w in half), "spam" if spam else "ham", f"sender {number // 2}"))
    rows += rows[:7]
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label", "sender"), *rows])
    return path


def plain_forward(tensors, ids):
    """The encoder once more, token by token, in float64."""

    def norm(x, at):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * tensors[f"{at}.weight"] + tensors[f"{at}.bias"]

    def affine(x, at):
        return x @ tensors[f"{at}.weight"].astype(float).T + tensors[f"{at}.bias"]

    x = tensors["embeddings.word_embeddings.weight"].astype(float)[ids]
    x = x + tensors["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + tensors["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    width = tiny.D // tiny.H
    for n in range(tiny.L):
        at = f"encoder.layer.{n}."
        q, k, v = (affine(x, f"{at}attention.self.{part}") for part in ("query", "key", "value"))
        mixed = np.zeros_like(x)
        for h in range(tiny.H):
            cut = slice(h * width, (h + 1) * width)
            scores = np.exp(q[:, cut] @ k[:, cut].T / np.sqrt(width))
            mixed[:, cut] = scores / scores.sum(1, keepdims=True) @ v[:, cut]
        x = norm(x + affine(mixed, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm")
        u = affine(x, f"{at}intermediate.dense")
        u = u * 0.5 * (1 + erf(u / np.sqrt(2)))
        x = norm(x + affine(u, f"{at}output.dense"), f"{at}output.LayerNorm")
    return x.mean(0)


def test_the_forward_pass_against_a_plain_one(encoder):
    tensors, _ = tiny.bert()
    rng = np.random.default_rng(1)
    texts = [rng.integers(5, tiny.V, size=size).tolist() for size in (1, 4, 9, 4, 10, 2)]
    expected = np.array([plain_forward(tensors, ids) for ids in texts])
    double, single = Encoder(encoder, precision="double"), Encoder(encoder)
    np.testing.assert_allclose(list(double.each(double.vector, texts)), expected, atol=1e-12)
    found = list(single.each(single.vector, texts))
    np.testing.assert_allclose(found, expected, atol=2e-6)
    np.testing.assert_array_equal(list(single.each(single.vector, texts[::-1])), found[::-1])
    for tokens, last in zip(texts, expected, strict=True):
        features = double.features(tokens).reshape(3, tiny.D)
        np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0)
        np.testing.assert_allclose(features[2], last / np.linalg.norm(last), atol=1e-12)
        first = double.states(tokens, 0).mean(axis=0)
        np.testing.assert_allclose(features[0], first / np.linalg.norm(first), atol=1e-12)


def test_every_text_is_embedded_once(encoder, texts, monkeypatch):
    """The cache knows texts, not runs: other texts beside them and another order change nothing."""
    pytest.importorskip("tokenizers")
    runs = []
    plain = Encoder.features
    monkeypatch.setattr(Encoder, "features", lambda self, tokens: runs.append(tokens) or plain(self, tokens))
    kept = list(read_texts(texts).texts[:60])
    store = Cache(cache_folder(), "embeddings")
    first = embed(encoder, kept[:40], longest=10, cache=store)
    assert len(runs) == 40
    again = embed(encoder, kept[::-1], longest=10, cache=store)
    assert len(runs) == 60
    np.testing.assert_array_equal(again[::-1][:40], first)


def test_pooling_and_what_is_not_run(encoder, tmp_path):
    (encoder / "1_Pooling").mkdir()
    (encoder / "1_Pooling/config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert Encoder(encoder).pooling == "cls"
    with pytest.raises(CheckpointError, match="of family llama"):
        Encoder(tiny.write_folder(tmp_path / "m", *tiny.llama()))
    with pytest.raises(CheckpointError, match="10 positions"):
        Encoder(encoder).vector([5] * 11)
    with pytest.raises(CheckpointError, match="no token"):
        Encoder(encoder).vector([tiny.V])


def test_texts_are_read_once_each(texts):
    found = read_texts(texts, group="sender")
    assert (len(found.texts), found.duplicates, found.conflicting, found.names) == (400, 7, 0, ("ham", "spam"))
    used = chosen(found, None, 0)
    assert len(used) == len({found.groups[index] for index in used}) == 200
    assert len(chosen(read_texts(texts), 50, 0)) == 50
    with pytest.raises(InputError, match="'words'"):
        read_texts(texts, text="words")
    with pytest.raises(InputError, match="Is this the label column"):
        read_texts(texts, label="sender")


def test_probe_verify_and_predict(encoder, texts, tmp_path):
    pytest.importorskip("tokenizers")
    found = probe(encoder, texts, tokens=10, delta=0.05, most=300)
    page, report = found.write(tmp_path / "out")
    assert page.exists()
    rows = {row.id: row for row in found.report.statements if row.value is not None and row.version == "sound"}
    assert {"holdout", "betting", "occam", "pacbayes.gibbs", "pacbayes.single", "compression", "surrogate"} <= set(rows)
    assert rows["holdout"].value < 0.2
    document = found.report.document
    assert document["provenance"]["exact_duplicates_removed"] == 7
    checked = verify(report, data=tmp_path / "out/features.npz")
    assert checked.agrees
    assert {row.id for row in checked.rows if row.counted} >= {"holdout", "occam", "pacbayes.gibbs", "compression"}
    assert {one.id for one in checked.unchecked} >= {"surrogate"}
    assert checked.exit_code == 3
    assert (tmp_path / "out/head-final.safetensors").exists()
    head = tmp_path / "out/predictor-holdout.safetensors"
    names = predict(encoder, head, texts)
    with texts.open() as file:
        truth = [row["label"] for row in csv.DictReader(file)]
    assert np.mean([a == b for a, b in zip(names, truth, strict=True)]) > 0.8
    other = tiny.write_folder(tmp_path / "other", tiny.bert(7)[0], tiny.bert()[1])
    with pytest.raises(InputError, match="weights that the head was trained on"):
        predict(other, head, texts)


def test_embeddings_are_remembered_and_the_same(encoder, texts, monkeypatch):
    pytest.importorskip("tokenizers")
    first = probe(encoder, texts, tokens=10, most=60)
    monkeypatch.setattr(Encoder, "features", lambda *_: pytest.fail("embedded again"))
    second = probe(encoder, texts, tokens=10, most=60)
    assert first.report.document["statements"] == second.report.document["statements"]


def test_the_command(encoder, texts, tmp_path):
    pytest.importorskip("tokenizers")
    run = CliRunner().invoke
    out = tmp_path / "out"
    done = run(
        application(),
        ["probe", str(encoder), "--texts", str(texts), "--tokens", "10", "--group", "sender", "--out", str(out)],
    )
    assert done.exit_code == 0, done.output
    assert "exact duplicates removed before anything else: 7" in done.output
    labels = run(
        application(),
        ["probe", str(encoder), "--texts", str(texts), "--head", str(out / "predictor-occam.safetensors")],
    )
    assert set(labels.stdout.split()) <= {"spam", "ham"}
    with pytest.raises(InputError, match="at most 10"):
        probe(encoder, texts)
