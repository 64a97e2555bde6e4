"""Trauger and Tewari: one-layer and deep Transformers with a CLS readout, Rademacher complexities and covers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from certiformer.lab.paper_results._application import Application, Binding, Radii, of_complexity
from certiformer.theory.core import Bound, Quantity, Result, find, printed_value
from certiformer.theory.measure.profile import Profile

ODD = ("tanh", "erf", "identity")
NOT_THIS_MODEL = "the result is about the Transformer with a CLS readout (cls_transformer)"


def _reason(profile: Profile, *, layers: str, heads: str = "any", readout: str = "scalar") -> str | None:
    """Why the network is not the theorem's, or None."""
    if profile.model not in MODELS:
        return NOT_THIS_MODEL
    config = profile.config
    if layers == "one" and (config["layers"] > 1 or config["projected"]):
        return "the result is about one layer without projections; the deep results are trauger.thm4.2 and its kin"
    if layers == "deep" and not config["projected"]:
        return "the result needs projections onto the unit ball; the one-layer results are trauger.thm4.1 and its kin"
    if layers == "deep" and config["block"] != "trauger":
        return "the layers are those of Li et al., with projections in other places"
    if heads == "one" and config["heads"] > 1:
        return "the result is about one head; trauger.sec4.2 adds the heads up"
    if heads == "several" and config["heads"] == 1:
        return "there is one head; trauger.thm4.1 is about it"
    if readout == "scalar" and config["readout"] != "scalar":
        return "the readout has several logits; trauger.thm5.1 is about them"
    if readout == "classes" and config["readout"] != "classes":
        return "the readout is a scalar, not several logits read from one token"
    return None


def _readout(profile: Profile, norm: str) -> float:
    """||w||_1 or ||w||_2; of the worst row for several logits."""
    if profile.config["readout"] == "scalar":
        return profile.largest("w", {"l1": "W_1,1", "l2": "F"}[norm])
    return profile.largest("w", {"l1": "WT_1,inf", "l2": "WT_2,inf"}[norm])


def _layer(profile: Profile, radii: Radii, *, head: int | None, token: str) -> dict[str, Any]:
    """Inputs common to the one-layer results."""

    def norm(weight: str) -> float:
        return radii.pay(f"||{weight}||_{{1,inf}}{_of(head)}", _norm(profile, weight, "W_1,inf", head))

    return {
        "Bw": radii.pay("||w||_1", _readout(profile, "l1")),
        "Bc": norm("W_c"),
        "Bv": norm("W_v"),
        "L_sigma": 1.0,
        "Bx": radii.pay(f"tokens {token} norm", profile[f"tokens {token} norm"]),
        "rho": radii.pay("tokens half-diameter", profile["tokens half-diameter"]),
        "D": radii.pay("tokens sup norm", profile["tokens sup norm"]),
        "n": profile.n,
        "d": profile.config["d"],
        "odd": profile.config["activation"] in ODD,
    }


def _norm(profile: Profile, weight: str, kind: str, head: int | None) -> float:
    """The norm of one head, or the largest of all; of many heads only the largest is measured."""
    each = profile.each(weight, kind)
    return profile.largest(weight, kind) if head is None or head >= len(each) else each[head]


def _of(head: int | None) -> str:
    return "" if head is None else f" of head {head}"


QK_NORMS = {
    "trauger.cor4.1.1": ("||W_QK||_{1,1}", "W_1,1", "l2"),
    "trauger.corD.0.1": ("||W_QK^T||_{1,inf}", "WT_1,inf", "l1"),
    "trauger.corD.0.2": ("||W_QK||_{2,1}", "W_2,1", "l1"),
}


def _head_inputs(profile: Profile, id: str, radii: Radii, head: int | None = None) -> dict[str, Any]:
    label, norm, token = QK_NORMS[id]
    given = _layer(profile, radii, head=head, token=token)
    return {**given, "BQK": radii.pay(f"{label}{_of(head)}", _norm(profile, "W_QK", norm, head))}


