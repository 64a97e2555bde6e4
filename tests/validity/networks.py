"""Transformers whose inputs are one token on a line: z -> a z with |a| <= A, whatever the depth, width and heads.

The activation is the identity, the token's norm so small that no projection bites; the class is an interval and
empirical risk minimisation over it has a closed form, enumerated over all samples of two pairs (z, y). Theorems 5.3,
5.8, B.1, B.2, B.4, B.5 and, with unbounded inputs in the statement (not in the problem), 6.4-6.6 and 6.9-6.11.
"""

import math

import numpy as np
from scipy.stats import binom

from validity.problem import Problem, log_uniform, loose

BOUNDED = ("li.thmB.1", "li.thmB.2", "li.thmB.4", "li.thmB.5", "li.thm5.3", "li.thm5.8")
TAILS = ("li.thm6.4", "li.thm6.5", "li.thm6.6", "li.thm6.9", "li.thm6.10", "li.thm6.11")
HEADS = ("li.thmB.2", "li.thmB.5", "li.thm6.5", "li.thm6.10")
LAYERS = ("li.thm5.3", "li.thm5.8", "li.thm6.6", "li.thm6.11")
SLOW = ("li.thmB.1", "li.thmB.2", "li.thm5.3", "li.thm6.4", "li.thm6.5", "li.thm6.6")
RANKS = ("li.thmB.4", "li.thmB.5", "li.thm5.8", "li.thm6.9", "li.thm6.10", "li.thm6.11")


def make(rng, ids=BOUNDED + TAILS):
    # Norm covers are slow to evaluate, so they come up less often.
    shares = np.array([1.0 if id in SLOW else 12.0 for id in ids])
    id = str(rng.choice(ids, p=shares / shares.sum()))
    shape, reach, token = _shape(rng, id)
    z, y, law = _pairs(rng, reach, token)
    squared = bool(rng.random() < 0.6)
    bayes = _bayes(z, y, law, squared)
    n = round(log_uniform(rng, 1, 1e7))
    slopes, excess, weights = _erm(z, y, law, squared, reach, n, bayes)
    inside = _inside(z, bayes, reach)
    grid = np.unique(np.concatenate([np.linspace(-reach, reach, 4001), slopes]))
    least = 0.0 if inside else max(0.0, float(np.min(_excess(grid, z, y, law, squared, bayes)) * (1 - 1e-6) - 1e-15))
    eta = 0.05
    expected = float(weights @ excess)
    order = np.argsort(excess)
    above = weights.sum() - np.cumsum(weights[order])
    truths = {
        "excess risk": expected,
        "excess over the best of the class": expected - _least_above(grid, z, y, law, squared, bayes),
        "excess risk, with probability 1 - eta": float(excess[order][np.argmax(above <= eta + 1e-12)]),
    }
    if "moment" not in shape and id in RANKS and id in TAILS:
        # The robust loss has another minimiser: whatever it is, no member of the class is better than the best one.
        truths["excess risk, with probability 1 - eta"] = least
    labels = float(np.max(np.abs(y)))
    kappa = loose(rng, 2 * (reach * token + labels) if squared else 1.0)
    noise = max(float(np.ptp(y)) / 2 if z[0] == z[1] else 0.0, 1e-3)
    approx = 0.0 if inside else _least_above(grid, z, y, law, squared, bayes)
    target = max(float(np.max(np.abs(bayes))), 1e-6)
    # For the squared loss against E[Y|X]: E g^2 <= ((f - f0)^2 + 4 Var) E g.
    bernstein = squared
    inputs = {
        **shape,
        "kappa": kappa,
        "B": loose(rng, max(target, reach * token) if id in TAILS else target),
        "sigma": loose(rng, noise),
        "n": n,
        "radius": log_uniform(rng, 1e-6, 1.0) * reach * token,
        "V": loose(rng, (reach * token + target) ** 2 + 4 * noise**2),
    }
    if not inside or rng.random() < 0.3:
        inputs["approx"] = loose(rng, approx)
    if id in TAILS:
        inputs |= _tail(rng, id, token)
        inputs |= {"eta": eta, "fraction": 0.0}
        inputs |= {} if id in LAYERS else {"clipped": True}
        if id in RANKS:
            top = (reach * token + labels) ** 2 if squared else reach * token + labels
            inputs |= {"moment": loose(rng, max(top, 1e-3) ** 2)}
    else:
        inputs |= {"Bx": token, "BX": loose(rng, token)}
    stated = {"squared_loss": squared, "well_specified": inside, "bernstein": bernstein, "honest_kappa": True}
    inputs |= {name: True for name, holds in stated.items() if holds}

    def facts(given):
        covered = inside or given.get("approx", 0.0) >= approx * (1 - 1e-9) > 0
        return {
            r"[Kk]appa": True,
            r"squared loss, f0": squared,
            r"is in the class, or approx|in the class or within|f0 in the class": covered,
            r"belongs to the class": inside,
            r"Bernstein condition|E g\^2": bernstein,
            r"P\(b\(X\) > t\)": _tail_holds(given, token),
            r"clipped to|psi\(s l\)|E l\^alpha": True,
            r"norms and ranks|bounds on|l1 norms|no residual|heads|T_M|tail bound|normalis|norm at most": True,
        }

    keep = tuple(name for name in ("a", "v") if name in inputs)
    return Problem(id, inputs, truths, facts, keep=keep)


