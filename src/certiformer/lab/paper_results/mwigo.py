"""Mwigo and Dasgupta: the shallow encoder, near its initial weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from certiformer.lab.paper_results._application import Application, Binding, Radii, of_complexity, paid_margin
from certiformer.theory.core import assumed, verified
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


def _inputs(profile: Profile, radii: Radii | None) -> dict[str, Any]:
    """Radii around the initial weights, paid or as measured; the initial weights do not depend on the sample."""

    def size(name: str, value: float) -> float:
        return value if radii is None else radii.pay(name, value)

    token = size("tokens l2 norm", profile["tokens l2 norm"])
    return {
        "n": profile.n,
        "ds": profile.tokens,
        "d": profile.config["d"],
        "dm": profile.config["d_m"],
        "RX": token,
        "B": token,
        "rho": size("tokens half-diameter", profile["tokens half-diameter"]),
        **{
            name: size(f"distance of {weight} from its start", profile[f"{weight} distance from start F"])
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
    radii = Radii()
    found = of_complexity(profile, _inputs(profile, radii), _inputs(profile, None), radii)
    return replace(found, hypotheses=(INDEPENDENT_START, *found.hypotheses))


def theorem_5(profile: Profile) -> Application | str:
    """The ramp loss times its margin is 1-Lipschitz with range [0, margin]: the true loss over the margin is a risk."""
    reason = _reason(profile)
    if reason:
        return reason
    chosen, radii = paid_margin(profile), Radii()
    loss = {"LS": chosen.loss * chosen.margin, "ymax": 1.0, "clip": chosen.margin}
    inputs = {**_inputs(profile, radii), **loss}
    # The N-th singular value of the initial features enters the printed side only; below width N it is zero.
    least = 1e-300
    return Application(
        {**inputs, "alpha": least, "paid": radii.cost + chosen.paid},
        {**_inputs(profile, None), **loss, "alpha": least},
        "number",
        "risk_01",
        0.5,
        paid=radii.cost + chosen.paid,
        scale=1.0 / chosen.margin,
        takes_delta=True,
        hypotheses=(
            INDEPENDENT_START,
            radii.check,
            verified("the loss is the ramp loss at a paid margin, in [0, 1] and at least the 0-1 loss", True),
        ),
        terms={"margin": chosen.margin, "ramp loss on the training sample": chosen.loss},
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
