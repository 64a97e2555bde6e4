"""An adapter before the last norm of a tiny encoder: forward pass, gradient, cover with floors, report."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from certiformer.certification.verify import verify
from certiformer.checkpoints.encoder import Encoder
from certiformer.cli import application
from certiformer.lab.probing import adapter as module
from certiformer.lab.probing.adapter import AdapterSettings, adapt, prepared
from certiformer.theory.core.errors import InputError
from checkpoints import tiny

pytest.importorskip("tokenizers")
WORDS = [f"word{n}" for n in range(tiny.V - 5)]
HALF = len(WORDS) // 2
SETTINGS = AdapterSettings(
    tokens=10,
    read=3,
    readout=2,
    floor=0.3,
    margin=1.0,
    read_radii=(1.0, 16.0),
    readout_radii=(16.0, 64.0),
    like=("word1 word2 word3", "word4 word5", "word9 word0"),
    unlike=("word25 word26 word27", "word30 word31", "word22 word29"),
)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CERTIFORMER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def encoder(tmp_path):
    folder = tiny.write_folder(tmp_path / "encoder", *tiny.bert())
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    return folder


def drawn(count, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        words = rng.choice(HALF, size=6) + (0 if number % 2 else HALF)
        rows.append((" ".join(WORDS[word] for word in words), "spam" if number % 2 else "ham"))
    return rows


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *drawn(300)])
    return path


def plainly(encoder, frozen, z, y, ids):
    """The adapted encoder, token by token, and the smallest deviation before the last norm."""
    found, lowest = [], []
    last = encoder.layers[-1]
    for tokens in ids:
        middle = last.middle(encoder.states(tokens, encoder.depth - 1)).astype(float)
        summed = last.summed(middle.astype(encoder.dtype)).astype(float)
        outputs, deviations = [], []
        for m, h in zip(middle, summed, strict=True):
            s = h + frozen.write * (z @ (frozen.reading @ m))
            s = s - s.mean()
            deviations.append(math.sqrt(s @ s / len(s) + encoder.eps))
            outputs.append(last.final_norm.gain * s / deviations[-1] + last.final_norm.shift)
        found.append(y[:-1] @ frozen.seeing @ (np.mean(outputs, axis=0) - frozen.centre) + y[-1])
        lowest.append(min(deviations))
    return np.array(found), np.array(lowest)


def test_the_forward_pass_the_floor_and_the_gradient(encoder):
    rows = [text for text, _ in drawn(12)]
    frozen, tokens = prepared(encoder, rows, SETTINGS)
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=3), rng.normal(size=3)
    ids = module.read(encoder, rows, 10)[1]
    expected, lowest = plainly(frozen.encoder, frozen, z, y, ids)
    np.testing.assert_allclose(frozen.outputs(z, y, tokens), expected, atol=1e-5)
    np.testing.assert_allclose(frozen.lowest(z, tokens), lowest, atol=1e-6)
    untouched = [y[:-1] @ frozen.seeing @ (Encoder(encoder).vector(one) - frozen.centre) + y[-1] for one in ids]
    np.testing.assert_allclose(frozen.outputs(np.zeros(3), y, tokens), untouched, atol=1e-5)
    step = 1e-6
    slope = [
        (frozen.outputs(z + step * e, y, tokens) - frozen.outputs(z - step * e, y, tokens)) / (2 * step)
        for e in np.eye(3)
    ]
    _, _, by_token = frozen._outputs(z, y, tokens)
    exact = np.add.reduceat(by_token[:, None] * tokens.read, tokens.starts) / tokens.lengths[:, None]
    np.testing.assert_allclose(exact, np.array(slope).T, atol=1e-6)


def test_the_cover_holds_where_the_floor_does(encoder):
    """Members of the class and their neighbours at the radii of the cover: no output moves by more than eps."""
    rows = [text for text, _ in drawn(40)]
    frozen, tokens = prepared(encoder, rows, SETTINGS)
    analysis = frozen.analysis(1.0, 4.0)
    eps = 0.5
    radii = {term.name: term for term in analysis.terms}
    rng = np.random.default_rng(1)
    (condition,) = analysis.conditions(eps)
    assert SETTINGS.floor < condition.counted_below < 1.2 * SETTINGS.floor
    worst = 0.0
    for _ in range(300):
        z, dz = rng.normal(size=(2, 3))
        y, dy = rng.normal(size=(2, 3))
        z, y = z / np.linalg.norm(z), 4.0 * y / np.linalg.norm(y)
        # One third of eps for each: half of it is what the engine would leave for the error of one weight.
        dz *= eps / 3 / math.exp(radii["z"].ln_beta) / np.linalg.norm(dz)
        dy[:-1] *= eps / 3 / math.exp(radii["y"].ln_beta) / np.linalg.norm(dy[:-1])
        dy[-1] = np.sign(dy[-1]) * eps / 3
        good = (frozen.lowest(z, tokens) >= SETTINGS.floor) & (frozen.lowest(z + dz, tokens) >= SETTINGS.floor)
        moved = np.abs(frozen.outputs(z, y, tokens) - frozen.outputs(z + dz, y + dy, tokens))[good]
        worst = max(worst, float(moved.max(initial=0.0)))
    assert 0.3 * eps < worst <= eps


def test_from_texts_to_the_report(encoder, texts, tmp_path):
    found = adapt(encoder, texts, SETTINGS)
    card, row = found.card, found.report["cover.floors"]
    assert row.value == card["bound"] < 1.0
    parts = card["margin_errors"] + card["below_the_floor_only"] + card["added_by_nats"]
    assert parts == pytest.approx(card["bound"])
    assert card["coordinates"] == 6
    assert card["paid"] == pytest.approx(math.log(4))
    assert np.linalg.norm(card["z"]) <= card["read_radius"]
    assert np.linalg.norm(card["y"][:-1]) <= card["readout_radius"]
    _, report = found.write(tmp_path / "out")
    assert verify(report).agrees
    assert json.loads((tmp_path / "out/adapter.json").read_text())["n"] == 300
    # A floor nobody reaches is paid by every text.
    assert adapt(encoder, texts, replace(SETTINGS, floor=50.0)).card["bound"] == 1.0


def test_the_command_and_its_settings(encoder, texts, tmp_path):
    def toml(**changes):
        values = {name: getattr(SETTINGS, name) for name in SETTINGS.__slots__} | changes
        path = tmp_path / "adapter.toml"
        lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
        path.write_text("\n".join(lines))
        return path

    arguments = ["probe", str(encoder), "--texts", str(texts), "--out", str(tmp_path / "out"), "--adapter"]
    done = CliRunner().invoke(application(), [*arguments, str(toml())])
    assert done.exit_code == 0, done.output
    assert "an adapter of 6 coordinates errs on at most" in " ".join(done.stdout.split())
    assert "nats for 6" in " ".join(done.stdout.split())
    assert AdapterSettings.of(toml()).digest() == SETTINGS.digest()
    with pytest.raises(InputError, match="counts below 6 sentences"):
        AdapterSettings.of(toml(read=6))
    with pytest.raises(InputError, match="positive"):
        AdapterSettings.of(toml(floor=0.0))
    with pytest.raises(InputError, match="extra"):
        AdapterSettings.of(toml(extra=1))


def test_an_empty_grid_of_radii_is_one_line(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text(
        "tokens = 8\nread = 1\nreadout = 1\nfloor = 0.1\nmargin = 0.1\nread_radii = []\nreadout_radii = [1.0]\n"
        'like = ["a"]\nunlike = ["b"]\n'
    )
    with pytest.raises(InputError, match="an empty grid"):
        AdapterSettings.of(path)
