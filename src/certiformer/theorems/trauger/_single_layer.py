"""What Theorem 4.1 and its corollaries share: the printed closed form and the sound Rademacher bound."""

from __future__ import annotations

import math

from certiformer.calculus import chaining
from certiformer.calculus.covers import Cover
from certiformer.calculus.softmax import weight_sensitivity
from certiformer.core import (
    Bound,
    Hypothesis,
    Variants,
    printed_value,
    stated,
    upper_bound,
    verified,
)

ASSUMPTIONS = (
    "the radii are fixed before the sample is seen (or paid for: `strata`)",
    "sigma is L_sigma-Lipschitz with sigma(0) = 0",
    "one layer, scores X W_QK^T x_CLS, no projection; tokens fixed, not trained",
)
NORM_DEFECT = (
    "Inherited from Theorem 4.1: the norms of W_c and W_v themselves are needed, not of their transposes; the factor 2 "
    "and Dudley's constant are inside O(); beyond its range the formula falls and turns negative."
)


def printed_closed_form(scale: float, alpha: float, token: float, n: int, d: int, *, minus: bool) -> Bound:
    """B (alpha/sqrt n (1 + ln(sqrt n [- sqrt ln 2d] / (alpha/token))) + token sqrt(ln 2d / n)), all O() constants 1.

    `alpha` is 2 token^2 sqrt(C); the form falls and turns negative once alpha/token > sqrt n - sqrt(ln 2d).
    """
    root = math.sqrt(n)
    available = root - math.sqrt(math.log(2 * d))
    in_range = verified("2 Bx sqrt(C) <= sqrt(n) - sqrt(ln 2d)", alpha / token <= available, alpha / token)
    last = token * math.sqrt(math.log(2 * d) / n)
    if alpha == 0.0:
        return printed_value(
            scale * last, hypotheses=(in_range,), note="alpha = 0: the first term is read as its limit 0"
        )
    inside = (available if minus else root) / (alpha / token)
    if inside <= 0:
        return printed_value(math.inf, hypotheses=(in_range,), note="the logarithm's argument is not positive")
    return printed_value(scale * (alpha / root * (1.0 + math.log(inside)) + last), hypotheses=(in_range,))


def token_sizes(Bx: float, rho: float | None, D: float | None) -> tuple[float, float]:
    """Half-diameter and sup norm of the tokens, neither of which can exceed their l2 norm."""
    return (Bx if rho is None else min(rho, Bx)), (Bx if D is None else min(D, Bx))


def closed_variants(
    scale: float, constant: float, n: int, d: int, half_diameter: float, radius: float
) -> dict[str, Bound]:
    """Rad <= scale min(D, 2 E), E Dudley's closed form for ln N = ln 2d + rho^4 C/eps^2 at radius D; any covers."""
    additive = math.log(2 * d)
    sensitivity = weight_sensitivity(half_diameter)
    entropy = sensitivity * sensitivity * constant
    return {
        "closed": _bound(scale, radius, 2.0, chaining.dudley_closed(entropy, radius, n, additive)),
        "closed_half": _bound(scale, radius, 2.0, chaining.dudley_closed_half(entropy, radius, n, additive)),
    }


def chain_variants(
    scale: float,
    cover: Cover,
    n: int,
    d: int,
    half_diameter: float,
    radius: float,
    odd: bool | None,
    *hypotheses: Hypothesis,
    name: str = "chain",
) -> dict[str, Bound]:
    """Rad <= scale min(D, 2 E), E the best chain of covers of {x -> W_QK^T x}; 2 becomes 1 for odd sigma.

    Covers at eps/rho^2 of the score maps, times 2d signed coordinates, cover the functions s e_j^T a(.; W) at eps.
    """
    seen = cover.scaled(weight_sensitivity(half_diameter))
    best = (chaining.proper_chain if cover.proper else chaining.external_chain)(seen, radius, n, math.log(2 * d))
    oddness = stated("the activation is odd", odd, "odd=1")
    return {
        name: _bound(scale, radius, 2.0, best, *hypotheses),
        f"{name}_odd": _bound(scale, radius, 1.0, best, *hypotheses, oddness),
    }


def _bound(scale: float, radius: float, factor: float, complexity: float, *hypotheses: Hypothesis) -> Bound:
    return upper_bound(scale * min(radius, factor * complexity), clip=scale * radius, hypotheses=hypotheses)


def all_variants(*groups: Variants) -> Variants:
    return {name: bound for group in groups for name, bound in group.items()}
