"""Margins that are really achieved, and linearisation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

from certiformer.lab import models
from certiformer.lab.measure.linearization import boundary_move, linear_prediction
from certiformer.lab.measure.ntk import hard_margin
from certiformer.theory.core.errors import InputError


def separable(rows):
    """Is there w with rows w >= 1? An independent linear programme."""
    result = linprog(np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(rows)), bounds=(None, None))
    return result.status == 0


def test_margin_of_simple_sets():
    found = hard_margin([[1.0, 0.0], [0.0, 1.0]])
    assert found.achieved == pytest.approx(2**-0.5, rel=1e-9)
    assert found.at_most == pytest.approx(2**-0.5, rel=1e-9)
    assert found.achieved <= 2**-0.5 <= found.at_most
    lifted = np.zeros((3, 500))
    lifted[0, 3], lifted[1, 77], lifted[2, 499] = 2.0, 2.0, 2.0
    assert hard_margin(lifted).achieved == pytest.approx(2 / 3**0.5, rel=1e-9)
    assert hard_margin([[1.0], [-1.0]]).achieved == 0.0
    assert hard_margin([[1.0], [0.0]]).achieved == 0.0


@pytest.mark.parametrize("scaling", [0.0, 5.0])
def test_margin_is_never_claimed_for_what_is_not_separable(scaling):
    rng = np.random.default_rng(0)
    for trial in range(25):
        rows = rng.normal(size=(6, 9 if trial % 2 else 4)) * 10 ** rng.uniform(-scaling, scaling, (6, 1))
        blocked = np.concatenate([rows, -rows[:1]])
        assert hard_margin(blocked).achieved == 0.0
        found = hard_margin(rows)
        if found.achieved > 0:
            assert separable(rows)
            assert np.min(rows @ found.direction) >= found.achieved
            assert np.linalg.norm(found.direction) == pytest.approx(1.0, rel=1e-12)
        assert found.achieved <= found.at_most * (1 + 1e-9)
        if scaling == 0.0 and separable(rows):
            assert found.achieved == pytest.approx(found.at_most, rel=1e-6)


def test_margin_finds_every_comfortably_separable_set():
    rng = np.random.default_rng(3)
    aim = rng.normal(size=12)
    rows = rng.normal(size=(40, 12))
    rows = rows * np.sign(rows @ aim)[:, None] + 0.2 * aim / np.linalg.norm(aim)
    found = hard_margin(rows)
    assert found.achieved >= np.min(rows @ aim) / np.linalg.norm(aim) > 0


def test_linearization_and_boundary_moves():
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(5, 4, 3)), jnp.float32)
    model = models.build("independent_heads", jax.random.key(1), d=3, heads=8)
    radii = {"c": 3.0, "u": 2.0, "W": 1.0}
    moved = boundary_move(model, x, radii)
    for name, radius in radii.items():
        step = np.asarray(getattr(moved, name) - getattr(model, name)).reshape(8, -1)
        np.testing.assert_allclose(np.linalg.norm(step, axis=1), radius / 8**0.5, rtol=2e-4)

    def error(params):
        linear = linear_prediction(lambda m, s: m(s), model, params, x)
        return float(jnp.max(jnp.abs(jax.vmap(params)(x) - linear)))

    assert error(model) < 1e-6
    assert error(moved) > 0
    # A move in c alone is linear.
    assert error(type(model)(model.config, c=moved.c, u=model.u, W=model.W)) < 1e-5
    with pytest.raises(InputError, match="missing"):
        boundary_move(model, x, {"c": 1.0})
