"""Deora et al.: full-batch gradient descent on multi-head attention. The run has to be known, not only its outcome."""

from __future__ import annotations

import math
from typing import Any

from certiformer.lab.paper_results._application import Application, Binding
from certiformer.theory.measure.profile import Profile

NOT_THIS_MODEL = "the result is about one multi-head attention layer (multi_head_attention)"
RUN_UNKNOWN = (
    "it needs the run: full-batch gradient descent on the logistic loss with a constant step size. Record "
    '`optimiser`: "gradient_descent", `step_size`, `steps` and `start_loss` with the checkpoint, and give the start'
)


def _run(profile: Profile) -> dict[str, Any] | str:
    """The inputs of Theorem 1 with the trained weights as target, or what is missing."""
    if profile.model != "multi_head_attention":
        return NOT_THIS_MODEL
    config, training = profile.config, profile.training
    if config["readout"] != "full":
        return "the binding reads the full projection only, not pooling or last"
    known = training.get("optimiser") == "gradient_descent" and {"step_size", "steps", "start_loss"} <= set(training)
    if not known or not profile.initial_known:
        return RUN_UNKNOWN
    return {
        "D": profile["all weights distance from start F"],
        "b": profile.largest("U", "F"),
        "b0": profile.largest("U", "start F"),
        "Lt": profile["cross-entropy"],
        "L0": float(training["start_loss"]),
        "H": config["heads"],
        "K": int(training["steps"]),
        "eta": float(training["step_size"]),
        "T": config["tokens"],
        "R": profile["tokens l2 norm"],
        "d": config["d"],
    }


IN_EXPECTATION = (
    "it holds in expectation over the sample, with token norms that hold almost surely; sizes measured on one sample "
    "cannot stand for them, and delta cannot pay for an expectation"
)


def theorem_1(profile: Profile) -> Application | str:
    """A statement about the training sample: its tokens may be measured on it."""
    given = _run(profile)
    if isinstance(given, str):
        return given
    return Application(given, given, "number", "training_loss", math.log(2.0))


def theorem_2(profile: Profile) -> Application | str:
    """In expectation over the sample, with almost sure bounds: what one sample shows cannot stand for them."""
    given = _run(profile)
    if isinstance(given, str):
        return given
    inputs = {**given, "n": profile.n}
    return Application(inputs, inputs, "number", "gap", 1.0, only_printed=IN_EXPECTATION)


def corollary_2(profile: Profile) -> Application | str:
    if profile.model != "multi_head_attention":
        return NOT_THIS_MODEL
    return "it needs a lower bound on the NTK margin over the whole distribution, which a sample does not give"


BINDINGS: dict[str, Binding] = {
    "deora.thm1": theorem_1,
    "deora.thm2": theorem_2,
    "deora.cor2": corollary_2,
}
