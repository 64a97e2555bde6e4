"""The demo's recipe: its parts, its shipped predictors, and their counts, recounted by other means."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

import certiformer
from certiformer.certificates.betting import Betting
from certiformer.certificates.compression import Compression
from certiformer.certificates.cover_local import LocalCover
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.occam import Occam
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certificates.surrogate import Surrogate
from certiformer.certification.pipeline import Findings, build
from certiformer.certification.split import configuration_hash
from certiformer.lab.models import weights
from certiformer.lab.procedures._augment import Shifts
from certiformer.lab.recipes import mnist as recipe
from certiformer.lab.recipes.mnist import Images

SETTINGS = recipe.Settings()


@pytest.fixture(scope="module")
def arrays() -> Any:
    found = recipe.shipped(SETTINGS)
    assert found is not None, "the shipped file was made with other settings"
    return found


@pytest.fixture(scope="module")
def parts() -> recipe.Parts:
    return recipe.parts(SETTINGS, recipe.SHIPPED_SEED)


@pytest.fixture(scope="module")
def found() -> Findings:
    return recipe.findings()


def by_hand(model: Any, x: np.ndarray, readout: np.ndarray | None = None) -> np.ndarray:
    """The encoder written once more, in float64: mean over tokens of relu(W_V a_i), read by w_O."""
    query, key, value, own = (np.asarray(weight, np.float64) for weight in weights(model).values())
    x = x.astype(np.float64)
    scores = np.einsum("ntm,nsm->nts", x @ query.T, x @ key.T) / math.sqrt(len(key))
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return np.asarray(np.maximum(shares @ (x @ value.T), 0.0).mean(axis=1) @ (own if readout is None else readout))


def wrong(model: Any, part: Images) -> int:
    return int(np.sum(by_hand(model, part.x) * (2 * part.y - 1) <= 0))


def one(found: Findings, kind: type[Any]) -> Any:
    (record,) = (item for item in found.evidence if isinstance(item, kind))
    return record


def test_the_parts_do_not_meet(parts: recipe.Parts) -> None:
    sizes = [len(part.y) for part in (parts.pool, parts.everything, parts.fit, parts.certify, parts.test)]
    assert sizes == [2665, 10_000, 5000, 5000, 2115]
    assert parts.everything.x.shape[1:] == (16, 80)
    rows = np.sort([x.tobytes() for x in np.concatenate([parts.fit.x, parts.certify.x])])
    assert np.array_equal(rows, np.sort([x.tobytes() for x in parts.everything.x]))


def test_shifts_move_the_pixels_and_keep_the_positions(parts: recipe.Parts) -> None:
    import jax

    x = parts.fit.x[:5]
    moved = np.asarray(Shifts(2)(jax.random.key(0), x))
    np.testing.assert_array_equal(moved[:, :, 64:], x[:, :, 64:])
    np.testing.assert_allclose(moved[:, :, :64].sum(axis=(1, 2)), x[:, :, :64].sum(axis=(1, 2)), rtol=1e-5)
    assert not np.array_equal(moved, x)


def test_the_shipped_file_belongs_to_the_settings(arrays: Any) -> None:
    assert bytes(arrays["settings"]).decode() == configuration_hash(asdict(SETTINGS))
    assert recipe.shipped(replace(SETTINGS, steps=SETTINGS.steps + 1)) is None


def test_the_shipped_counts_are_true(found: Findings, arrays: Any, parts: recipe.Parts) -> None:
    encoder, whole = (recipe._model(name, arrays) for name in ("encoder", "encoder_all"))
    holdout = one(found, HoldOut)
    assert (holdout.errors, holdout.n) == (wrong(encoder, parts.certify), 5000)
    assert found.observed["train_error"] == wrong(encoder, parts.fit) / 5000
    assert found.observed["heldout_error"] == wrong(encoder, parts.certify) / len(parts.certify.y)
    assert found.observed["test_error"] == wrong(encoder, parts.test) / len(parts.test.y)
    surrogate = one(found, Surrogate)
    first, second = (np.sign(by_hand(model, parts.pool.x)) for model in (encoder, whole))
    assert (surrogate.disagreements, surrogate.m) == (np.sum(first != second), 2665)
    assert (surrogate.errors, surrogate.form) == (holdout.errors, "joint")
    assert list(found.splits.values()) == [parts.division]


def test_the_compressed_encoder_leaves_as_many_wrong_as_it_says(
    found: Findings, arrays: Any, parts: recipe.Parts
) -> None:
    record = one(found, Compression)
    errors = wrong(recipe._model("compressed", arrays), parts.everything)
    assert record.left <= errors <= record.left + record.k
    assert record.stages == len(SETTINGS.pick_stages) + 1
    assert record.k == len(arrays["picks"])
    outside = np.setdiff1d(np.arange(10_000), arrays["picks"])
    assert record.left == wrong(
        recipe._model("compressed", arrays), recipe.Images(*(part[outside] for part in parts.everything))
    )


def test_the_pooling_network_by_hand(found: Findings, arrays: Any, parts: recipe.Parts) -> None:
    record, word = one(found, LocalCover), one(found, Occam)
    network = SETTINGS.pooling
    assert all(scale.errors >= wrong_pooling(network, arrays["pooling"], parts.everything) for scale in record.scales)
    assert word.errors == wrong_pooling(network, arrays["codeword"], parts.everything)
    assert np.array_equal(arrays["codeword"], np.rint(2 * arrays["codeword"]) / 2)


def wrong_pooling(network: Any, z: np.ndarray, part: Images) -> int:
    pixels = part.x[:, :, :64].astype(np.float64)
    pixels /= np.maximum(1.0, np.linalg.norm(pixels.reshape(len(pixels), -1), axis=1))[:, None, None]
    own = pixels.mean(axis=2, keepdims=True) * 8
    sigma = np.concatenate([own, np.broadcast_to(network.places, (len(pixels), *network.places.shape))], axis=2)
    a = np.exp(sigma @ z[: network.queries])
    a /= a.sum(axis=1, keepdims=True)
    values = np.einsum("nt,tcd,ntd->nc", a, network.values, pixels)
    w = z[network.queries :]
    return int(np.sum((values @ w[:-1] + network.constant * w[-1]) * (2 * part.y - 1) <= 0))


def test_the_posterior_and_its_draw(found: Findings, arrays: Any, parts: recipe.Parts) -> None:
    gibbs, drawn = one(found, Gibbs), one(found, SingleDraw)
    scores = by_hand(drawn.predictor.network.model, parts.certify.x, drawn.predictor.head.weights[:, 0])
    assert drawn.errors == np.sum(scores * (2 * parts.certify.y - 1) <= 0)
    assert gibbs.error == pytest.approx(drawn.errors / 5000, abs=5e-3)
    assert drawn.log_ratio <= gibbs.KL + 30


def test_losses_lie_in_their_interval(found: Findings) -> None:
    betting = one(found, Betting)
    assert len(betting.losses) == 5000
    assert betting.low <= min(betting.losses)
    assert max(betting.losses) <= betting.high


def test_the_hold_out_row_says_what_it_assumes(found: Findings) -> None:
    note = one(found, HoldOut).note
    assert "does not depend on earlier looks" in note
    assert "best of 64 settings" in note


def test_every_row_of_the_demo_is_counted_again(found: Findings, tmp_path: Any) -> None:
    """From the files beside the report and the images in the package; what is left to trust is named."""
    build(replace(found, model=None, sample=None, initial=None)).write(tmp_path)
    again = certiformer.verify(tmp_path / "report.json")
    assert {row.id for row in again.rows} == {record.id for record in found.evidence}
    for row in again.rows:
        assert row.agrees, row
        assert row.counted, row
    assert {one.id for one in again.unchecked} == {"compression", "progressive"}
    assert again.exit_code == 3
