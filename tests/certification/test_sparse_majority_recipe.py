"""Sparse majority in minimal coordinates: the network is the table's function, and what is paid covers it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import certiformer
from certiformer.certificates.cover_soft import SoftCover
from certiformer.certificates.margin import Margin
from certiformer.certificates.occam import Occam
from certiformer.certification.pipeline import Findings, build
from certiformer.lab.coordinate_covers import majority as recipe
from certiformer.lab.models import ClsTransformer, ClsTransformerConfig
from certiformer.lab.recipes.sparse_majority import findings
from certiformer.lab.tasks.sparse_majority import SparseMajority, sparse_majority
from certiformer.theory.calculus import quantised, strata
from certiformer.theory.calculus.covers import Cover
from certiformer.theory.core import find
from certiformer.theory.core.errors import InputError

SMALL = recipe.Settings(tokens=8, n=400, heads=2, tolerance=1e-4, restarts=8, match_steps=300, moves=40, tried=5)
SEED = 3


@pytest.fixture(scope="module")
def source() -> SparseMajority:
    task = sparse_majority(jax.random.key(SEED), n=SMALL.n, n_test=50, tokens=8, relevant=5, embedded=False)
    assert isinstance(task.source, SparseMajority)
    return task.source


@pytest.fixture(scope="module")
def place(source: SparseMajority) -> recipe.Coordinates:
    return recipe.coordinates(source.table, SMALL.tolerance)


@pytest.fixture(scope="module")
def everything() -> np.ndarray:
    """All 2^8 sequences: the whole domain."""
    return np.array(list(itertools.product((0, 1), repeat=8)), dtype=np.int8)


@pytest.fixture(scope="module")
def found() -> Findings:
    return findings(replace(SMALL, tokens=12, n=2000), seed=SEED)


def test_coordinates_are_white_and_blind_to_the_bit(place: recipe.Coordinates) -> None:
    zeros, ones, last = place.scores[:8], place.scores[8:16], place.scores[16:]
    np.testing.assert_allclose(zeros, ones, atol=1e-2)  # apart by the rounding of the float32 table
    rows = np.vstack([(zeros + ones) / 2, last])
    np.testing.assert_allclose(rows.T @ rows, np.eye(place.dimension) * len(rows) / place.dimension, atol=2e-2)
    np.testing.assert_allclose(place.values, np.r_[-np.ones(8), np.ones(8), 0.0], atol=1e-2)
    assert np.ptp(place.values) / 2 <= place.half_range <= 1.01


def transformer(place: recipe.Coordinates, alpha: np.ndarray) -> ClsTransformer:
    """The same function as a Transformer: H heads, identity activation, read at CLS, which stands last."""
    heads, d = len(alpha), len(place.v)
    query = place.cls_token / (place.cls_token @ place.cls_token)
    first = np.eye(1, d)
    return ClsTransformer(
        ClsTransformerConfig(d=d, k=1, heads=heads, activation="identity", cls=-1),
        W_QK=jnp.asarray(np.stack([np.outer(query, place.queries @ head) for head in alpha])[None]),
        W_v=jnp.asarray(np.broadcast_to(place.v[:, None], (1, heads, d, 1))),
        W_c=jnp.asarray(np.broadcast_to(first / heads, (1, heads, 1, d))),
        w=jnp.asarray(first[0]),
    )


def test_the_network_computes_the_certified_function(
    source: SparseMajority, place: recipe.Coordinates, everything: np.ndarray
) -> None:
    alpha = 3.0 * np.random.default_rng(0).standard_normal((3, place.dimension))
    table = np.asarray(source.table, dtype=np.float64)
    with jax.enable_x64(True):
        model = transformer(place, alpha)
        rows = np.arange(8) + 8 * everything.astype(np.int64)
        tokens = table[np.pad(rows, ((0, 0), (0, 1)), constant_values=16)]
        expected = np.asarray(jax.vmap(model)(jnp.asarray(tokens)))
    assert expected.dtype == np.float64
    np.testing.assert_allclose(recipe.outputs(place, alpha, everything), expected, atol=recipe.ROUNDING / 4)


def test_the_prior_sums_to_at_most_one() -> None:
    """One coordinate, every scale: sum over the integers of the best mass is at most the mixture's total, one."""
    free = recipe.Settings(tried=1)
    points = range(-1000, 1001)
    masses = [math.exp(-sum(recipe.code_length(free, np.array([[j]], dtype=np.int64)).values())) for j in points]
    assert 0.2 < math.fsum(masses) <= 1.0


