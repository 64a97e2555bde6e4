"""How often a procedure of `by=` certifies less than one half of coin labels: at most as often as delta allows.

No predictor of a coin errs on less than half of new examples, so that any limit below one half is false, whatever was
trained. Weights that have seen the coins are the control: the same simulation has to catch them.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from certiformer import certify
from certiformer.lab.procedures import Code, HeadPosterior, Occam, OnePass, PickToLearn

N, WIDTH, DELTA = 40, 60, 0.4


def hidden(x):
    weights = np.random.default_rng(0).standard_normal((6, WIDTH)).astype(np.float32)
    return jnp.tanh(x @ weights)


def apply(params, x):
    return hidden(x) @ params["w"]


PROCEDURES = {
    "Occam": lambda: Occam(2, Code(steps=5), pretrained_on="nothing"),
    "OnePass": lambda: OnePass(steps=2, rate=1e-6, pretrained_on="nothing"),
    "PickToLearn": lambda: PickToLearn(steps=5, pretrained_on="nothing"),
    "HeadPosterior": lambda: HeadPosterior(features=lambda x: np.asarray(hidden(x)), pretrained_on="nothing"),
}


def false_limit(name, seed, *, saw_them=False):
    """Whether one of the report's limits on an error rate is below one half."""
    random = np.random.default_rng(seed)
    x, coins = random.standard_normal((N, 6)).astype(np.float32), random.integers(2, size=N)
    w = random.standard_normal(WIDTH)
    if saw_them:
        w, *_ = np.linalg.lstsq(np.asarray(hidden(x), np.float64), 2.0 * coins - 1.0, rcond=None)
    report = certify(
        (apply, {"w": jnp.asarray(w, jnp.float32)}), train=(x, coins), by=[PROCEDURES[name]()], delta=DELTA
    )
    rates = [one.value for one in report.statements if one.version == "sound" and one.rate and one.value is not None]
    assert rates
    return min(rates) < 0.5


def allowed(runs):
    """More failures than this have a probability below 1e-4 where each has at most DELTA."""
    return int(binom.isf(1e-4, runs, DELTA))


@pytest.mark.parametrize("name", PROCEDURES)
def test_coins_are_certified_as_rarely_as_delta_says(name):
    assert sum(false_limit(name, seed) for seed in range(20)) <= allowed(20)


@pytest.mark.parametrize("name", ["Occam", "OnePass"])
def test_weights_that_saw_the_coins_are_caught(name):
    assert all(false_limit(name, seed, saw_them=True) for seed in range(2))


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", PROCEDURES)
def test_two_hundred_runs(name):
    assert sum(false_limit(name, seed) for seed in range(200)) <= allowed(200)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["Occam", "OnePass"])
def test_weights_that_saw_the_coins_fail_far_more_often(name):
    assert sum(false_limit(name, seed, saw_them=True) for seed in range(40)) > allowed(40)
