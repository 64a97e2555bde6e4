"""Two to six functions on one to three inputs, labels of a known law: empirical risk minimisation, enumerated.

Corollaries 4.5, 4.8, 4.13 (covering numbers) and Theorems 4.4, 4.7, 4.11 (offset complexity) of Li et al.; the target
is in the class or not, the loss squared or absolute, the noise absent or present, ties broken as badly as possible.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

import certiformer
from theory.calculus.tiny_problems import greedy_cover, samples
from validity.problem import Problem, log_uniform, loose

MOST = {1: 10**7, 2: 10**5, 3: 20, 4: 9, 5: 6, 6: 5}  # examples, by the number of pairs of input and label
COROLLARIES = ("li.cor4.5", "li.cor4.8", "li.cor4.13")
THEOREMS = ("li.thm4.4", "li.thm4.7", "li.thm4.11")


@dataclass(frozen=True)
class Learning:
    """A finite learning problem with everything about it computed."""

    predictions: np.ndarray  # (functions, cells)
    bayes: np.ndarray  # (cells,)
    labels: np.ndarray
    law: np.ndarray
    squared: bool
    n: int

    def loss(self, values):
        gap = values - self.labels
        return gap**2 if self.squared else np.abs(gap)

    @property
    def losses(self):
        return self.loss(self.predictions)

    @property
    def risks(self):
        return self.losses @ self.law

    @property
    def bayes_risk(self):
        return float(self.loss(self.bayes) @ self.law)

    @property
    def approximation(self):
        return max(0.0, float(self.risks.min() - self.bayes_risk))

    @property
    def well_specified(self):
        return bool(np.any(np.all(self.predictions == self.bayes, axis=1)))

    def erm(self):
        """Risks of the worst minimiser and least empirical losses over all samples, with their probabilities."""
        counts, weights = _outcomes(self.law, self.n)
        empirical = counts @ self.losses.T / self.n
        least = empirical.min(axis=1)
        tied = empirical <= least[:, None] + 1e-12
        return np.where(tied, self.risks, -np.inf).max(axis=1), least, weights

    def bernstein(self):
        """The smallest V with E g^2 <= V E g; infinite where there is none."""
        excess = self.losses - self.loss(self.bayes)
        mean, square = excess @ self.law, excess**2 @ self.law
        if np.any((mean < 1e-12) & (square > 1e-12)):
            return math.inf
        return float(np.max(square / np.maximum(mean, 1e-300), initial=0.0, where=square > 1e-12))


def learning(rng, squared=None):
    inputs = int(rng.integers(1, 4))
    per_input = rng.integers(1, 3, size=inputs)
    where = np.repeat(np.arange(inputs), per_input)
    scale = log_uniform(rng, 0.03, 30.0)
    labels = scale * rng.choice([-1.0, -0.3, 0.0, 0.5, 1.0], size=len(where)) * rng.uniform(0.5, 1.0, size=len(where))
    law = rng.dirichlet(np.full(len(where), 0.7)) * 0.98 + 0.02 / len(where)
    squared = bool(rng.random() < 0.7) if squared is None else squared
    at_inputs = np.array([_centre(labels[where == x], law[where == x], squared) for x in range(inputs)])
    reach = scale * log_uniform(rng, 0.02, 2.0)
    functions = rng.uniform(-reach, reach, size=(int(rng.integers(2, 7)), inputs))
    if rng.random() < 0.5:
        functions[0] = at_inputs
    n = round(log_uniform(rng, 1, MOST[len(where)]))
    return Learning(functions[:, where], at_inputs[where], labels, law, squared, n)


def _outcomes(law, n):
    """All samples as counts, with their probabilities; of two cells only those within twelve standard deviations."""
    if len(law) == 1:
        return np.array([[n]]), np.ones(1)
    if len(law) > 2:
        return samples(law, n)
    middle, width = n * law[0], 12 * math.sqrt(n * law[0] * law[1]) + 12
    first = np.arange(max(0, math.floor(middle - width)), min(n, math.ceil(middle + width)) + 1)
    return np.stack([first, n - first], axis=1), binom.pmf(first, n, law[0])


def _centre(labels, weights, squared):
    if squared:
        return float(labels @ weights / weights.sum())
    order = np.argsort(labels)
    passed = np.cumsum(weights[order]) >= 0.5 * weights.sum()
    return float(labels[order][np.argmax(passed)])


def _noise(problem):
    """Half the range of the labels at each input: a sub-Gaussian parameter, by Hoeffding's lemma."""
    halves = [np.ptp(problem.labels[problem.bayes == value]) for value in np.unique(problem.bayes)]
    return max(float(max(halves)) / 2, 1e-3 * float(np.max(np.abs(problem.labels)) + 1e-3))