def test_the_code_length_pays_for_scale_and_configurations() -> None:
    z = np.array([[1, -2, 0], [4, 0, 3]], dtype=np.int64)
    parts = recipe.code_length(SMALL, z)
    cheapest = min(quantised.gaussian_nats(z.ravel(), SMALL.grid, scale) for scale in recipe.scale_grid(SMALL))
    assert parts["coordinates and their scale"] == pytest.approx(cheapest + math.log(SMALL.scales))
    assert parts["configurations tried"] == pytest.approx(math.log(SMALL.tried))


def test_the_output_moves_less_than_the_cover_assumes(place: recipe.Coordinates, everything: np.ndarray) -> None:
    """|f - f'| <= half range / H sum_h osc(score change)/2 on every sequence, small and large changes."""
    rng = np.random.default_rng(1)
    closest = 0.0
    for size in (1e-3, 0.1, 1.0, 5.0) * 25:
        alpha = 3.0 * rng.standard_normal((2, place.dimension))
        change = size * rng.standard_normal(alpha.shape) * rng.integers(0, 2, (2, 1))
        moved = np.max(
            np.abs(recipe.outputs(place, alpha + change, everything) - recipe.outputs(place, alpha, everything))
        )
        allowed = place.half_range * float(np.mean(recipe.half_oscillation(place, change)))
        assert moved <= allowed + 1e-12
        closest = max(closest, moved / allowed if allowed else 0.0)
    assert closest > 0.3  # the inequality is not idle


def test_no_packing_is_larger_than_the_cover_allows(place: recipe.Coordinates, everything: np.ndarray) -> None:
    """Functions more than eps apart lie in different balls of radius eps/2: in two dimensions there are many."""
    plane = replace(place, scores=place.scores[:, 1:3], queries=place.queries[:, 1:3])
    indices = (-12,)
    radius = strata.radius(indices[0], base=SMALL.radius_base, ratio=SMALL.radius_ratio)
    rng = np.random.default_rng(2)
    members = rng.standard_normal((3000, 1, 2))
    norms = np.array([recipe.half_oscillation(plane, alpha)[0] for alpha in members])
    members *= (radius * np.sqrt(rng.random(len(members))) / norms)[:, None, None]
    eps = 0.2
    apart: list[np.ndarray] = []
    for alpha in members:
        value = recipe.outputs(plane, alpha, everything)
        if all(np.max(np.abs(value - other)) > eps for other in apart):
            apart.append(value)
    assert 10 < len(apart) <= math.exp(recipe.class_cover(SMALL, plane, indices).log_size(eps / 2))


def test_the_cover_is_of_the_domain_and_uses_rounded_radii(place: recipe.Coordinates) -> None:
    alpha = 2.0 * np.random.default_rng(5).standard_normal((2, place.dimension))
    indices = recipe.radius_indices(SMALL, place, alpha)
    radii = [strata.radius(j, base=SMALL.radius_base, ratio=SMALL.radius_ratio) for j in indices]
    assert all(norm <= radius for norm, radius in zip(recipe.half_oscillation(place, alpha), radii, strict=True))
    cover = recipe.class_cover(SMALL, place, indices)
    assert isinstance(cover, Cover)
    assert cover.domain
    # Half of the radius eps for each of two heads, whose sensitivity is half_range / 2: eps_h = eps / half_range.
    by_hand = sum(place.dimension * math.log1p(2 * radius * place.half_range / 0.1) for radius in radii)
    # The allocation may be better than equal shares of the change, never worse.
    assert by_hand * (1 - 1e-4) <= cover.log_size(0.1) <= by_hand * (1 + 1e-9)


def test_margin_scales_do_not_read_the_sample_but_for_the_counts(place: recipe.Coordinates) -> None:
    alpha = 2.0 * np.random.default_rng(5).standard_normal((2, place.dimension))
    few, many = (
        recipe.margin_scales(SMALL, place, alpha, margins) for margins in (np.zeros(3), np.linspace(0, 1, 999))
    )
    assert [(scale.margin, scale.nats, scale.paid) for scale in few] == [
        (scale.margin, scale.nats, scale.paid) for scale in many
    ]
    assert all(scale.errors == 3 for scale in few)
    assert len(few) == SMALL.margins
    assert many[-1].errors == sum(value <= SMALL.widest + recipe.ROUNDING for value in np.linspace(0, 1, 999))


