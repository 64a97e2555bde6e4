"""What Deora's results predict for the runs of the experiments: the registered theorems at a mixture's parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import certiformer
from certiformer.core import Evaluation, Variants, find
from certiformer.experiments.statistics import Interval, Prediction, Vector, bootstrap, verdict
from certiformer.sweep.run import Config

Points = Mapping[int, Vector] | Mapping[float, Vector]


@dataclass(frozen=True)
class Start:
    """A good initialization: NTK margin at norm sqrt 2, B_Phi and B_2, which hold for every run in question."""

    gamma: float
    BPhi: float = 0.0
    B2: float = 0.0


def radius(config: Config) -> float:
    """R of Assumption 3."""
    return math.sqrt(config["S"] ** 2 + config["Z"] ** 2 + 2.0 * config["Z_nu"] / config["M"])


def proposition_2(config: Config, P: float) -> Evaluation:
    """(7) and its sound replacement, with an error of norm at most P in the first phase."""
    return find("deora.prop2").evaluate({**_mixture(config), "Z": config["Z"], "P": P, "n": config["n"], "delta": 0.05})


def ordering(config: Config) -> Evaluation:
    """gamma_attn, gamma_* and gamma_lin of sections 5.3 and 7."""
    return find("deora.sec5.3").evaluate(_mixture(config))


def start_of(config: Config, P: float, BPhi: float, B2: float) -> Start | None:
    """The start with its margin over the whole population; None for a random start, of which the paper has none."""
    if config["start"] == "random":
        return None
    sound = proposition_2(config, P).sound
    return Start(sound["gamma_zero" if config["start"] == "zero" else "gamma_opt"].value, BPhi, B2)


def corollary_2(config: Config, start: Start, K: int, n: int) -> tuple[Variants, Variants]:
    """Training loss, gap and heads for K steps, as printed and sound; the printed side demands B_2, B_Phi >= 1."""
    result = certiformer.explain("deora.cor2")
    common = {
        "K": K,
        "eta": config["eta"],
        "H": config["heads"],
        "gamma": start.gamma,
        "T": config["tokens"],
        "R": radius(config),
        "n": n,
        "even": True,
        "d": config["d"],
        "independent": True,
        "almost_sure": True,
    }
    at_least_one = result(**{**common, "BPhi": max(start.BPhi, 1.0), "B2": max(start.B2, 1.0)})
    as_it_is = result(**{**common, "BPhi": start.BPhi, "B2": start.B2})
    return at_least_one.printed(), as_it_is.sound()


def theorem(id: str, config: Config, start: Start, K: int, **more: Any) -> Evaluation | None:
    """deora.thm1 or deora.thm2 at the target of loss 1/K near the start; None where no target is known to exist."""
    common = {"T": config["tokens"], "R": radius(config), "H": config["heads"]}
    near = {"gamma": start.gamma, "BPhi": start.BPhi, "B2": start.B2}
    target = certiformer.bound("deora.ass2", eps=1.0 / K, even=True, **near, **common).sound
    if not target["g0"].applies:
        return None
    return find(id).evaluate(
        {
            "D": target["g0"].value,
            "b": target["g"].value,
            "b0": start.B2,
            "Lt": 1.0 / K,
            "L0": start.BPhi + math.log1p(math.exp(-start.BPhi)),
            "K": K,
            "eta": config["eta"],
            "d": config["d"],
            **common,
            **more,
        }
    )


def exponent(points: Points) -> Interval:
    """`power_law` for values of which some may be negative, like a gap, as long as their means are not.

    A resampled mean that is not positive counts as a tiny one: it widens the interval as a smaller mean would.
    """
    kept = {float(x): values for x, values in sorted(points.items()) if len(values)}
    means = [float(np.mean(values)) for values in kept.values()]
    if len(kept) < 2 or min(means) <= 0.0:
        return Interval(math.nan, -math.inf, math.inf)
    x = np.log(np.array(list(kept)))
    lever = (x - x.mean()) / float(np.sum((x - x.mean()) ** 2))
    tiny = 1e-6 * min(means)
    paired = len({len(values) for values in kept.values()}) == 1
    return bootstrap(list(kept.values()), lambda c: np.asarray(np.log(np.maximum(c, tiny)) @ lever), paired=paired)


def decay(found: Interval, said: Prediction | None) -> str:
    """`verdict` on an exponent that should be negative: an interval that also holds 0, no decay, says nothing."""
    return "inconclusive" if found.contains(0.0) else verdict(found, said)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent of a predicted curve over the same range: least squares on logarithms."""
    if len(x) < 2 or not all(0.0 < value < math.inf for value in y):
        return math.nan
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _mixture(config: Config) -> dict[str, Any]:
    names = {"T": "tokens", "zeta": "zeta", "M": "M", "S": "S", "Zmu": "Z_mu", "Znu": "Z_nu"}
    return {theirs: config[ours] for theirs, ours in names.items()}
