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
from certiformer.checkpoints.checkpoint_error import CheckpointError
from certiformer.checkpoints.encoder import Encoder
from certiformer.cli import application
from certiformer.lab.probing.embedding import embed
from certiformer.lab.probing.probe import Columns, predict, probe
from certiformer.lab.probing.texts import chosen, read_texts
from certiformer.theory.core.errors import InputError
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


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
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
    kept = list(read_texts(texts, repeats="group").texts[:60])
    store = Cache("embeddings")
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
    assert (len(found.texts), found.repeated, found.conflicting, found.names) == (407, 7, 0, ("ham", "spam"))
    assert found.of == "groups"
    used = chosen(found, 0)
    assert len(used) == len({found.groups[index] for index in used}) == 200
    with pytest.raises(InputError, match="7 of 407 rows repeat another text, 0 of them with another label"):
        read_texts(texts)
    distinct = read_texts(texts, repeats="group")
    assert len(chosen(distinct, 0)) == 400
    assert distinct.of == "distinct texts"
    natural = read_texts(texts, repeats="natural")
    assert len(chosen(natural, 0)) == 407
    assert "7 repeated texts are independent draws" in natural.conditions[0]
    with pytest.raises(InputError, match="'words'"):
        read_texts(texts, text="words")
    with pytest.raises(InputError, match="Is this the label column"):
        read_texts(texts, label="sender")


def test_probe_verify_and_predict(encoder, texts, tmp_path):
    pytest.importorskip("tokenizers")
    found = probe(encoder, texts, tokens=10, delta=0.05, most=300, repeats="group")
    page, report = found.write(tmp_path / "out")
    assert page.exists()
    rows = {row.id: row for row in found.report.statements if row.value is not None and row.version == "sound"}
    assert {"holdout", "betting", "occam", "pacbayes.gibbs", "pacbayes.single", "compression", "surrogate"} <= set(rows)
    assert rows["holdout"].value < 0.2
    document = found.report.document
    assert document["provenance"]["repeated_texts"] == 7
    assert "of new distinct texts" in document["headline"]
    assert "whether the encoder had seen the labels of these texts" in document["not_checked"]
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
    rows = [("id", "text"), (1, "word1 word2"), (2, ""), (3, "word30 word31"), (4, "word1 word2")]
    found = predict(encoder, head, write(tmp_path / "new.csv", rows))
    assert len(found) == 4  # one for every row, whatever it says
    assert found[0] == found[3]
    other = tiny.write_folder(tmp_path / "other", tiny.bert(7)[0], tiny.bert()[1])
    with pytest.raises(InputError, match="weights that the head was trained on"):
        predict(other, head, texts)
    card = json.loads((tmp_path / "out/probe.json").read_text())
    for changed in ({"tokens": "x"}, {"tokens": -1}, {"classes": card["classes"][:1]}, {"classes": None}):
        (tmp_path / "out/probe.json").write_text(json.dumps({**card, **changed}))
        with pytest.raises(InputError):
            predict(encoder, head, texts)


def test_embeddings_are_remembered_and_the_same(encoder, texts, monkeypatch):
    pytest.importorskip("tokenizers")
    first = probe(encoder, texts, tokens=10, most=60, repeats="group")
    monkeypatch.setattr(Encoder, "features", lambda *_: pytest.fail("embedded again"))
    second = probe(encoder, texts, tokens=10, most=60, repeats="group")
    assert first.report.document["statements"] == second.report.document["statements"]


def test_the_command(encoder, texts, tmp_path):
    pytest.importorskip("tokenizers")
    run = CliRunner().invoke
    out = tmp_path / "out"
    done = run(
        application(),
        [*f"probe {encoder} --texts {texts} --tokens 10 --group sender --most 100".split(), "--out", str(out)],
    )
    assert done.exit_code == 0, done.output
    assert "407 rows, 7 of them with a text that occurred before" in done.output
    assert "new groups" in " ".join(done.output.split())
    refused = run(
        application(), ["probe", str(encoder), "--texts", str(texts), "--head", str(out / "x"), "--group", "sender"]
    )
    assert "--group" in refused.output + refused.stderr + str(refused.exception)
    labels = run(
        application(),
        ["probe", str(encoder), "--texts", str(texts), "--head", str(out / "predictor-occam.safetensors")],
    )
    assert set(labels.stdout.split()) <= {"spam", "ham"}
    with pytest.raises(InputError, match="1 to 10"):
        probe(encoder, texts, columns=Columns(group="sender"))


