"""How much a head can pool of bounded tokens: against the numbers of the note, brute force, and ascent over inputs."""

import itertools
import math

import numpy as np
import pytest

from certiformer.lab.coordinate_covers.attention_pooling import AttentionPooling, cosine_modes
from certiformer.theory.calculus.attended import attended_upper
from certiformer.theory.core.errors import InputError

T = np.diag([1.95278, 1.46014, 1.46014, 1.28212, 1.83094, 1.74817])
T[0, 4] = T[0, 5] = -0.70587
T[4, 5] = -0.54428
QUERY = np.array([-5.7669, 0.15, 0.7059, 0.4182, -3.9041, -9.3496])
READOUT = np.array([-0.39197, 0.35111, -0.10154, 0.69407, -0.46257, -0.06751, 0.11184])


def the_notes_network():
    """c_t for the pooled values and for the readout, and the scores of the positions."""
    modes = cosine_modes(32, 6).reshape(6, 4, 8, 4, 8).transpose(1, 3, 0, 2, 4).reshape(16, 6, 64)
    values = np.einsum("ab,tbd->tad", T, modes)
    w = READOUT[:-1] / np.linalg.norm(READOUT)
    lengths = np.array([np.linalg.norm(block, 2) for block in values])
    reads = np.array([np.linalg.norm(block.T @ w) for block in values])
    return lengths, reads, AttentionPooling().places @ QUERY[1:]


def by_the_note(c, places, step):
    """The note's own test: one slack for all r, multipliers on a grid, bisection."""
    r, q = np.arange(0, 1 + step / 2, step)[None], QUERY[0]
    places, multipliers = places - np.max(places), np.exp(np.linspace(-15, 2, 150))

    def proves(v):
        bracket = np.exp(places)[:, None] * (r * c[:, None] - v)
        h = np.maximum(np.exp(q * r / 8) * bracket, np.exp(q * r) * bracket)
        slack = np.exp(places) * max(1.0, math.exp(q)) * (c + abs(q) * (c + v)) * step / 2
        return any(one + np.sum(np.max(h - one * r * r, axis=1) + slack + one * step) <= 0 for one in multipliers)

    low, high = 0.0, float(np.max(c))
    for _ in range(11):
        middle = (low + high) / 2
        low, high = (low, middle) if proves(middle) else (middle, high)
    return high


def test_the_numbers_of_the_note():
    lengths, reads, places = the_notes_network()
    assert np.max(lengths) == pytest.approx(0.9999978, abs=1e-7)
    assert np.max(reads) == pytest.approx(0.807, abs=5e-4)
    coarse = (by_the_note(lengths, places, 1e-3), by_the_note(reads, places, 1e-3))
    assert coarse == pytest.approx((0.524, 0.151), abs=1e-3)
    # The note's finer grid gives .507 and .147; a slack that knows where it is gives a little less.
    pooled, read = (attended_upper(each, places, QUERY[0], 8) for each in (lengths, reads))
    assert 0.500 < pooled <= 0.507
    assert 0.145 < read <= 0.147


@pytest.mark.parametrize("seed", range(3))
def test_brute_force_over_two_tokens(seed):
    random = np.random.default_rng(seed)
    c, places, query = random.uniform(0.2, 1.0, 2), random.normal(size=2), float(random.normal(scale=4.0))
    angle = np.linspace(0, np.pi / 2, 400)
    best = 0.0
    for length, first, second in itertools.product(np.linspace(0.02, 1, 50), (0.25, 1.0), (0.25, 1.0)):
        r = length * np.stack([np.cos(angle), np.sin(angle)])
        scores = places[:, None] + query * r * np.array([[first], [second]])
        a = np.exp(scores - scores.max(axis=0))
        best = max(best, float(np.max(np.sum(a / a.sum(axis=0) * r * c[:, None], axis=0))))
    found = attended_upper(c, places, query, 4)
    assert best <= found <= best * 1.05


@pytest.mark.parametrize("seed", range(4))
def test_ascent_never_passes_it(seed):
    """Steps that help are kept: lengths on the sphere, brightness between its two ends."""
    random = np.random.default_rng(seed)
    tokens = 16
    c, places = random.uniform(0, 1, tokens), random.normal(scale=3.0, size=tokens)
    query = float(random.uniform(-8, 8))
    found = attended_upper(c, places, query, 8)

    def attained(r, share):
        r = r / np.maximum(np.linalg.norm(r, axis=1, keepdims=True), 1.0)
        scores = places + query * r * (1 / 8 + share * 7 / 8)
        a = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.sum(a / a.sum(axis=1, keepdims=True) * r * c, axis=1)

    r, share = np.abs(random.normal(size=(30, tokens))), random.integers(0, 2, (30, tokens)).astype(float)
    value = attained(r, share)
    for step in range(300):
        moved = np.abs(r + random.normal(scale=0.5 * 0.985**step, size=r.shape))
        flipped = np.where(random.random(share.shape) < 0.05, 1 - share, share)
        new = attained(moved, flipped)
        better = (new > value)[:, None]
        r, share, value = np.where(better, moved, r), np.where(better, flipped, share), np.maximum(value, new)
    assert np.max(value) <= found <= np.max(c) * (1 + 1e-9)
    assert np.max(value) >= 0.5 * found


def test_what_is_known_without_a_search():
    assert attended_upper([0.7], [3.0], -2.0, 8) == pytest.approx(0.7, rel=1e-4)
    assert attended_upper([0.0, 0.0], [0.0, 1.0], 1.0, 8) == 0.0
    # Equal scores: sum r_t/T is at most 1/sqrt(T).
    assert 0.25 <= attended_upper(np.ones(16), np.zeros(16), 0.0, 8) <= 0.2515
    # A token that nobody looks at adds nothing, however large; a large query finds one token: the trivial value.
    assert attended_upper([1.0, 0.1], [-60.0, 0.0], 0.0, 8) <= 0.1003
    assert attended_upper(np.ones(16), np.zeros(16), 64.0, 8) == pytest.approx(1.0, rel=1e-3)
    assert attended_upper([0.7], [3.0], -2.0, 1) == pytest.approx(0.7, rel=1e-4)
    with pytest.raises(InputError, match="c"):
        attended_upper([0.7], [3.0], -2.0, 0)
    with pytest.raises(InputError, match="places"):
        attended_upper([1.0], [0.0, 1.0], 0.0, 8)
    with pytest.raises(InputError, match="c"):
        attended_upper([-1.0], [0.0], 0.0, 8)
