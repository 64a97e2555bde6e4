"""Deep covers of Trauger & Tewari against a family of 2^M networks that differ by more than 2 eps on some sample.

Tokens +-(b/sqrt 2)(e_j + e_z) and a CLS token b e_c; W_QK = tau e_c s^T/M with signs s, W_v = e_z/b, W_c = w = 1. The
output on sample j is s_j times a margin, computed from the scores. Constants C hold for exactly these weights.
"""

import math

from validity.problem import Problem, log_uniform, loose

IDS = ("trauger.thm4.2", "trauger.cor4.2.1", "trauger.corF.0.2")


def make(rng, ids=IDS):
    id = str(rng.choice(ids))
    keys = round(log_uniform(rng, 2, 20_000))
    b = log_uniform(rng, 0.5, 3e4)
    tau = log_uniform(rng, 1e-5, 1.0)
    d = keys + 2
    score = tau * b**2 / (math.sqrt(2.0) * keys)
    small = math.exp(-score)
    margin = math.sqrt(2.0) * (1 - small**2) / (2 * (1 + small**2) + 2 * small)
    inputs = {
        "L_sigma": 1.0,
        "Bc2": 1.0,
        "Bv2": loose(rng, 1.0 / b),
        "BQK2": loose(rng, tau / math.sqrt(keys)),
        "Bw": 1.0,
        "layers": 1,
        "eps": 0.999 * margin,
        "Bx": loose(rng, b),
        "rho": loose(rng, b),
    }
    unit = tau**2 * math.log(2 * d * d + 1)
    if id == "trauger.thm4.2":
        C1 = loose(rng, unit) if rng.random() < 0.4 else unit * log_uniform(rng, 1.0, 1e10)
        inputs |= {"C1": C1, "CBx": loose(rng, b**2 * unit)}
    else:
        largest = max(1.0, 1.0 / b, tau)
        inputs |= {"B": loose(rng, largest), "d": d, "k": 1}
        if id == "trauger.cor4.2.1":
            inputs |= {"Bw1": 1.0, "Bc11": 1.0, "Bv11": loose(rng, 1.0 / b), "BQK11": loose(rng, tau)}

    def facts(given):
        return {r"proper|covers|tokens|Bx|unit ball|projection|sigma|C1|CBx|norm bounds": True}

    truth = keys * math.log(2.0) if margin > 0 else 0.0
    return Problem(id, inputs, {"log covering number": truth}, facts)
