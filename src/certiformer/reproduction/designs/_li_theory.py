"""What the theorems of Li et al. say about a run: their inputs read off its config, both sides evaluated."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from certiformer.reproduction.sweep import Config
from certiformer.theory.core import find

RADII = tuple(10.0**exponent for exponent in range(-6, 3))  # in units of 1/n


def inputs_of(config: Config, *, honest: bool = False) -> dict[str, Any]:
    """The inputs of Theorems B.1, B.4, B.5 and 5.8 for a teacher's class (see `_li_runs.Teacher`) or the exact example.

    kappa is the Lipschitz constant of the conditional risk, 2 (B + sup|f|), which Assumption 4.3 allows; with `honest`
    it is that of the loss for every label, 2 (sigma + B + sup|f|). The matrix of T tokens of norm at most 1 has norm
    at most sqrt(T).
    """
    if config.get("kind") == "ball":
        return _exact_inputs(config)
    layers, readout, value = config["layers"], config["readout"], config["value"]
    full = min(config["d"], config["k"])
    reach = readout if layers else config["heads"] * readout * value
    target = config["inside"] * readout if layers else config["inside"] ** 2 * reach
    rank = config["rank"] or full
    given = {
        "d": config["d"],
        "k": config["k"],
        "Bw": readout if layers else 1.0,
        "Bc": config["output"] if layers else readout,
        "Bv": value,
        "BQK": config["attention"],
        "L_sigma": 1.0,
        "kappa": 2.0 * (target + reach + (config["sigma"] if honest else 0.0)),
        "B": target,
        "Bx": 1.0,
        "BX": math.sqrt(config["tokens"]),
        "sigma": config["sigma"],
        "n": config["n"],
        "rw": 1,
        "rc": rank,
        "rv": rank,
        "rqk": config["rank"] or config["d"],
        "squared_loss": True,
        "well_specified": True,
    }
    if layers:
        given["layers"] = layers
    elif config["heads"] > 1:
        given["H"] = config["heads"]
    return given


def _exact_inputs(config: Config) -> dict[str, Any]:
    """The inputs for the linear example of `_li_exact`: one token, so attention plays no part; labels +-1."""
    given = {
        "d": config["d"],
        "k": 1,
        "Bw": 1.0,
        "Bc": 1.0,
        "Bv": 1.0,
        "BQK": 1e-6,
        "L_sigma": 1.0,
        "kappa": 4.0,
        "B": 1.0,
        "Bx": 1.0,
        "BX": 1.0,
        "sigma": 1.0,
        "n": config["n"],
        "squared_loss": True,
        "well_specified": True,
    }
    return given if config["norm"] == "one" else {**given, "rw": 1, "rc": 1, "rv": 1, "rqk": 1}


def theorem_of(config: Config) -> str:
    """The theorem of a run's class: the rank-based one of a teacher's, and of the l1 ball the one with norms alone."""
    if config.get("kind") == "ball":
        return "li.thmB.1" if config["norm"] == "one" else "li.thmB.4"
    return "li.thm5.8" if config["layers"] else ("li.thmB.5" if config["heads"] > 1 else "li.thmB.4")


def printed(config: Config) -> float:
    """The printed bound at the class of a run."""
    return printed_bound(theorem_of(config), inputs_of(config))


def sound(config: Config, variant: str = "S2_opt") -> float:
    """The sound bound there."""
    return sound_bound(theorem_of(config), inputs_of(config), variant)


def printed_bound(id: str, given: Mapping[str, Any]) -> float:
    """The printed bound at the cover radius that suits it best, of a grid around 1/n."""
    return _printed(id, tuple(sorted(given.items())))


def sound_bound(id: str, given: Mapping[str, Any], variant: str = "S2_opt") -> float:
    """The sound bound; `S2_opt` chooses the cover radius itself."""
    return _sound(id, tuple(sorted(given.items())))[variant]


@functools.lru_cache(maxsize=4096)
def _printed(id: str, given: tuple[tuple[str, Any], ...]) -> float:
    result, inputs = find(id), dict(given)
    if not result.has_printed():
        return math.nan
    found = []
    for radius in RADII:
        bound = result(**{**inputs, "radius": radius / inputs["n"]}).printed()["value"]
        if bound.applies:
            found.append(bound.value)
    return min(found, default=math.inf)


@functools.lru_cache(maxsize=4096)
def _sound(id: str, given: tuple[tuple[str, Any], ...]) -> dict[str, float]:
    result, inputs = find(id), dict(given)
    variants = result(**{**inputs, "radius": 1.0 / inputs["n"]}).sound()
    return {name: bound.value for name, bound in variants.items()}
