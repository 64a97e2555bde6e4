"""The log form: the figures of another implementation, its equation solved again, and what it has to be below."""

import json
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest

import certiformer
from certiformer.theory.calculus.log_form import GRID, best_lambda, centres, log_form_upper, ratio_upper
from certiformer.theory.core.errors import InputError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "log_form.json").read_text(encoding="utf-8"))
LN = -math.log(VECTORS["delta"])
SHORT = np.array(VECTORS["short"]["losses"])
T = np.arange(2000)
WAVES = 2 + 0.3 * np.sin(1.7 * T) + 0.5 / (1 + T / 100)
LOW, HIGH = VECTORS["waves"]["low"], VECTORS["waves"]["high"]
SIZES = 500 + 400 * np.cos(2.3 * T)


def close(figure):
    return pytest.approx(figure, abs=1e-9)


def test_vectors():
    short, waves, ratio = VECTORS["short"], VECTORS["waves"], VECTORS["ratio"]
    assert centres(SHORT)[:4].tolist() == close(short["centres"])
    assert log_form_upper(SHORT, LN, grid=(0.5,)) == close(short["one lambda 0.5"])
    assert log_form_upper(SHORT, LN) == close(short["mixture"])
    assert log_form_upper(np.tile(SHORT, 20), LN) == close(short["mixture, 20 times"])
    assert log_form_upper(np.zeros(1000), LN) == close(VECTORS["a thousand zeros"])
    x = (WAVES - LOW) / (HIGH - LOW)
    assert WAVES.mean() == close(waves["mean"])
    assert LOW + (HIGH - LOW) * log_form_upper(x, LN) == close(waves["mixture"])
    assert LOW + (HIGH - LOW) * log_form_upper(x, LN, 1000, GRID) == close(waves["mixture, last 1,000"])
    assert LOW + (HIGH - LOW) * log_form_upper(x, LN, 1000) == close(waves["lambda of the first 1,000"])
    assert best_lambda(x[:1000], centres(x)[:1000], LN) == 1.0
    theta = float(np.average(WAVES[:1000], weights=SIZES[:1000]))
    value, _ = ratio_upper(WAVES, SIZES, (LOW, HIGH), ratio["largest"], LN, 1000, theta=theta, grid=GRID)
    assert value == close(ratio["limit"])
    assert np.average(WAVES[1000:], weights=SIZES[1000:]) == close(ratio["observed"])


@pytest.mark.independent("progressive.loss", "progressive.ratio")
def test_the_root_solved_in_fifty_digits():
    with mpmath.workdps(50):
        for skip in (0, 5):
            p, x = centres(SHORT)[skip:], SHORT[skip:]
            rates = GRID if not skip else (best_lambda(SHORT[:5], centres(SHORT)[:5], LN),)

            def excess(total, rates=rates, p=p, x=x):
                parts = [
                    mpmath.exp(r * (total - mpmath.fsum(p)))
                    * mpmath.fprod(1 + r * (mpmath.mpf(c) - v) for c, v in zip(p, x, strict=True))
                    for r in map(mpmath.mpf, rates)
                ]
                return mpmath.log(mpmath.fsum(parts) / len(rates)) + mpmath.log(VECTORS["delta"])

            root = mpmath.findroot(excess, (0, 20), solver="anderson") / len(x)
            found = certiformer.bound("progressive.loss", losses=SHORT.tolist(), delta=0.05, skip=skip).sound["value"]
            assert root <= found.value == close(float(root)) or found.value == 1.0 < root


@pytest.mark.property_of("progressive.loss", "progressive.ratio")
def test_scale_level_and_range():
    x = np.tile(SHORT, 10)

    def limit(losses, delta=0.05, **more):
        return certiformer.bound("progressive.loss", losses=losses.tolist(), delta=delta, **more).sound["value"].value

    assert limit(3 * x - 1, low=-1, high=2) == close(3 * limit(x) - 1)
    assert limit(x, 0.01) > limit(x, 0.05) > limit(x, 0.5) > x.mean()
    # Empirical Bernstein at the same centres, its grid paid for, is above the mixture.
    p = centres(x)
    psi = [(r, -math.log(1 - r) - r) for r in GRID[:-1]]
    bernstein = min((p.sum() + (LN + math.log(9) + f * ((p - x) ** 2).sum() - r * (p - x).sum()) / r) for r, f in psi)
    assert limit(x) < bernstein / len(x)
    sizes = np.tile([9.0, 7.0, 8.0], 40)
    ratio = [
        certiformer.bound("progressive.ratio", losses=x.tolist(), sizes=s.tolist(), largest=c, delta=0.05, skip=60)
        for s, c in ((sizes, 10.0), (7 * sizes, 70.0), (sizes / 100, 0.1))
    ]
    assert ratio[1].sound["value"].value == close(ratio[0].sound["value"].value)
    assert ratio[2].sound["value"].value == close(ratio[0].sound["value"].value)
    assert ratio[0].sound["value"].value > np.average(x[60:], weights=sizes[60:])


@pytest.mark.parametrize(
    ("id", "change"),
    [
        ("progressive.loss", {"losses": [0.2, 1.5]}),
        ("progressive.loss", {"skip": 12}),
        ("progressive.loss", {"low": 1.0}),
        ("progressive.ratio", {"sizes": [1.0]}),
        ("progressive.ratio", {"largest": 5.0}),
    ],
)
def test_what_cannot_be_is_refused(id, change):
    more = {"sizes": [9.0] * 12, "largest": 10.0, "skip": 4} if id == "progressive.ratio" else {}
    with pytest.raises(InputError):
        certiformer.bound(id, **{"losses": SHORT.tolist(), "delta": 0.05, **more, **change})