@pytest.mark.parametrize("words", [("--most", "-5"), ("--most", "39"), ("--seed", "-1")])
def test_a_number_that_counts_nothing_is_one_line(encoder, texts, words):
    """--most -5 used all texts but five."""
    told = CliRunner().invoke(
        application(), ["probe", str(encoder), "--texts", str(texts), "--group", "sender", *words]
    )
    assert isinstance(told.exception, InputError)
    assert words[0][2:] in str(told.exception)


def test_rows_without_a_label_are_refused_with_their_line(encoder, tmp_path):
    rows = [(f"text {n}", "" if n % 10 else "ab"[n % 20 // 10]) for n in range(100)]
    path = write(tmp_path / "t.csv", [("text", "label"), *rows])
    with pytest.raises(InputError, match=r"'label'.*90 of 100 rows empty, the first in line 3"):
        read_texts(path)
    refused = CliRunner().invoke(application(), ["probe", str(encoder), "--texts", str(path)])
    assert "90 of 100 rows empty" in str(refused.exception)
    path = write(
        tmp_path / "t.csv",
        [("text", "label"), *((text if n else " ", "ab"[n % 2]) for n, (text, _) in enumerate(rows))],
    )
    with pytest.raises(InputError, match=r"'text'.*1 of 100 rows empty"):
        read_texts(path)


@pytest.mark.parametrize("word", ["NA", "null", "#N/A", "nan"])
def test_what_programs_write_for_no_value_is_no_class(tmp_path, word):
    """As in `certify`; a text may be such a word."""
    rows = [(f"text {n}", word if n < 30 else "ab"[n % 2]) for n in range(100)]
    with pytest.raises(InputError, match=r"'label'"):
        read_texts(write(tmp_path / "t.csv", [("text", "label"), *rows]))
    rows = [(word if n == 5 else f"text {n}", "ab"[n % 2]) for n in range(100)]
    assert len(read_texts(write(tmp_path / "t.csv", [("text", "label"), *rows])).texts) == 100


def test_one_text_with_a_coin_as_label_is_no_guarantee_for_the_stream(encoder, tmp_path):
    """Three fifths of a stream are one text whose label is a coin: every predictor errs on three tenths of it."""
    pytest.importorskip("tokenizers")
    rng = np.random.default_rng(3)
    rows = []
    for number in range(80):
        if rng.random() < 0.6:
            rows.append(("word1 word2", str(rng.integers(2))))
        else:
            half = rng.choice(len(WORDS) // 2, size=6) + (number % 2) * (len(WORDS) // 2)
            rows.append((" ".join(WORDS[w] for w in half), str(number % 2)))
    path = write(tmp_path / "stream.csv", [("text", "label"), *rows])
    with pytest.raises(InputError, match="with another label"):
        probe(encoder, path, tokens=10)
    natural = probe(encoder, path, tokens=10, repeats="natural").report
    assert natural["holdout"].value > 0.3


def test_groups_that_share_a_text_are_one(tmp_path):
    rows = [(f"text {n}", "ab"[n % 2], f"writer {n // 4}") for n in range(80)]
    rows[4] = (rows[0][0], "a", "writer 1")
    path = write(tmp_path / "t.csv", [("text", "label", "writer"), *rows])
    with pytest.raises(InputError, match="more than one group"):
        read_texts(path, group="writer")
    joined = read_texts(path, group="writer", repeats="group")
    assert len(set(joined.groups)) == 19
    assert joined.of == "groups that share no text"
