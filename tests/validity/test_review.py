"""Values that were false at the command line with every listed hypothesis true, each against its truth."""

import math

import pytest

from validity.problem import Problem, violations

MENDING = pytest.mark.xfail(strict=False, reason="a finding of the review that is being mended")
HEAD = {"Bw": 1, "Bc": 1, "Bv": 1, "L_sigma": 1}


def everything(**false):
    """All hypotheses true but those matched by the given patterns."""
    return lambda given: {".": True, **dict.fromkeys(false.values(), False)}


OUTSIDE = everything(
    pattern=r"(in|belongs to) the class(?!, so| with)|reference|approx|f0 in|Bayes predictor", other=r"well.specified"
)
# f0 = 1, the class {0, 0.1}: whatever n, the excess is at least 0.81.
OFFSET = {"kappa": 2, "B": 1, "Roff": 0, "n": 10**6, "logN": 0.7, "sigma": 0.1, "squared_loss": 1}
A1 = [
    Problem("li.thm4.4", {**HEAD, "BX": 0.1, **OFFSET}, {"excess risk": 0.81}, OUTSIDE),
    Problem("li.thm4.7", {**HEAD, "BX": 0.1, "H": 1, **OFFSET}, {"excess risk": 0.81}, OUTSIDE),
    Problem("li.thm4.11", {"Bw": 0.1, **OFFSET}, {"excess risk": 0.81}, OUTSIDE),
    # The form for labels without noise rests on the same: a label 1, |f| <= 0.1.
    Problem("li.thm4.4", {**HEAD, "BX": 0.1, **OFFSET, "noise_free": 1}, {"excess risk": 0.81}, OUTSIDE),
]
SHALLOW = {"n": 1, "ds": 1, "RX": 1, "RO": 1}
NEAR = {"RQ": 1e-6, "RK": 1e-6, "RV": 1e-6}
# Without norms of the initial weights nobody knows them; what a result takes instead must be shown as open.
NORMS = everything(pattern=r"LeCun|typical|initial|W[QKV][F2]|norm of")
A2 = [
    # LeCun's W_V of 4096 x 64 on its top right singular vector, and a W_V >= 0 of one column and Frobenius norm 32.
    Problem("mwigo.lem2", {**SHALLOW, **NEAR, "d": 64, "dm": 4096}, {"Rademacher complexity": 6.49}, NORMS),
    Problem("mwigo.lem2", {**SHALLOW, **NEAR, "d": 1, "dm": 1024, "WVF": 32}, {"Rademacher complexity": 32}, NORMS),
    Problem(
        "mwigo.thm5",
        {**SHALLOW, **NEAR, "RO": 1e-6, "n": 10**6, "d": 64, "dm": 4096, "alpha": 0.5, "delta": 0.05, "LS": 6.49}
        | {"ymax": 0},
        {"risk": 6.49},
        NORMS,
    ),
]
# 2^9998 networks of dimension 10^4, pairwise more than 1.4 apart on some sample; tokens of norm 26458.
DEEP = {"C1": 10, "CBx": 134, "L_sigma": 1, "Bc2": 1, "Bv2": 3.8e-5, "BQK2": 1.01e-6, "Bw": 1, "layers": 1, "eps": 0.7}
A3 = [Problem("trauger.thm4.2", DEEP, {"log covering number": 9998 * math.log(2)}, everything())]
# Y = f0 = 1, absolute loss, |f| <= 1e-6.
HEAVY = {"d": 4, "k": 3, "Bw": 1e-6, "Bc": 1, "Bv": 1, "BQK": 1, "L_sigma": 1, "kappa": 1, "B": 1, "sigma": 0.5}
HEAVY |= {"n": 10**8, "radius": 1e-7, "M": 1000, "C": 1, "beta": 3, "rw": 1, "rc": 1, "rv": 1, "rqk": 1}
HEAVY |= {"moment": 1.01, "eta": 0.05, "fraction": 0}
MISSED = {"excess risk, with probability 1 - eta": 1 - 1e-6}
A4 = [
    Problem("li.thm6.11", {**HEAVY, "layers": 1}, MISSED, OUTSIDE),
    Problem("li.thm6.9", {**HEAVY, "clipped": 1}, MISSED, OUTSIDE),
    Problem("li.thm6.10", {**HEAVY, "clipped": 1, "H": 1}, MISSED, OUTSIDE),
]
# One unit, one token of norm 1e-165: w_O moves by one, so Rad = 1e-165/sqrt(100) at least (Khinchin: times 1/sqrt 2).
TINY = {"n": 100, "ds": 1, "d": 1, "dm": 1, "RX": 1e-165, "RQ": 1, "RK": 1, "RV": 1, "RO": 1}
TINY |= dict.fromkeys(("WV2", "WVF", "WQ2", "WK2", "WQF", "WKF"), 1)
A5 = [Problem("mwigo.lem2", TINY, {"Rademacher complexity": 1e-165 / math.sqrt(200)}, everything())]


@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(problem, id=f"{name} {problem.id}", marks=MENDING)
        for name, problems in {"A1": A1, "A2": A2, "A3": A3, "A4": A4, "A5": A5}.items()
        for problem in problems
    ],
)
def test_a_false_value_is_gone(problem):
    broken = violations(problem)
    assert not broken, "\n".join(broken)
