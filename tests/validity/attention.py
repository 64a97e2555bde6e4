"""One-layer Transformers of Trauger & Tewari on a sample of single tokens, where attention has nothing to choose.

With the identity as activation the class holds x -> s e_j^T x, scaled: Rad >= Bw Bc L_sigma Bv E max_j |sum_i s_i
x_ij|/n, by enumeration; with the rectifier the same for tokens without negative entries, from one sign.
"""

import itertools

import numpy as np

from validity.problem import Problem, log_uniform, loose

IDS = ("trauger.thm4.1", "trauger.cor4.1.1", "trauger.corD.0.1", "trauger.corD.0.2")


def make(rng, ids=IDS):
    id = str(rng.choice(ids))
    n, d = int(rng.integers(1, 11)), int(rng.integers(1, 6))
    odd = bool(rng.random() < 0.5)
    X = rng.normal(size=(n, d)) * log_uniform(rng, 0.01, 30.0)
    if rng.random() < 0.3:
        X = np.broadcast_to(X[0], X.shape).copy()
    if not odd:
        X = np.abs(X)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    sums = signs @ X
    # A rectified unit with a signed readout: both signs of the readout are allowed, so the absolute value is reached.
    best = float(np.mean(np.max(np.abs(sums), axis=1)) / n)
    factors = {name: log_uniform(rng, 0.1, 5.0) for name in ("Bw", "Bc", "L_sigma", "Bv")}
    scale = float(np.prod(list(factors.values())))
    order = 1 if id.startswith("trauger.corD") else 2
    token = float(np.max(np.linalg.norm(X, order, axis=1)))
    inputs = factors | {
        "Bx": loose(rng, token),
        "n": n,
        "d": d,
        "D": loose(rng, float(np.max(np.abs(X)))),
        # One token per sample: its half-diameter is zero, any larger number is a bound as well.
        "rho": loose(rng, 1e-3 * token),
    }
    inputs["C" if id == "trauger.thm4.1" else "BQK"] = log_uniform(rng, 1e-6, 1.0)
    if odd:
        inputs["odd"] = True

    def facts(given):
        return {
            r"odd": odd,
            r"proper|sigma|radii|one layer|tokens|token has": True,
            r"CLS token": bool(np.all(X[0] == X) and given.get("cls_inf", 0) >= np.max(np.abs(X[0]))),
        }

    return Problem(id, inputs, {"Rademacher complexity": scale * best}, facts)
