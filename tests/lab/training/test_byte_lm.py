"""The byte-level language model: nothing looks ahead, a kill changes nothing, bad texts are told."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from certiformer import certify
from certiformer.certification.declaration import Declaration
from certiformer.cli.train import train
from certiformer.lab.models.byte_lm import ByteLMConfig
from certiformer.lab.recipes import byte_lm
from certiformer.lab.recipes.byte_lm import Batch, Settings, State, contexts, corpus, learn, run, smoothed, texts
from certiformer.theory.core.errors import InputError

SMALL = Settings(
    documents=198, heldout=12, skip=100, width=16, blocks=2, heads=2, rows=128, warm_up=10, cut=200, batch=3
)


def written(n: int = 210) -> list[str]:
    random = np.random.default_rng(0)
    words = ["the", "film", "was", "good", "bad", "and", "long", "plot"]
    return [" ".join(random.choice(words, size=int(random.integers(12, 60)))) for _ in range(n)]


@pytest.fixture(scope="module")
def trained() -> State:
    state = State.start(SMALL)
    documents = corpus(written(), SMALL).stream
    for at in range(0, 30, 3):
        learn(state, Batch.of(documents[at : at + 3], SMALL.rows), 1e-2, 0.1)
    return state


def logits(state: State, documents: list[bytes]) -> np.ndarray:
    batch = Batch.of(documents, SMALL.rows)
    found = byte_lm._logits(state.model, batch.embedded(state.tables), batch.last, batch.document)
    return np.asarray(found)[: sum(map(len, documents))]


def test_a_byte_changes_only_what_is_said_after_it_in_its_document(trained: State) -> None:
    first, second = b"the film was good and the plot was long", b"a second document " * 12
    before = logits(trained, [first, second])
    for at in (0, 7, 20):
        other = first[:at] + b"Z" + first[at + 1 :]
        moved = np.any(logits(trained, [other, second]) != before, axis=1)
        assert not moved[: at + 1].any()
        assert moved[at + 1]
        assert not moved[len(first) :].any()


def test_the_probability_of_a_document_is_the_same_alone_and_in_company(trained: State) -> None:
    one, two = b"the film was good " * 9, b"bad and long " * 4
    together = Batch.of([one, two], SMALL.rows).bits(_padded(trained, [one, two]))
    alone = [Batch.of([x], SMALL.rows).bits(_padded(trained, [x]))[0] for x in (one, two)]
    np.testing.assert_allclose(together, alone, rtol=1e-5)


def _padded(state: State, documents: list[bytes]) -> np.ndarray:
    batch = Batch.of(documents, SMALL.rows)
    return np.asarray(byte_lm._logits(state.model, batch.embedded(state.tables), batch.last, batch.document))


def test_it_learns_and_a_kill_changes_no_bit(tmp_path: Path) -> None:
    data = corpus(written(), SMALL)
    whole = run(data, SMALL, tmp_path / "whole")
    early, late = np.mean(whole.bits[:50]), np.mean(whole.bits[-50:])
    assert late < 0.8 * early

    class KilledError(Exception):
        pass

    def killed(done: int, mean: float) -> None:
        if done == 90:
            raise KilledError

    with pytest.raises(KilledError):
        run(data, SMALL, tmp_path / "parts", every_seconds=0.0, say=killed)
    resumed = run(data, SMALL, tmp_path / "parts")
    for name, value in whole.arrays().items():
        assert np.array_equal(value, resumed.arrays()[name]), name
    with pytest.raises(InputError, match="same settings"):
        run(data, Settings(**{**vars(SMALL), "rate": 0.1}), tmp_path / "parts")
    written_so_far = (tmp_path / "parts").read_bytes()
    for damaged in (b"", b"PK", written_so_far[: len(written_so_far) // 2]):
        (tmp_path / "parts").write_bytes(damaged)
        with pytest.raises(InputError, match="--no-resume"):
            run(data, SMALL, tmp_path / "parts")
    assert {path.name for path in tmp_path.iterdir()} == {"whole", "parts"}


def test_a_pass_that_the_clock_ends_scores_the_held_out(tmp_path: Path) -> None:
    state = run(corpus(written(), SMALL), SMALL, tmp_path / "state", minutes=-1.0)
    assert (len(state.bits), len(state.heldout)) == (0, 12)
    np.testing.assert_allclose(
        state.heldout, [8.0 * len(one) for one in corpus(written(), SMALL).heldout]
    )  # untrained weights say nothing


def test_contexts_are_of_the_bytes_before() -> None:
    found = contexts(b"abcabcabc", 1 << 20)
    assert np.array_equal(found[6:, 0], found[3:6, 0])  # order 2 sees the same two bytes
    assert len({*found[:3, 0]}) == 3
    assert np.array_equal(contexts(b"abcabcabX", 1 << 20), found)


def test_document_smoothing() -> None:
    # by hand: n = 2, P = 2^-4: (0.99/16 + 0.01/65536)
    assert smoothed([4.0], [2], 0.01)[0] == pytest.approx(-np.log2(0.99 / 16 + 0.01 / 65536) / 2, abs=1e-14)
    assert smoothed([1e9], [32], 0.01)[0] == pytest.approx(Settings().highest, abs=1e-12)
    assert Settings().highest == pytest.approx(8.2076, abs=1e-4)


def test_duplicates_and_short_documents_go() -> None:
    data = corpus([*written(), written()[0], "short"], SMALL)
    assert (data.duplicates, data.short, len(data.stream), len(data.heldout)) == (1, 1, 198, 12)
    assert set(data.stream).isdisjoint(data.heldout)


def test_near_duplicates_are_counted() -> None:
    run = bytes(range(100, 100 + byte_lm.SHARED))
    stream = (b"x" * 40, b"abc" + run + b"d")
    heldout = (b"12345" + run, run[1:] + b"9" * 40, b"9" * 40, run + b"7", b"x" * 200)
    assert byte_lm.near_duplicates(byte_lm.Corpus(heldout, stream, 0, 0)) == [True, False, False, True, False]
    assert byte_lm.near_duplicates(byte_lm.Corpus((b"y" * 70 + run,), (run * 3, b"y"), 0, 0)) == [True]


def test_bad_texts(tmp_path: Path) -> None:
    for name, content, said in (
        ("a.txt", b"\xff\xfe\x00", "UTF-8"),
        ("b.txt", b"  \n", "empty"),
        ("c.jsonl", b'{"review": "x", "stars": 3}', "review, stars"),
        ("d.jsonl", b'{"text": 3}', "not empty"),
        ("e.jsonl", b"{", "JSON"),
        ("g.jsonl", b'{"text": "half \\ud800"}', "half of a character"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=said):
            texts([tmp_path / name], "text")
    with pytest.raises(InputError, match="can be read"):
        texts([tmp_path / "none.txt"], "text")
    with pytest.raises(InputError, match="at least 200"):
        corpus(written(100), SMALL)
    with pytest.raises(InputError, match="at most 210"):
        corpus(written(), Settings())
    (tmp_path / "f.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in written(3)))
    assert texts([tmp_path / "f.jsonl"], "text") == written(3)


def test_settings_are_checked() -> None:
    assert byte_lm.chosen({"documents": 300, "skip": 3}).documents == 300
    for given in (
        {"nothing": 1},
        {"documents": 1.5},
        {"smoothing": 1.0},
        {"skip": 10**6},
        {"rate": "x"},
        {"batch": 0},
        {"cut": 31},
        {"rate": math.nan},
    ):
        with pytest.raises(InputError):
            byte_lm.chosen(given)
    with pytest.raises(InputError, match="a multiple of heads"):
        ByteLMConfig(width=128, heads=3)


def test_from_texts_to_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """`train byte_lm` writes what `certify` reads: three rows in bits per byte."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("certiformer.cli.train.own_process", lambda threads: None)
    Path("texts.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in written()))
    chosen = [f"{name}={value}" for name, value in vars(SMALL).items() if name != "seed"]
    train("byte_lm", text=[Path("texts.jsonl")], settings=chosen, json=True)
    said = json.loads(capsys.readouterr().out)
    assert (said["documents"], said["skip"]) == (198, 100)
    with np.load("model.npz") as saved:
        assert {name.partition("/")[0] for name in saved} == {"model", "tables"}
    assert not Path("model.npz.running").exists()
    report = certify(predictions="data.npz", declaration=Declaration(range=(0.0, 8.2077), population="texts"))
    assert {one.key for one in report.statements if one.value is not None} >= {
        "mean_loss (bits per byte)",
        "progressive.loss",
        "progressive.ratio",
    }
    assert "bits over total bytes of new texts" in report["progressive.ratio"].claim
    assert report["progressive.loss"].terms["observed"] == said["bits_per_byte_after_skip"]
    with pytest.raises(InputError, match="--range"):
        certify(predictions={"progressive_losses": np.full(20, 0.5), "heldout_correct": np.ones(20)})
    np.savez("data.npz", mine=np.ones(3))
    with pytest.raises(InputError, match="Choose another name"):
        train("byte_lm", text=[Path("texts.jsonl")], settings=chosen)
    for model, text in (("byte_lm", None), ("shallow_encoder", [Path("texts.jsonl")])):
        with pytest.raises(InputError, match="--text"):
            train(model, text=text)
