"""Arda et al.: projected gradient descent near the initial weights; what is bounded is the training loss."""

from __future__ import annotations

from typing import Any

from certiformer.certification.bindings._application import Application, Binding
from certiformer.measure.profile import Profile

TARGET_UNKNOWN = (
    "it needs the norms of the target's transportation map (nu_c, nu_u, nu_w), which data do not tell, and the run "
    "(projection radii rho_c, rho_u, rho_w, step size eta, steps tau, and the shares delta, delta_R). Record them with "
    "the checkpoint if the labels come from a known teacher"
)
RUN = ("rho_c", "rho_u", "rho_w", "nu_c", "nu_u", "nu_w", "eta", "tau", "delta")


def _training_loss(model: str, extra: tuple[str, ...]) -> Binding:
    def bind(profile: Profile) -> Application | str:
        if profile.model != model:
            return f"the result is about {model}"
        if profile["tokens l2 norm"] > 1.0 + 1e-9:
            return f"tokens must lie in the unit ball; the largest has norm {profile['tokens l2 norm']:.4g}"
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
        return Application(given, given, "number", "training_loss", 1.0)

    return bind


BINDINGS: dict[str, Binding] = {
    "arda.thm1": _training_loss("independent_heads", ("delta_R",)),
    "arda.prop1": _training_loss("independent_heads", ("delta_R",)),
    "arda.rem9": _training_loss("independent_heads", ("delta_R", "misfit")),
    "arda.prop2": _training_loss("indrnn", ()),
}