def test_every_choice_of_m_is_paid(place: recipe.Coordinates) -> None:
    alpha = 2.0 * np.random.default_rng(5).standard_normal((2, place.dimension))
    indices = recipe.radius_indices(SMALL, place, alpha)
    scale = recipe.margin_scales(SMALL, place, alpha, np.zeros(3))[0]
    assert scale.paid == pytest.approx(strata.cost(indices) + math.log(SMALL.margins) + math.log(SMALL.tried))
    cover = recipe.class_cover(SMALL, place, indices)
    assert scale.nats >= cover.log_size(scale.margin / 2)


def test_rounding_ends_where_no_single_step_helps(place: recipe.Coordinates, everything: np.ndarray) -> None:
    signs = np.where(everything[:, [1, 3, 6]].sum(axis=1) > 1, 1.0, -1.0)
    target = recipe.correlations(np.repeat(everything, 8, axis=0), np.repeat(signs, 8))
    assert set(np.flatnonzero(target)) == {1, 3, 6}
    alpha = recipe.match(SMALL, place, target, SEED)
    z = recipe.round_off(SMALL, place, alpha, everything, signs)
    assert z.shape == alpha.shape
    assert z.dtype == np.int64
    rounded, plain = (SMALL.grid * point.astype(np.float64) for point in (z, np.round(alpha / SMALL.grid)))
    np.testing.assert_array_equal(z, recipe.round_off(SMALL, place, rounded, everything, signs))
    after, before = (
        float(np.mean(signs * recipe.outputs(place, point, everything) <= 0)) for point in (rounded, plain)
    )
    assert after <= max(before, 0.05)


def test_findings_feed_both_certificates(found: Findings) -> None:
    occam, soft, margin = found.evidence
    assert isinstance(occam, Occam)
    assert isinstance(soft, SoftCover)
    assert isinstance(margin, Margin)
    limits = [find(record.id).evaluate(record.inputs(0.05)).sound["value"].value for record in (soft, margin)]
    assert limits[0] < limits[1]
    assert occam.n == margin.n == 2000
    assert occam.code_length == pytest.approx(math.fsum(occam.parts.values()))
    assert found.observed["train_error"] == occam.errors / 2000
    for evidence in found.evidence:
        bound = find(evidence.id).evaluate(evidence.inputs(0.025)).sound["value"].value
        observed = found.observed["heldout_error" if evidence is occam else "heldout_error_before_rounding"]
        assert observed is not None
        assert observed < bound < 0.5


def test_what_is_certified_is_handed_over_and_counted_again(found: Findings, tmp_path: Path) -> None:
    report = build(found)
    report.write(tmp_path)
    checked = certiformer.verify(tmp_path / "report.json")
    assert [(row.id, row.agrees, row.counted) for row in checked.rows] == [
        (row.id, True, True) for row in report.statements if row.version == "sound" and row.value is not None
    ]
    assert {row.id for row in checked.rows} == {"occam", "cover.soft", "margin"}
    assert [one.id for one in checked.unchecked] == ["report"]
    rows = {row["id"]: row for row in report.document["statements"]}
    assert rows["cover.soft"]["predictor"] == rows["margin"]["predictor"] != rows["occam"]["predictor"]
    loaded = certiformer.load_predictor(tmp_path / rows["occam"]["predictor"]["file"])
    task = sparse_majority(jax.random.key(SEED), n=2000, tokens=12, embedded=False)
    bits, labels = np.asarray(task.train.inputs), np.asarray(task.train.labels)
    assert int(np.sum(loaded.predict(bits) != labels)) == found.evidence[0].errors  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="12 in a row"):
        loaded.predict(bits[:, :5])


def test_a_vocabulary_chosen_afterwards_is_refused(found: Findings) -> None:
    """The cover is of the task's tokens; others might be cheaper."""
    record = found.evidence[1]
    heads = record.predictor
    assert isinstance(heads, recipe.Heads)
    bits, labels = np.zeros((3, 12), dtype=np.int8), np.zeros(3, dtype=np.int64)
    assert isinstance(heads.recount(record, recipe.Sequences(bits, heads.table), labels), SoftCover)
    other = recipe.Heads(0.5 * heads.table, heads.alpha, heads.chosen)
    with pytest.raises(InputError, match="vocabulary"):
        other.recount(record, recipe.Sequences(bits, heads.table), labels)