def make(rng, ids=COROLLARIES + THEOREMS):
    """A random problem for one of the results; flags are stated only where they are true."""
    problem, id = learning(rng), str(rng.choice(ids))
    worst, least, weights = problem.erm()
    reach = float(np.max(np.abs(problem.predictions)))
    target = float(np.max(np.abs(problem.bayes)))
    values = np.vstack([problem.predictions, problem.bayes])
    slope = 2 * float(np.max(np.abs(values - problem.labels))) if problem.squared else 1.0
    honest = id not in COROLLARIES or rng.random() < 0.85
    kappa = loose(rng, slope) if honest else slope / 3
    eta = float(rng.choice([0.05, 0.3]))
    excess = worst - problem.bayes_risk
    expected = float(weights @ excess)
    truths = {
        "excess risk": expected,
        "excess over the best of the class": expected - problem.approximation,
        "risk": float(weights @ worst),
        "excess risk, with probability 1 - eta": _quantile(excess, weights, eta),
    }
    bernstein = problem.bernstein()
    V = loose(rng, max(bernstein, 1e-6)) if math.isfinite(bernstein) else slope**2
    common = {"n": problem.n, "kappa": kappa}
    if rng.random() < 0.6 or not problem.well_specified:
        common["approx"] = loose(rng, problem.approximation)
    noise_free = all(len({*problem.labels[problem.bayes == value]}) == 1 for value in problem.bayes)
    flags = {
        "squared_loss": problem.squared,
        "well_specified": problem.well_specified,
        "bernstein": math.isfinite(bernstein),
        "honest_kappa": honest,
        "noise_free": noise_free,
    }
    shape = _shape(rng, id, loose(rng, reach), loose(rng, target))
    if id in COROLLARIES:
        inputs = {**common, **_cover(rng, problem), **shape, **_corollary(rng, id, problem, V, least @ weights, eta)}
        stated = ("squared_loss", "well_specified", "bernstein", "honest_kappa")
    else:
        inputs = {**common, **shape, **_theorem(rng, problem, shape, kappa, float(least @ weights))}
        stated = ("squared_loss", "well_specified", "noise_free")
    known = {entry.name for entry in certiformer.explain(id).inputs}
    inputs |= {name: True for name in stated if flags[name] and name in known}
    keep = ("rho",)
    if not honest:
        inputs["honest_kappa"], keep = False, ("rho", "honest_kappa")

    def facts(given):
        covered = problem.well_specified or given.get("approx", 0.0) >= problem.approximation * (1 - 1e-12) > 0
        return {
            r"[Kk]appa": honest,
            r"squared loss, f0": problem.squared,
            r"is in the class, or approx|in the class or within|f0 in the class": covered,
            r"belongs to the class": problem.well_specified,
            r"Bernstein condition|E g\^2": math.isfinite(bernstein),
            r"loss lies in|-g <= M|proper cover|expected empirical risk|Roff|offset": True,
            r"heads are|normalisation": True,
            r"labels are a function of the inputs": noise_free,
        }

    return Problem(id, inputs, truths, facts, skip=("S3_hp", "S3_kl"), keep=keep)


def _quantile(values, weights, eta):
    """The smallest q that is exceeded with probability at most eta."""
    order = np.argsort(values)
    above = weights.sum() - np.cumsum(weights[order])
    return float(values[order][np.argmax(above <= eta + 1e-12)])


def _shape(rng, id, reach, target):
    """A network of that output bound: H Bw Bc Bv L_sigma Bx, or rho Bw after a normalisation."""
    target = max(target, 1e-9)
    if id == "li.cor4.5":
        return {}
    if id in ("li.cor4.13", "li.thm4.11"):
        rho = loose(rng, 1.0)
        return {"Bw": max(reach / rho, 1e-9), "B": target, "rho": rho}
    heads = {"H": int(rng.integers(1, 4))} if id in ("li.cor4.8", "li.thm4.7") else {}
    factors = dict(zip(("Bc", "Bv", "L_sigma", "Bx"), (log_uniform(rng, 0.3, 3.0) for _ in range(4)), strict=True))
    rest = math.prod(factors.values()) * heads.get("H", 1)
    return {"Bw": max(reach / rest, 1e-9), **factors, "BX": factors["Bx"] * rng.uniform(1, 2), "B": target, **heads}


def _cover(rng, problem):
    """The class itself, or a greedy proper cover of it."""
    if rng.random() < 0.5:
        return {"logN": loose(rng, math.log(len(problem.predictions))), "radius": 1e-12}
    radius = float(np.ptp(problem.predictions)) * rng.uniform(0.05, 0.6) + 1e-12
    return {"logN": loose(rng, math.log(len(greedy_cover(problem.predictions, radius)))), "radius": radius}


def _corollary(rng, id, problem, V, least, eta):
    sigma = loose(rng, _noise(problem))
    if id != "li.cor4.5":
        return {"sigma": sigma, "V": V}
    top = float(max(np.max(problem.losses), np.max(problem.loss(problem.bayes))))
    gap = float(np.max((problem.predictions - problem.bayes) ** 2))
    M = loose(rng, max(top, 1e-9))
    return {
        "sigma": sigma,
        "V": V,
        "M": M,
        "M_SH": 2 * M,
        "b_h": loose(rng, max(gap, 1e-12)),
        "emp": loose(rng, float(least)),
        "eta": eta,
    }


def _theorem(rng, problem, shape, kappa, least):
    """Offset complexities of a finite class are at most ln N/(2 beta n)."""
    size, n = math.log(len(problem.predictions)), problem.n
    top = float(max(np.max(problem.losses), np.max(problem.loss(problem.bayes)), 1e-9))
    factors = [shape[name] for name in ("Bw", "Bc", "Bv", "L_sigma", "BX", "H", "rho") if name in shape]
    scale = 2 * kappa * (shape["B"] + math.prod(factors))  # the paper's M_SH, M_MH, M_ML
    M, a = loose(rng, top), log_uniform(rng, 0.3, 3.0)
    return {
        "Roff": scale * size / (2 * n) + 1e-12,
        "Roff_loss": (1 + a) * M * size / (2 * a * n) + 1e-12,
        "emp": loose(rng, least),
        "a": a,
        "logN": loose(rng, size),
        "M": M,
        "sigma": loose(rng, _noise(problem)),
    }
