"""Attention pooling in coordinates: its changes against perturbations, its covers, its code, its file."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from certiformer import certify
from certiformer.certificates.occam import Occam as OccamRecord
from certiformer.certification.predictors import content_of, load_predictor
from certiformer.lab.coordinate_covers.attention_pooling import (
    ROUNDING,
    STEPS,
    AttentionPooling,
    Pooled,
    cosine_modes,
)
from certiformer.lab.procedures import CoordinateCover, Occam
from certiformer.theory.calculus.coordinate_covers import ball_nats, cap_nats
from certiformer.theory.calculus.tails import binomial_upper
from certiformer.theory.core.errors import InputError

SMALL = AttentionPooling(modes=3, positions=2, side=2, patch=4, starts=1, search=16)


def pictures(n, seed=0):
    """Bright on the left or on the right: 2 x 2 patches of 4 x 4 pixels."""
    random = np.random.default_rng(seed)
    images = 0.1 * random.random((n, 8, 8))
    labels = random.integers(0, 2, n)
    for image, label in zip(images, labels, strict=True):
        image[:, 4 * label : 4 * label + 4] += random.random()
    return images.reshape(n, 2, 4, 2, 4).transpose(0, 1, 3, 2, 4).reshape(n, 4, 16), labels


@pytest.mark.independent("cover.local")
def test_the_vector_of_one_change():
    features = Pooled(
        np.array([[[0.5, 0.0], [0.0, 0.5], [-0.25, 0.25]]]), np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    )
    q, w, u, v = np.array([1.0, -1.0]), np.array([0.6, -0.48, 0.64]), 0.02, 0.05
    network = AttentionPooling(modes=2, patch_modes=1, positions=1)
    f, length, most, slope, spread, reach = network.changes(np.concatenate([q, w]), features, np.array([1]))
    found = [float(np.squeeze(part)) for part in (f, length, slope, reach, most, spread)]
    assert found == pytest.approx([-0.01454754283, 0.3982302368, 0.08730540634, 1.414213562, 0.5, 0.57], rel=1e-9)
    change = u * (length + 2 * np.tanh(reach * v / 4) * most) + slope * v + spread * (reach * v) ** 2 / 8
    assert float(change.squeeze()) == pytest.approx(0.01303964162, rel=1e-9)


def test_the_constants_of_the_demo_network():
    network = AttentionPooling()
    assert network.reach == pytest.approx(1.4681042490, rel=1e-9)
    assert network.length == pytest.approx(1.0111874208, rel=1e-9)
    assert max(np.linalg.norm(block, 2) for block in network.values) <= 1.0
    assert (network.queries, network.readout, network.coordinates) == (6, 7, 13)


@pytest.mark.property_of("cover.local", "cover.soft", "cover.coordinates")
@pytest.mark.parametrize("classes", [2, 3])
def test_no_perturbation_passes_the_bound(classes):
    network = replace(SMALL, classes=classes)
    x, labels = pictures(20)
    features = network.features(x)
    random = np.random.default_rng(1)
    z = random.standard_normal(network.coordinates)
    q, w = network.split(z)
    f, length, most, slope, spread, reach = network.changes(z, features, labels)
    for u, v in itertools.product((1e-3, 0.1), (1e-2, 0.5)):
        change = network._spread * u * (length + 2 * np.tanh(reach * v / 4) * most) + slope * v
        change = change + spread * (reach * v) ** 2 / 8
        longest, steepest = network._within(w, network.domain(z), v)
        assert longest <= network.length
        assert steepest <= network._slope(w)
        everywhere = network._spread * u * longest + v * steepest
        for _ in range(50):
            dw, dq = random.standard_normal(w.shape), random.standard_normal(q.shape)
            moved_w, moved_q = w + u * dw / np.linalg.norm(dw), q + v * dq / np.linalg.norm(dq)
            phi = network.pooled(moved_q, features)[1]
            moved = np.einsum("nc,njc->nj", phi, network._gaps(moved_w, labels))
            assert np.all(np.abs(moved - f) <= change + 1e-12)
            assert np.max(np.abs(moved - f)) <= everywhere + 1e-12


@pytest.mark.property_of("cover.soft")
def test_no_picture_passes_the_domain_bound():
    """Bright, dark, sparse and single-pixel pictures, at weights for which the bound says something."""
    random = np.random.default_rng(2)
    z = np.concatenate([[-4.0, 3.0, -2.0], random.standard_normal(SMALL.readout)])
    q, w = SMALL.split(z)
    found = SMALL.domain(z)
    assert found.pooled < 0.9
    x = random.random((400, 4, 16)) ** random.choice([0.1, 1.0, 8.0], size=(400, 1, 1))
    x[:100] *= random.random((100, 4, 16)) < 0.1
    x[100:200] *= random.random((100, 4, 1))
    features = SMALL.features(x)
    a, phi = SMALL.pooled(q, features)
    assert np.max(np.linalg.norm(phi[:, :-1], axis=1)) <= found.pooled
    read = np.sum(a * np.abs(features.g @ w[0, :-1]), axis=1)
    assert np.max(read) <= found.read
    assert np.max(read) > 0.2 * found.read
    several = replace(SMALL, patch_modes=3)
    assert several.domain(np.concatenate([np.zeros(2), z])).pooled == pytest.approx(1.0)


@pytest.mark.independent("cover.soft")
def test_the_margin_of_the_notes_network():
    """Its cell rho_w = exp(-9.2), rho_q = 2 rho_w, R = 2^(29/8): 123.2 nats, and with 23 counted errors 2.07 %."""
    modes = cosine_modes(32, 6).reshape(6, 4, 8, 4, 8).transpose(1, 3, 0, 2, 4).reshape(16, 6, 64)
    whitener = np.diag([1.95278, 1.46014, 1.46014, 1.28212, 1.83094, 1.74817])
    whitener[0, 4:], whitener[4, 5] = -0.70587, -0.54428
    network = AttentionPooling()
    network.__dict__["values"] = np.einsum("ab,tbd->tad", whitener, modes)
    q = [-5.7669, 0.15, 0.7059, 0.4182, -3.9041, -9.3496]
    z = np.array([*q, -0.39197, 0.35111, -0.10154, 0.69407, -0.46257, -0.06751, 0.11184])
    rho_w = math.exp(-9.2)
    length, slope = network._within(network.split(z)[1], network.domain(z), 4 * rho_w)
    # .507 and .147 are the note's; without the domain bound it would be 1.0112 and .42.
    assert 0.52 < length <= math.hypot(0.507 * math.exp(1.4681042490 * 4 * rho_w), 0.15)
    assert 0.21 < slope <= 1.4681042490 * 0.147 * math.exp(1.4681042490 * 4 * rho_w)
    nats = cap_nats(7, rho_w) + ball_nats(6, 2 ** (29 / 8), 2 * rho_w)
    assert nats == pytest.approx(123.2, abs=0.05)
    paid = math.log(45 * 6 * 48 * 8)
    assert binomial_upper(23, 10_000, math.log(0.05) - nats - paid) == pytest.approx(0.0207, abs=5e-5)


def test_rounding_is_far_below_what_is_allowed_for():
    mpmath = pytest.importorskip("mpmath")
    x, _ = pictures(3)
    z = 5.0 * np.random.default_rng(0).standard_normal(SMALL.coordinates)
    features = SMALL.features(x)
    q, w = SMALL.split(z)
    found = SMALL.outputs(z, features)
    with mpmath.workdps(40):
        for row, g, sigma in zip(found, features.g, features.sigma, strict=True):
            mass = [mpmath.exp(mpmath.fdot(zip(map(float, token), map(float, q), strict=True))) for token in sigma]
            share = [one / mpmath.fsum(mass) for one in mass]
            phi = [mpmath.fdot(zip(share, map(float, column), strict=True)) for column in g.T]
            exact = mpmath.fdot(zip([*phi, SMALL.constant], map(float, w[0]), strict=True))
            assert abs(exact - float(row)) < ROUNDING / 100


def test_covers_and_code_of_one_network(tmp_path):
    x, labels = pictures(400)
    report = certify(train=(x, labels), by=[CoordinateCover(SMALL), Occam(SMALL)], delta=0.2)
    values = {id: report[id].value for id in ("occam", "cover.local", "cover.soft", "cover.coordinates")}
    assert values["occam"] < values["cover.local"] <= values["cover.soft"] + 0.05 < 0.6
    assert "over every input" in report["cover.soft"].reason
    for id in ("cover.local", "cover.soft", "cover.coordinates"):
        states = [one.state for one in report[id].conditions]
        assert sorted(states) == ["open", "open", "verified"], id
    records = CoordinateCover(SMALL).certify(None, x, labels, 2)
    place = tmp_path / "one.safetensors"
    place.write_bytes(content_of(records[0].predictor))
    again = load_predictor(place)
    np.testing.assert_array_equal(again.outputs(x), records[0].predictor.outputs(x))
    assert again.recount(records[2], x, labels) == records[2]
    (word,) = Occam(SMALL).certify(None, x, labels, 2)
    recounted = word.predictor.recount(replace(word, errors=0, code_length=0.0), x, labels)
    assert isinstance(recounted, OccamRecord)
    assert (recounted.errors, recounted.code_length) == (word.errors, pytest.approx(word.code_length))


def test_a_code_is_on_its_grid():
    x, labels = pictures(50)
    features = SMALL.features(x)
    word = SMALL.named(np.array([2.0, -4.0, 2.0, 1.0, 0.0, -3.0, 2.0]), features, labels)
    assert word.parts["step of the grid"] == pytest.approx(math.log(len(STEPS)))
    with pytest.raises(InputError, match="whole numbers"):
        SMALL.named(np.array([0.3, 0, 0, 1.0, 0.0, -3.0, 2.0]), features, labels)


def test_what_the_bounds_need_is_checked():
    with pytest.raises(InputError, match="negative pixels"):
        SMALL.features(-np.ones((2, 4, 16)))
    with pytest.raises(InputError, match="16 modes"):
        AttentionPooling(modes=40)
