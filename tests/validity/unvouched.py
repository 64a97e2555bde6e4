"""Statements that only the caller can make, and did not: external covers, tokens of another law, columns for rows."""

import math

from validity.problem import Problem, log_uniform

IDS = ("dudley", "li.ass6.2", "trauger.lem3.4", "trauger.lem3.5")


def make(rng, ids=IDS):
    id = str(rng.choice(ids))
    true = bool(rng.random() < 0.5)
    if id == "dudley":
        # The cube {-1, 1}^n: 2^n functions, Rademacher complexity one; its covers may be taken outside.
        n = int(rng.integers(1, 2000))
        inputs = {"C": n * math.log(2.0), "D": 1.0, "n": n} | ({"proper": True} if true else {})
        return Problem(
            id, inputs, {"Rademacher complexity": 1.0}, lambda given: {r"proper": true, r"scalar-valued": True}
        )
    if id == "li.ass6.2":
        # One token of fixed norm b and a random sign is a Rademacher series; here b itself is random, so it is not.
        b, share = log_uniform(rng, 0.1, 10.0), rng.uniform(1e-6, 1e-3)
        nu = share * b**2
        inputs = {"T": 1, "d": 1, "nu": nu, "t": 0.999 * b, "spectral": nu}
        return Problem(id, inputs, {"tail probability": share}, lambda given: {r"series|Gaussian|centred": False})
    d, k = int(rng.integers(1, 30)), int(rng.integers(1, 30))
    inputs = {"Bw": 1.0, "Bx": 1.0, "eps": log_uniform(rng, 1e-3, 0.49), "d": d, "k": k}
    inputs |= {"n": d} if id == "trauger.lem3.5" else {}
    inputs |= {} if true else {"columns": True}
    facts = {r"row": true, r"column": not true, r"input has": True}
    return Problem(id, inputs, {"log covering number": math.log(2 * d * k)}, lambda given: facts)