def _shape(rng, id):
    """Norms, the largest slope A of z -> a z, and the norm of the token."""
    d, k = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    token = log_uniform(rng, 0.05, 3.0)
    shape = {"d": d, "k": k, "BQK": log_uniform(rng, 1e-3, 2.0), "L_sigma": 1.0}
    if id in LAYERS:
        layers = int(rng.integers(1, 4))
        # No projection bites as long as values and outputs stay in the unit ball.
        Bv = log_uniform(rng, 0.1, 1.0) / max(1.0, token)
        Bc = log_uniform(rng, 0.3, 1.0)
        Bw = log_uniform(rng, 1e-3, 10.0)
        shape |= {"Bw": Bw, "Bc": Bc, "Bv": Bv, "layers": layers}
        reach = Bw * (Bc * Bv) ** layers
    else:
        Bw, Bc, Bv = (log_uniform(rng, 0.05, 5.0) for _ in range(3))
        heads = int(rng.integers(1, 4)) if id in HEADS else 1
        shape |= {"Bw": Bw, "Bc": Bc, "Bv": Bv} | ({"H": heads} if id in HEADS else {})
        reach = heads * Bw * Bc * Bv
    if id in RANKS:
        shape |= {"rw": 1, "rc": 1, "rv": 1, "rqk": 1}
    return shape, reach, token


def _pairs(rng, reach, token):
    """Two pairs: one token with two labels (noise), or two tokens with a label each (none)."""
    scale = reach * token * log_uniform(rng, 0.1, 30.0)
    y = scale * rng.choice([-1.0, -0.4, 0.2, 1.0], size=2)
    share = rng.uniform(0.05, 0.95)
    z = np.full(2, token) if rng.random() < 0.6 else token * np.array([1.0, rng.choice([-1.0, -0.5, 0.3])])
    return z, y, np.array([share, 1 - share])


def _bayes(z, y, law, squared):
    if z[0] != z[1]:
        return y.copy()
    return np.full(2, y @ law if squared else y[int(np.argmax(law))])


def _inside(z, bayes, reach):
    slopes = bayes / z
    return bool(math.isclose(slopes[0], slopes[1], rel_tol=1e-12) and abs(slopes[0]) <= reach)


def _excess(slopes, z, y, law, squared, bayes):
    def loss(values):
        return (values - y) ** 2 if squared else np.abs(values - y)

    return loss(np.multiply.outer(slopes, z)) @ law - loss(bayes) @ law


def _least_above(grid, z, y, law, squared, bayes):
    """The excess risk of the best in the class, from above (the class's own corner points are on the grid)."""
    best = grid[int(np.argmin(_excess(grid, z, y, law, squared, bayes)))]
    if squared:
        best = float(np.clip((law * z) @ y / ((law * z) @ z), grid[0], grid[-1]))
    return max(0.0, float(_excess(np.array([best]), z, y, law, squared, bayes)[0]))


def _erm(z, y, law, squared, reach, n, bayes):
    """Slopes chosen, their excess risks and probabilities, over the samples within twelve standard deviations."""
    middle, width = n * law[0], 12 * math.sqrt(n * law[0] * law[1]) + 12
    first = np.arange(max(0, math.floor(middle - width)), min(n, math.ceil(middle + width)) + 1)
    counts = np.stack([first, n - first], axis=1)
    weights = binom.pmf(first, n, law[0])
    if squared:
        slopes = np.clip((counts * z) @ y / ((counts * z) @ z), -reach, reach)
        return slopes, _excess(slopes, z, y, law, squared, bayes), weights
    corners = np.unique(np.clip(np.concatenate([y / z, [-reach, reach]]), -reach, reach))
    empirical = counts @ np.abs(np.multiply.outer(corners, z) - y).T
    tied = empirical <= empirical.min(axis=1, keepdims=True) * (1 + 1e-12) + 1e-12
    risks = _excess(corners, z, y, law, squared, bayes)
    return corners, np.where(tied, risks, -np.inf).max(axis=1), weights


def _tail(rng, id, token):
    """A tail bound that tokens of this norm obey, and a threshold above them."""
    M = token * log_uniform(rng, 1.0, 300.0)
    if id in ("li.thm6.4", "li.thm6.5", "li.thm6.6"):
        v = loose(rng, token**2)
        return {"M": M, "T": 1, "nu": v, "a": math.exp(token**2 / (2 * v)), "v": v}
    beta = float(rng.choice([0.5, 1.5, 3.0, 6.0]))
    return {"M": M, "C": loose(rng, token**beta), "beta": beta}


def _tail_holds(given, token):
    if "beta" in given:
        return given["C"] >= token ** given["beta"] * (1 - 1e-9)
    return given.get("a", 0.0) * math.exp(-(token**2) / (2 * given.get("v", 1.0))) >= 1 - 1e-9
