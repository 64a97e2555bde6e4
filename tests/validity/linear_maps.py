"""Covers of linear maps against packings: vertices that are far apart, intervals, and volumes of balls."""

import math

from validity.problem import Problem, log_uniform, loose

VERTICES = ("trauger.lem3.6", "li.lem5.2", "li.lemB.3", "trauger.lem3.3", "trauger.lem3.4", "trauger.lem3.5")
VOLUMES = ("li.lemB.6", "li.ass5.7")


def make(rng, ids=VERTICES + VOLUMES):
    id = str(rng.choice(ids))
    d, k = round(log_uniform(rng, 1, 60)), round(log_uniform(rng, 1, 60))
    size, token = log_uniform(rng, 0.1, 10.0), log_uniform(rng, 0.1, 10.0)
    eps = size * token * log_uniform(rng, 1e-4, 2.0)
    if id in VOLUMES:
        rank = int(rng.integers(1, 4))
        inputs = {"r": rank, "d": d, "k": k, "B": loose(rng, size), "Bx": loose(rng, token), "eps": eps}
        # Maps onto one coordinate: a ball in R^d (or, of rank one, in R^k), in sup norm over inputs of that norm.
        truth = max(d, k) * math.log(max(1.0, size * token / eps))
    else:
        name = "Bw" if id.startswith("trauger") else "B"
        inputs = {name: loose(rng, size), "Bx": loose(rng, token), "eps": eps, "d": d, "k": k}
        inputs |= {"n": d} if id == "trauger.lem3.5" else {}
        truth = max(_vertices(size * token / eps, d * k), math.log(max(1.0, size * token / eps)))

    def facts(given):
        return {r"row norms|Bw bounds|row convention|proper|norm|input": True}

    return Problem(id, inputs, {"log covering number": truth}, facts)


def _vertices(ratio, entries):
    """+-B e_i e_j^T: on the inputs Bx e_j every two of them are at least B Bx apart."""
    return math.log(2 * entries) if ratio > 2.0000001 else 0.0
