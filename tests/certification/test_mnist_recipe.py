"""The demo's recipe: its batched program, its codeword, its prices, and the counts of what is shipped, recounted."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from importlib import resources
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load

from certiformer.calculus import quantised
from certiformer.certificates.betting import Betting
from certiformer.certificates.disagreement import Disagreement
from certiformer.certificates.holdout import HoldOut
from certiformer.certificates.occam import Occam
from certiformer.certificates.pacbayes_gibbs import Gibbs
from certiformer.certificates.pacbayes_single import SingleDraw
from certiformer.certification.evidence import Findings
from certiformer.certification.recipes import mnist as recipe
from certiformer.certification.split import configuration_hash
from certiformer.models.shallow_encoder import ShallowEncoder, ShallowEncoderConfig

SETTINGS = recipe.Settings()


@pytest.fixture(scope="module")
def trained() -> recipe.Trained:
    found = recipe.shipped(SETTINGS)
    assert found is not None, "the shipped file was made with other settings"
    return found


@pytest.fixture(scope="module")
def parts() -> tuple[recipe.Images, recipe.Images, recipe.Images, recipe.Images, str]:
    return recipe.halves(SETTINGS, recipe.SHIPPED_SEED)


@pytest.fixture(scope="module")
def found() -> Findings:
    return recipe.findings()


def by_hand(model: ShallowEncoder, x: np.ndarray) -> np.ndarray:
    """The encoder written once more, in float64: mean over tokens of relu(W_V a_i), read by w_O."""
    query, key, value, readout = (np.asarray(weight, np.float64) for weight in recipe.weights_of(model))
    x = x.astype(np.float64)
    scores = np.einsum("ntm,nsm->nts", x @ query.T, x @ key.T) / math.sqrt(len(key))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    hidden = np.maximum(weights @ (x @ value.T), 0.0)
    return np.asarray(hidden.mean(axis=1) @ readout)


def one(found: Findings, kind: type[Any]) -> Any:
    (evidence,) = (item for item in found.evidence if isinstance(item, kind))
    return evidence


def test_the_batched_program_is_the_model() -> None:
    model = ShallowEncoder.init(jax.random.key(0), ShallowEncoderConfig(64, 32))
    x = jax.random.normal(jax.random.key(1), (7, 16, 64))
    batched = recipe.batched(recipe.weights_of(model), x)
    np.testing.assert_allclose(batched, jax.vmap(model)(x), rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(batched, by_hand(model, np.asarray(x)), rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(
        recipe.scores_of(model, np.asarray(x), block=3), jax.vmap(model)(x), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("shift", [(0, 0), (1, 0), (0, -1), (-1, 1)])
def test_shifted_moves_the_picture(shift: tuple[int, int]) -> None:
    """An image of 32 x 32 with a blank border, cut into patches of 8 x 8, row by row."""
    picture = np.zeros((2, 32, 32), np.float32)
    picture[:, 2:30, 2:30] = np.random.default_rng(0).random((2, 28, 28))

    def cut(images: np.ndarray) -> np.ndarray:
        return images.reshape(2, 4, 8, 4, 8).transpose(0, 1, 3, 2, 4).reshape(2, 16, 64)

    expected = np.zeros_like(picture)
    down, right = shift
    expected[:, 2 + down : 30 + down, 2 + right : 30 + right] = picture[:, 2:30, 2:30]
    moved = recipe.shifted(jnp.asarray(cut(picture)), jnp.asarray(shift))
    np.testing.assert_array_equal(moved, cut(expected))


def test_the_parts_do_not_meet(parts: tuple[recipe.Images, recipe.Images, recipe.Images, recipe.Images, str]) -> None:
    fit, certify, everything, test, _ = parts
    development, same, _ = recipe.images(SETTINGS)
    np.testing.assert_array_equal(same.y, everything.y)
    assert (len(development.y), len(everything.y), len(fit.y), len(certify.y)) == (2665, 10_000, 5000, 5000)
    assert len(test.y) == 2115
    rows = np.sort([x.tobytes() for x in np.concatenate([fit.x, certify.x])])
    assert np.array_equal(rows, np.sort([x.tobytes() for x in everything.x]))


def test_cosine_modes_are_orthonormal_and_begin_with_the_mean() -> None:
    modes = recipe.cosine_modes(SETTINGS.modes)
    np.testing.assert_allclose(modes @ modes.T, np.eye(SETTINGS.modes), atol=1e-12)
    np.testing.assert_allclose(np.abs(modes[0]), 1 / 8, atol=1e-12)


def test_a_codeword_names_one_network_in_the_span_of_the_low_modes() -> None:
    z = np.random.default_rng(0).integers(-3, 4, SETTINGS.dimension)
    first, second, other = (recipe.decode(SETTINGS, seed, z) for seed in (0, 0, 1))
    modes = recipe.cosine_modes(SETTINGS.modes)
    for weight, again, different in zip(*map(recipe.weights_of, (first, second, other)), strict=True):
        np.testing.assert_array_equal(weight, again)
        assert not np.array_equal(weight, different)
    for weight in recipe.weights_of(first)[:3]:
        matrix = np.asarray(weight, np.float64)
        np.testing.assert_allclose(matrix @ modes.T @ modes, matrix, atol=1e-5)
    start = recipe.decode(SETTINGS, 0, np.zeros_like(z))
    assert float(jnp.max(jnp.abs(start.W_Q - first.W_Q))) > 0.1


def test_the_code_length_pays_for_everything() -> None:
    z = np.random.default_rng(0).integers(-3, 4, SETTINGS.dimension)
    parts = recipe.code_length(SETTINGS, z)
    scales = [2.0 ** (i / 2) for i in range(-2, SETTINGS.scales - 2)]
    cheapest = min(quantised.gaussian_nats(z, SETTINGS.grid, scale) for scale in scales)
    assert parts == pytest.approx(
        {
            "coordinates and their scale": cheapest + math.log(SETTINGS.scales),
            "dimension": math.log(SETTINGS.dimension * (SETTINGS.dimension + 1)),
            "seeds and configurations tried": math.log(SETTINGS.tried) + math.log(SETTINGS.occam_seeds),
        }
    )
    more = recipe.code_length(replace(SETTINGS, tried=2 * SETTINGS.tried), z)
    assert sum(more.values()) - sum(parts.values()) == pytest.approx(math.log(2))


def test_the_shipped_file_belongs_to_the_settings(trained: recipe.Trained) -> None:
    place = resources.files("certiformer.certification.recipes").joinpath("data", "mnist_demo.safetensors")
    arrays = load(place.read_bytes())
    assert bytes(arrays["settings"]).decode() == configuration_hash(asdict(SETTINGS))
    assert recipe.shipped(replace(SETTINGS, tried=SETTINGS.tried + 1)) is None
    for name, array in trained.arrays().items():
        np.testing.assert_array_equal(array, arrays[name])
    assert trained.codeword.shape == (SETTINGS.dimension,)
    assert 0 <= trained.codeword_seed < SETTINGS.occam_seeds


def test_the_shipped_counts_are_true(
    found: Findings,
    trained: recipe.Trained,
    parts: tuple[recipe.Images, recipe.Images, recipe.Images, recipe.Images, str],
) -> None:
    fit, certify, everything, test, division = parts

    def wrong(model: ShallowEncoder, part: recipe.Images) -> int:
        return int(np.sum(by_hand(model, part.x) * part.y <= 0))

    holdout = one(found, HoldOut)
    assert (holdout.errors, holdout.n) == (wrong(trained.encoder, certify), 5000) == (28, 5000)
    assert found.observed["train_error"] == wrong(trained.encoder, fit) / 5000
    assert found.observed["heldout_error"] == wrong(trained.encoder, test) / len(test.y)
    occam = one(found, Occam)
    word = recipe.decode(SETTINGS, trained.codeword_seed, trained.codeword)
    assert (occam.errors, occam.n) == (wrong(word, everything), 10_000)
    assert occam.code_length == pytest.approx(math.fsum(recipe.code_length(SETTINGS, trained.codeword).values()))
    disagreement = one(found, Disagreement)
    first, second = (np.sign(by_hand(model, test.x)) for model in (trained.encoder, trained.encoder_all))
    assert disagreement.disagreements == np.sum(first != second)
    assert disagreement.unlabelled == len(test.y)
    assert list(found.splits.values()) == [division]


def test_the_posterior_and_its_draw(
    found: Findings,
    trained: recipe.Trained,
    parts: tuple[recipe.Images, recipe.Images, recipe.Images, recipe.Images, str],
) -> None:
    """KL of two Gaussians, the error of Q against draws, and ln dQ/dP from the two densities."""
    certify = parts[1]
    gibbs, drawn = one(found, Gibbs), one(found, SingleDraw)
    prior = np.asarray(trained.encoder.w_O, np.float64)
    sigma = trained.head_sigma
    divergence = np.sum((trained.head_mean - prior) ** 2) / (2 * sigma**2)
    assert divergence == pytest.approx(gibbs.KL)
    features = np.asarray(recipe.features(recipe.weights_of(trained.encoder), jnp.asarray(certify.x)), np.float64)
    draws = trained.head_mean + sigma * np.random.default_rng(0).standard_normal((400, len(prior)))
    rate = np.mean(features @ draws.T * certify.y[:, None] <= 0)
    assert gibbs.error == pytest.approx(rate, abs=5e-4)
    draw = trained.head_mean + sigma * np.random.default_rng(drawn.seed).standard_normal(len(prior))
    ratio = np.sum((draw - prior) ** 2 - (draw - trained.head_mean) ** 2) / (2 * sigma**2)
    assert drawn.log_ratio == pytest.approx(ratio)
    assert drawn.errors == np.sum(features @ draw * certify.y <= 0)
    assert drawn.draws == 1


def test_smoothed_losses_lie_in_their_interval(found: Findings) -> None:
    betting = one(found, Betting)
    assert len(betting.losses) == 5000
    assert betting.low <= min(betting.losses)
    assert max(betting.losses) <= betting.high
    a = betting.smoothing
    assert betting.low == pytest.approx(-math.log(1 - a / 2))
    assert betting.high == pytest.approx(-math.log(a / 2))


def test_every_record_pays_for_what_was_tried(found: Findings) -> None:
    for evidence in found.evidence:
        assert isinstance(evidence, Occam) or evidence.models == SETTINGS.tried
    assert found.tried == SETTINGS.tried
