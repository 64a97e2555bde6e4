"""Arda et al.: projected gradient descent near the initial weights; what is bounded is the training loss.

The results hold with probability 1 - delta - delta_R over the initialisation, numbers that the run fixed: they are no
part of the report's delta, and the row shows them as its own confidence.
"""

from __future__ import annotations

import math
from typing import Any

from certiformer.lab.paper_results._application import Application, Binding
from certiformer.theory.core import Hypothesis, assumed, find, verified
from certiformer.theory.measure.profile import Profile

TARGET_UNKNOWN = (
    "it needs the norms of the target's transportation map (nu_c, nu_u, nu_w), which data do not tell, and the run "
    "(projection radii rho_c, rho_u, rho_w, step size eta, steps tau, and the shares delta, delta_R). Record them with "
    "the checkpoint if the labels come from a known teacher"
)
RUN = ("rho_c", "rho_u", "rho_w", "nu_c", "nu_u", "nu_w", "eta", "tau", "delta")
ROUNDING = 1e-5
"""Unit vectors in float32 miss the unit sphere by less than this."""


def _training_loss(id: str, model: str, extra: tuple[str, ...]) -> Binding:
    def bind(profile: Profile) -> Application | str:
        if profile.model != model:
            return f"the result is about {model}"
        norm = profile["tokens l2 norm"]
        if norm > 1.0 + ROUNDING:
            return f"tokens must lie in the unit ball; the largest has norm {norm:.8g}"
        wanted = (*RUN, *extra)
        if not set(wanted) <= set(profile.training):
            return TARGET_UNKNOWN
        config = profile.config
        given: dict[str, Any] = {name: profile.training[name] for name in wanted}
        given |= {"activation": config["activation"], "n": profile.n}
        if model == "independent_heads":
            given |= {"m": config["heads"], "d": config["d"]}
        else:
            given |= {"m": config["units"], "T": profile.tokens, "alpha": config["alpha"]}
        failure = given["delta"] + given.get("delta_R", 0.0)
        if not failure < 1.0:
            return f"its failure probability is {failure:.4g} (delta and delta_R of the run): nothing is left to say"
        # Decisions are coded as -1 and +1 for one logit.
        known = profile.entries.get("largest label")
        label = 1.0 if known is None else known.value
        reach = _reach(id, given)
        if reach < label:
            return (
                f"the largest label is {label:.4g} (decisions are -1 and +1), but a target with these norms (nu_c, "
                f"nu_u, nu_w) stays within {reach:.4g}: they do not come from it"
            )
        return Application(
            given, given, "number", "training_loss", label * label, hypotheses=(_tokens(norm),), own_delta=failure
        )

    return bind


def _reach(id: str, given: dict[str, Any]) -> float:
    """The largest label that the target (and the misfit) can produce: the square root of the loss at the start."""
    trivial = find(id).evaluate(given).sound["value"].trivial
    return math.inf if trivial is None else math.sqrt(trivial)


def _tokens(norm: float) -> Hypothesis:
    if norm <= 1.0:
        return verified("tokens lie in the unit ball", True, norm)
    return assumed(f"tokens lay in the unit ball before they were rounded (their largest norm is now {norm:.9g})")


BINDINGS: dict[str, Binding] = {
    "arda.thm1": _training_loss("arda.thm1", "independent_heads", ("delta_R",)),
    "arda.prop1": _training_loss("arda.prop1", "independent_heads", ("delta_R",)),
    "arda.rem9": _training_loss("arda.rem9", "independent_heads", ("delta_R", "misfit")),
    "arda.prop2": _training_loss("arda.prop2", "indrnn", ()),
}