def _one_layer(id: str) -> Binding:
    def bind(profile: Profile) -> Application | str:
        reason = _reason(profile, layers="one", heads="one")
        return reason or of_complexity(profile, lambda radii: _head_inputs(profile, id, radii))

    return bind


def theorem_4_1(profile: Profile) -> Application | str:
    """C from Maurey's cover of the entrywise l1 ball, which is what Corollary 4.1.1 puts in."""

    def with_constant(radii: Radii) -> dict[str, Any]:
        given = _head_inputs(profile, "trauger.cor4.1.1", radii)
        d, norm = given["d"], given.pop("BQK")
        return {**given, "C": (norm * given["Bx"]) ** 2 * math.log(2 * d * d + 1)}

    return _reason(profile, layers="one", heads="one") or of_complexity(profile, with_constant)


def several_heads(profile: Profile) -> Application | str:
    """Corollary 4.1.1 head by head, added up."""
    reason = _reason(profile, layers="one", heads="several")
    if reason:
        return reason
    heads, single = profile.config["heads"], find("trauger.cor4.1.1")

    def each(radii: Radii) -> list[dict[str, Any]]:
        return [_head_inputs(profile, "trauger.cor4.1.1", radii, head) for head in range(heads)]

    def summed(radii: Radii, n: float = profile.n) -> dict[str, Any]:
        found = [single.evaluate({**given, "n": n}) for given in each(radii)]
        rads = [entry.sound[entry.best].value for entry in found if entry.best is not None]
        return {"H": heads, "rad": max(rads), "rads": tuple(rads)}

    # As printed: equal heads, so that the largest stands for all.
    printed = [single.evaluate(given).printed["value"] for given in each(Radii(as_measured=True))]
    one = _times(find("trauger.sec4.2"), max(printed, key=lambda bound: bound.value), H=heads)
    return replace(of_complexity(profile, summed, printed=False), at=lambda n: summed(Radii(), n), printed_bound=one)


def _times(result: type[Result], one: Bound, **inputs: int) -> Bound:
    """A printed result that multiplies a printed complexity, negative or beyond its range though that may be."""
    factor = next(iter(result(rad=1.0, **inputs).printed().values())).value
    return printed_value(factor * one.value, hypotheses=one.hypotheses)


def _deep_inputs(profile: Profile, radii: Radii) -> dict[str, Any]:
    return {
        "Bx": radii.pay("tokens l2 norm", profile["tokens l2 norm"]),
        "rho": radii.pay("tokens half-diameter", profile["tokens half-diameter"]),
        "L_sigma": 1.0,
        "Bc2": radii.pay("||W_c||_2", profile.largest("W_c", "spectral")),
        "Bv2": radii.pay("||W_v||_2", profile.largest("W_v", "spectral")),
        "BQK2": radii.pay("||W_QK||_2", profile.largest("W_QK", "spectral")),
        "Bw": radii.pay("||w||_2", _readout(profile, "l2")),
        "layers": profile.config["layers"],
        "heads": profile.config["heads"],
        "eps": 1.0,
        "n": profile.n,
    }


def _entrywise(profile: Profile) -> dict[str, float]:
    return {
        "Bw1": _readout(profile, "l1"),
        "Bc11": profile.largest("W_c", "W_1,1"),
        "Bv11": profile.largest("W_v", "W_1,1"),
        "BQK11": profile.largest("W_QK", "W_1,1"),
    }


def _deep_l1(profile: Profile, radii: Radii) -> dict[str, Any]:
    """Corollary 4.2.1: every weight with its own entrywise l1 norm."""
    own = {name: radii.pay(name, size) for name, size in _entrywise(profile).items()}
    shape = {"d": profile.config["d"], "k": profile.config["k"]}
    return {**_deep_inputs(profile, radii), **own, **shape, "B": max(own.values())}


