"""What Deora's results predict for the runs of the experiments: the registered theorems at a mixture's parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import certiformer
from certiformer.reproduction.sweep import Config
from certiformer.theory.core import Evaluation, Variants, find


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


def start_of(config: Config, P: float, BPhi: float, B2: float) -> Start:
    """The start with its margin over the whole population."""
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


def _mixture(config: Config) -> dict[str, Any]:
    names = {"T": "tokens", "zeta": "zeta", "M": "M", "S": "S", "Zmu": "Z_mu", "Znu": "Z_nu"}
    return {theirs: config[ours] for theirs, ours in names.items()}
