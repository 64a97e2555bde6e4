"""Li et al.: excess risk of empirical risk minimisation.

Their bounds hold in expectation, for the empirical risk minimiser of a class that is fixed in advance. A model that
came out of gradient descent is not known to be one, and radii that were read off its weights can be paid for with
delta, but not in expectation. So the sound side has nothing to say about it; what the printed formulas would give is
shown next to that reason. (Their covers do serve in the margin certificate.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from certiformer.lab.paper_results._application import Application, Binding
from certiformer.theory.measure.profile import Profile

NOT_THIS_MODEL = "the result is about the Transformer with a CLS readout (cls_transformer)"
NOT_THE_MINIMISER = (
    "it holds in expectation, for the exact empirical risk minimiser of a class fixed in advance; this model was "
    "trained by descent and its norms were read off afterwards, for which delta can pay but an expectation cannot"
)
TAILS = "it needs a bound on the tails of the inputs that is known in advance (variance proxy or tail exponent)"


def _architecture(profile: Profile, *, layers: str, heads: str) -> str | None:
    if profile.model not in ("cls_transformer", "low_rank_cls_transformer"):
        return NOT_THIS_MODEL
    config = profile.config
    if config["readout"] != "scalar":
        return "the result is about a scalar output"
    if layers == "one" and (config["layers"] > 1 or config["projected"]):
        return "the result is about one layer without projections; the deep results are li.thm5.3 and li.thm5.8"
    if layers == "deep" and (not config["projected"] or config["block"] != "li"):
        return "the result is about several layers with the projections of Li et al. (block li)"
    if heads == "one" and config["heads"] > 1:
        return "the result is about one head; li.thmB.2 and li.thmB.5 are about several"
    if heads == "several" and config["heads"] == 1:
        return "the result is about several heads; li.thmB.1 and li.thmB.4 are about one"
    return None


def _inputs(profile: Profile, *, norm: str, layers: bool, heads: bool, ranks: bool) -> dict[str, Any]:
    """As measured, for the logistic loss (1-Lipschitz) with labels +-1, cover radius 1/n."""
    config = profile.config
    token = profile["tokens l2 norm"]
    given: dict[str, Any] = {
        "d": config["d"],
        "k": config["k"],
        "Bw": profile["w F"],
        "Bc": profile.largest("W_c", norm),
        "Bv": profile.largest("W_v", norm),
        "BQK": profile.largest("W_QK", norm),
        "L_sigma": 1.0,
        "kappa": 1.0,
        "B": max(abs(profile["smallest output"]), abs(profile["largest output"]), 1e-9),
        "Bx": token,
        "BX": token * math.sqrt(profile.tokens),
        "sigma": 1.0,
        "n": profile.n,
        "radius": 1.0 / profile.n,
    }
    if layers:
        given["layers"] = config["layers"]
    if heads:
        given["H"] = config["heads"]
    if ranks:
        least = int(config.get("rank") or min(config["d"], config["k"]))
        given |= {"rw": 1, "rc": least, "rv": least, "rqk": int(config.get("rank") or config["d"])}
    return given


def _excess_risk(layers: str, heads: str, *, ranks: bool) -> Binding:
    def bind(profile: Profile) -> Application | str:
        reason = _architecture(profile, layers=layers, heads=heads)
        if reason:
            return reason
        given = _inputs(
            profile,
            norm="spectral" if ranks else "W_1,1",
            layers=layers == "deep",
            heads=heads == "several",
            ranks=ranks,
        )
        return Application(
            given, given, "number", "excess_risk", math.log(2.0), in_expectation=True, only_printed=NOT_THE_MINIMISER
        )

    return bind


def _tails(layers: str, heads: str) -> Callable[[Profile], Application | str]:
    def bind(profile: Profile) -> Application | str:
        return _architecture(profile, layers=layers, heads=heads) or TAILS

    return bind


BINDINGS: dict[str, Binding] = {
    "li.thmB.1": _excess_risk("one", "one", ranks=False),
    "li.thmB.2": _excess_risk("one", "several", ranks=False),
    "li.thm5.3": _excess_risk("deep", "any", ranks=False),
    "li.thmB.4": _excess_risk("one", "one", ranks=True),
    "li.thmB.5": _excess_risk("one", "several", ranks=True),
    "li.thm5.8": _excess_risk("deep", "any", ranks=True),
    "li.thm6.4": _tails("one", "one"),
    "li.thm6.5": _tails("one", "several"),
    "li.thm6.6": _tails("deep", "any"),
    "li.thm6.9": _tails("one", "one"),
    "li.thm6.10": _tails("one", "several"),
    "li.thm6.11": _tails("deep", "any"),
}
