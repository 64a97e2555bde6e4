"""Values that were false at the command line with every listed hypothesis true, each against its truth."""

import math
from dataclasses import replace

import numpy as np
import pytest

from certiformer.theory.core import derived, find, verified
from certiformer.theory.core.inputs import REQUIRED, InputTable
from certiformer.theory.theorems.li._setting import SquaredLoss
from certiformer.theory.theorems.mwigo import _shallow
from certiformer.theory.theorems.mwigo._shallow import ShallowEncoder
from validity import encoders, finite_classes, networks, shattering
from validity.problem import Problem, optional, violations

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
NORMS = everything(pattern=r"initial weights are within")
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


FALSE = {"A1": A1, "A2": A2, "A3": A3, "A4": A4, "A5": A5}


@pytest.mark.parametrize(
    "problem",
    [pytest.param(problem, id=f"{name} {problem.id}") for name, problems in FALSE.items() for problem in problems],
)
def test_a_false_value_is_gone(problem):
    broken = violations(problem)
    assert not broken, "\n".join(broken)


# --- undone, the fixes are missed: by the problem itself, and by the family that found it ---------------------------

NOTHING = property(lambda self: verified("the norms were fixed in advance", True))


def other_inputs(monkeypatch, cls, rules):
    """Derive these inputs by other rules where they are left out."""
    entries = [
        replace(entry, default=REQUIRED, factory=derived("as it was", rules[entry.name]))
        if entry.name in rules
        else entry
        for entry in cls.inputs
    ]
    monkeypatch.setattr(cls, "inputs", tuple(entries))
    monkeypatch.setattr(cls, "named_inputs", InputTable(entries))


def without_reference(monkeypatch):
    """A1, A4: nobody asks whether the Bayes predictor is in reach of the class."""
    monkeypatch.setattr(SquaredLoss, "reference", NOTHING)


def with_typical_norms(monkeypatch):
    """A2: LeCun's spectral norm of a square matrix, and nobody vouches for it."""
    for id in encoders.IDS:
        other_inputs(monkeypatch, find(id), dict.fromkeys(("WQ2", "WK2", "WV2"), lambda x: 2.0))
    monkeypatch.setattr(ShallowEncoder, "initial_norms", NOTHING)


def with_derived_tokens(monkeypatch):
    """A3: the norm of the tokens from two upper bounds."""
    other_inputs(monkeypatch, find("trauger.thm4.2"), {"Bx": lambda x: math.sqrt(x.CBx / x.C1)})


def with_plain_squares(monkeypatch):
    """A5: squares of tiny numbers."""
    scaled = _shallow.quadratic_constant
    monkeypatch.setattr(_shallow, "quadratic_constant", lambda terms, unit=1.0: scaled(terms) / unit / unit)


def first_broken(make, problems):
    """The number of the first random problem, with one optional input left out, that is answered falsely."""
    for number in range(problems):
        problem = make(np.random.default_rng([1, number]))
        if any(violations(turn) for turn in (problem, *map(problem.without, optional(problem)))):
            return number
    return None


UNDONE = {
    "A1": (without_reference, A1, lambda rng: finite_classes.make(rng, finite_classes.THEOREMS), 400),
    "A2": (with_typical_norms, A2[:2], lambda rng: encoders.make(rng, ("mwigo.lem4",)), 400),
    "A3": (with_derived_tokens, A3, lambda rng: shattering.make(rng, ("trauger.thm4.2",)), 400),
    "A4": (without_reference, A4, lambda rng: networks.make(rng, ("li.thm6.9", "li.thm6.11")), 60),
    "A5": (with_plain_squares, A5, None, 0),
}


@pytest.mark.parametrize("name", UNDONE)
def test_a_fix_that_is_undone_is_missed(name, monkeypatch):
    undo, problems, make, most = UNDONE[name]
    undo(monkeypatch)
    for problem in problems:
        assert violations(problem), problem.id
    if make is not None:
        assert first_broken(make, most) is not None
