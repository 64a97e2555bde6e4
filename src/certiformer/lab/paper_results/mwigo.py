"""Mwigo and Dasgupta: the shallow encoder, near its initial weights."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from certiformer.lab.paper_results._application import Application, Binding, Radii, of_complexity
from certiformer.theory.core import assumed
from certiformer.theory.measure.profile import Profile

NOT_THIS_MODEL = "the result is about the shallow encoder (shallow_encoder)"
START_UNKNOWN = (
    "the initial weights are not known, and the result is about the neighbourhood of the initial weights; give them as "
    "`initial`"
)
INDEPENDENT_START = assumed("the initial weights do not depend on the training sample (no warm start from it)")


def _reason(profile: Profile) -> str | None:
    if profile.model not in MODELS:
        return NOT_THIS_MODEL
    return None if profile.initial_known else START_UNKNOWN


def _inputs(profile: Profile, radii: Radii) -> dict[str, Any]:
    """Radii around the initial weights; these do not depend on the sample."""
    token = radii.pay("tokens l2 norm", profile["tokens l2 norm"])
    return {
        "n": profile.n,
        "ds": profile.tokens,
        "d": profile.config["d"],
        "dm": profile.config["d_m"],
        "RX": token,
        "B": token,
        "rho": radii.pay("tokens half-diameter", profile["tokens half-diameter"]),
        **{
            name: radii.pay(f"distance of {weight} from its start", profile[f"{weight} distance from start F"])
            for name, weight in (("RQ", "W_Q"), ("RK", "W_K"), ("RV", "W_V"), ("RO", "w_O"))
        },
        "WQF": profile["W_Q start F"],
        "WKF": profile["W_K start F"],
        "WVF": profile["W_V start F"],
        "wOF": profile["w_O start F"],
        "WQ2": profile["W_Q start spectral"],
        "WK2": profile["W_K start spectral"],
        "WV2": profile["W_V start spectral"],
    }


def complexity(profile: Profile) -> Application | str:
    """Lemmas 1 and 2: Rademacher complexity of the class around the initial weights."""
    reason = _reason(profile)
    if reason:
        return reason
    found = of_complexity(profile, partial(_inputs, profile))
    return replace(found, hypotheses=(INDEPENDENT_START, *found.hypotheses))


def theorem_5(profile: Profile) -> Application | str:
    """The ramp loss times its margin is 1-Lipschitz with range [0, margin]: the true loss over the margin is a risk."""
    found = complexity(profile)
    if isinstance(found, str):
        return found
    margin, loss = found.terms.values()
    # The N-th singular value of the initial features, alpha, enters the printed side only; below width N it is zero.
    more = {"LS": loss * margin, "ymax": 1.0, "clip": margin, "alpha": 1e-300}
    return replace(
        found,
        inputs={**found.inputs, **more, "paid": found.paid},
        printed_inputs={**(found.printed_inputs or {}), **more},
        kind="number",
        bounds="risk_01",
        trivial=0.5,
        takes_delta=True,
    )


def lemma_4(profile: Profile) -> Application | str:
    """The training loss under gradient flow on the squared loss, which is not how the model was trained."""
    reason = _reason(profile)
    if reason:
        return reason
    return "the result is about gradient flow on the squared loss from the initial weights with d_m at least N"


MODELS = ("shallow_encoder",)
PAYING = ("mwigo.lem1", "mwigo.lem2", "mwigo.thm5")
BINDINGS: dict[str, Binding] = {
    "mwigo.lem1": complexity,
    "mwigo.lem2": complexity,
    "mwigo.lem4": lemma_4,
    "mwigo.thm5": theorem_5,
}
