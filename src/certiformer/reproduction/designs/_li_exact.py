"""Linear regression inside a Transformer class, with its exact constrained least squares.

One token x = e_J, J uniform on d coordinates, identity activation, k = 1: the class is {theta.x} with theta in the unit
ball of the l1 norm (entrywise norms, Theorem B.1) or of the l2 norm (all ranks one, Theorem B.4). The labels are fair
signs, so f0 = 0, the loss is honestly 4-Lipschitz, and how often each coordinate was seen with its sum of labels is all
that matters: they are drawn directly, whatever n.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from certiformer.reproduction.sweep import Config, Outcome

Vector = npt.NDArray[np.float64]


def run(config: Config) -> Outcome:
    """E (f - f0)^2 of the least-squares estimate; `norm` is "one" or "two", with `n`, `d` and `seed`."""
    rng = np.random.default_rng([config["seed"], config["n"], config["d"]])
    d = config["d"]
    counts = rng.multinomial(config["n"], np.full(d, 1.0 / d))
    sums = (2 * rng.binomial(counts, 0.5) - counts).astype(float)
    theta = ball_least_squares(counts.astype(float), sums, config["norm"])
    return Outcome({"local": float(np.sum(theta**2)) / d, "interior": bool(size(theta, config["norm"]) < 1.0)})


def size(theta: Vector, norm: str) -> float:
    """The l1 or the l2 norm."""
    return float(np.sum(np.abs(theta))) if norm == "one" else float(np.linalg.norm(theta))


def ball_least_squares(counts: Vector, sums: Vector, norm: str) -> Vector:
    """The minimiser of sum_j counts_j theta_j^2 / 2 - sums_j theta_j over the unit ball; 0 where nothing was seen.

    With the multiplier mu of the constraint: theta_j = sums_j / (counts_j + mu) for the l2 ball, and soft thresholding
    at mu / counts_j for the l1 ball. The norm falls as mu grows, so mu is found by bisection.
    """
    seen = np.maximum(counts, 1.0)  # where nothing was seen the sum is 0 as well

    def shrunk(mu: float) -> Vector:
        if norm == "two":
            return np.asarray(sums / (seen + mu))
        return np.asarray(np.sign(sums) * np.maximum(np.abs(sums) - mu, 0.0) / seen)

    free = shrunk(0.0)
    return free if size(free, norm) <= 1.0 else shrunk(_root(lambda mu: size(shrunk(mu), norm) - 1.0))


def _root(decreasing: Callable[[float], float]) -> float:
    high = 1.0
    while decreasing(high) > 0.0:
        high *= 2.0
    low = 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if decreasing(middle) > 0.0 else (low, middle)
    return high