def _deep_common(norm: str, readout: Callable[[Profile], float]) -> Callable[[Profile, Radii], dict[str, Any]]:
    """Corollaries F.0.1 and F.0.2: one bound on all weights in one norm."""

    def inputs(profile: Profile, radii: Radii) -> dict[str, Any]:
        size = max(readout(profile), *(profile.largest(name, norm) for name in ("W_c", "W_v", "W_QK")))
        shape = {"d": profile.config["d"], "k": profile.config["k"]}
        return {**_deep_inputs(profile, radii), **shape, "B": radii.pay("B", size)}

    return inputs


def _deep_constants(profile: Profile, radii: Radii) -> dict[str, Any]:
    """Theorem 4.2 with the constants of Maurey's covers, one for all weights."""
    given = _deep_l1(profile, radii)
    d, k = given.pop("d"), given.pop("k")
    constant = given.pop("B") ** 2 * math.log(2 * max(d * k, d * d) + 1)
    kept = {name: value for name, value in given.items() if name not in _entrywise(profile)}
    return {**kept, "C1": constant, "CBx": given["Bx"] ** 2 * constant}


def _deep(inputs: Callable[[Profile, Radii], dict[str, Any]]) -> Binding:
    def bind(profile: Profile) -> Application | str:
        reason = _reason(profile, layers="deep")
        if reason:
            return reason
        found = of_complexity(profile, partial(inputs, profile))
        return replace(found, printed_radius=_readout(profile, "l2"))

    return bind


def theorem_5_1(profile: Profile) -> Application | str:
    """K logits read from one token: Maurer's contraction over the one-layer or the deep bound."""
    if profile.model in MODELS and profile.config["readout"] == "masked":
        return "the masked position of each example is not part of the data format"
    reason = _reason(profile, layers="any", readout="classes")
    if reason:
        return reason
    config = profile.config
    deep = config["projected"]
    if deep and config["block"] != "trauger":
        return "the layers are those of Li et al., with projections in other places"
    if not deep and config["heads"] > 1:
        return "several heads and several logits in one layer: no result of the paper covers both"
    below = find("trauger.cor4.2.1" if deep else "trauger.cor4.1.1")

    def inner(radii: Radii) -> dict[str, Any]:
        return _deep_l1(profile, radii) if deep else _head_inputs(profile, "trauger.cor4.1.1", radii)

    def logits(radii: Radii, n: float = profile.n) -> dict[str, Any]:
        evaluation = below.evaluate({**inner(radii), "n": n})
        complexities = [
            bound.value
            for bound in evaluation.sound.values()
            if bound.applies and (bound.bounds or below.bounds) is Quantity.RADEMACHER_COMPLEXITY
        ]
        return {"K": config["classes"], "rad": min(complexities)}

    # The factor 2 K of the vector contraction is the result's own.
    found = replace(of_complexity(profile, logits, printed=False), at=lambda n: logits(Radii(), n))
    if deep:
        return found  # a covering number is printed there, and no complexity
    # As printed: the bound on one logit at the sizes as measured.
    one = next(iter(below.evaluate(inner(Radii(as_measured=True))).printed.values()))
    return replace(found, printed_bound=_times(find("trauger.thm5.1"), one, K=config["classes"]))


MODELS = ("cls_transformer", "low_rank_cls_transformer")
BINDINGS: dict[str, Binding] = {
    "trauger.thm4.1": theorem_4_1,
    "trauger.cor4.1.1": _one_layer("trauger.cor4.1.1"),
    "trauger.corD.0.1": _one_layer("trauger.corD.0.1"),
    "trauger.corD.0.2": _one_layer("trauger.corD.0.2"),
    "trauger.sec4.2": several_heads,
    "trauger.thm4.2": _deep(_deep_constants),
    "trauger.cor4.2.1": _deep(_deep_l1),
    "trauger.corF.0.1": _deep(_deep_common("WT_1,inf", lambda profile: profile.largest("w", "WT_1,inf"))),
    "trauger.corF.0.2": _deep(_deep_common("W_2,1", lambda profile: _readout(profile, "l2"))),
    "trauger.thm5.1": theorem_5_1,
}
PAYING = tuple(BINDINGS)
