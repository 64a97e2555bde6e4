"""What Theorem 4.1 and its corollaries share: the printed closed form and the sound Rademacher bound."""

from __future__ import annotations

import math

from certiformer.calculus import chaining
from certiformer.calculus.covers import Cover
from certiformer.calculus.softmax import weight_sensitivity
from certiformer.core import (
    Bound,
    Check,
    Input,
    Variants,
    assumed,
    count,
    flag,
    printed_value,
    real,
    upper_bound,
    verified,
)

WEIGHTS: tuple[Input, ...] = (
    real("Bw", "bound on ||w||_1, the readout", symbol="B_w", example=1),
    real("Bc", "bound on ||W_c||_{1,inf}: every column of W_c in an l1 ball", symbol="B_{W_c}", example=2),
    real("L_sigma", "Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ", example=1),
    real("Bv", "bound on ||W_v||_{1,inf}: every column of W_v in an l1 ball", symbol="B_{W_v}", example=1.5),
    real("Bx", "bound on the l2 norm of every token", symbol="B_x", example=1),
)
SAMPLE: tuple[Input, ...] = (
    count("n", "sample size", aliases=("m", "N"), example=1_000_000),
    count("d", "token dimension", example=64),
    real("rho", "half the diameter of the token set", low_open=False, optional=True, derived="Bx"),
    real("D", "bound on the sup norm of every token", optional=True, derived="Bx"),
    flag("odd", "the activation is odd (tanh, identity): the factor 2 drops"),
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
        return printed_value(scale * last, checks=(in_range,), note="alpha = 0: the first term is read as its limit 0")
    inside = (available if minus else root) / (alpha / token)
    if inside <= 0:
        return printed_value(math.inf, checks=(in_range,), note="the logarithm's argument is not positive")
    return printed_value(scale * (alpha / root * (1.0 + math.log(inside)) + last), checks=(in_range,))


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
    odd: bool,
    *checks: Check,
    name: str = "chain",
) -> dict[str, Bound]:
    """Rad <= scale min(D, 2 E), E the best chain of covers of {x -> W_QK^T x}; 2 becomes 1 for odd sigma.

    Covers at eps/rho^2 of the score maps, times 2d signed coordinates, cover the functions s e_j^T a(.; W) at eps.
    """
    seen = cover.scaled(weight_sensitivity(half_diameter))
    best = (chaining.proper_chain if cover.proper else chaining.external_chain)(seen, radius, n, math.log(2 * d))
    oddness = assumed("the activation is odd", odd)
    return {
        name: _bound(scale, radius, 2.0, best, *checks),
        f"{name}_odd": _bound(scale, radius, 1.0, best, *checks, oddness),
    }


def _bound(scale: float, radius: float, factor: float, complexity: float, *checks: Check) -> Bound:
    return upper_bound(scale * min(radius, factor * complexity), clip=scale * radius, checks=checks)


def all_variants(*groups: Variants) -> Variants:
    return {name: bound for group in groups for name, bound in group.items()}
