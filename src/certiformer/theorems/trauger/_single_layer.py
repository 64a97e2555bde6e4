"""What Theorem 4.1 and its corollaries share: the printed closed form and the sound Rademacher bound."""

from __future__ import annotations

import math

from certiformer.calculus import chaining
from certiformer.calculus.covers import Cover, quadratic_cover
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


def printed_closed_form(scale: float, alpha: float, token: float, n: int, d: int, *, minus: bool) -> Bound:
    """B (alpha/sqrt n (1 + ln(sqrt n [- sqrt ln 2d] / (alpha/token))) + token sqrt(ln 2d / n)), all O() constants 1.

    `alpha` is 2 token^2 sqrt(C); the form falls and turns negative once alpha/token > sqrt n - sqrt(ln 2d).
    """
    root = math.sqrt(n)
    available = root - math.sqrt(math.log(2 * d))
    inside = (available if minus else root) / (alpha / token)
    in_range = verified("2 Bx sqrt(C) <= sqrt(n) - sqrt(ln 2d)", alpha / token <= available, alpha / token)
    if inside <= 0:
        return printed_value(math.inf, checks=(in_range,), note="the logarithm's argument is not positive")
    value = scale * (alpha / root * (1.0 + math.log(inside)) + token * math.sqrt(math.log(2 * d) / n))
    return printed_value(value, checks=(in_range,))


def sound_variants(
    scale: float,
    constant: float,
    Bx: float,
    n: int,
    d: int,
    rho: float | None,
    D: float | None,
    odd: bool,
    *,
    external: bool = False,
) -> Variants:
    """Rad <= scale * min(D, 2 E), E the Dudley bound of ln N = ln 2d + rho^4 C/eps^2 at radius D; 2 -> 1 for odd sigma."""
    half_diameter = Bx if rho is None else min(rho, Bx)
    radius = Bx if D is None else min(D, Bx)
    additive = math.log(2 * d)
    entropy = half_diameter**4 * constant
    if entropy == 0.0:  # all tokens equal: attention does not depend on W_QK
        cover = Cover("no attention", -math.inf, lambda x: 0.0)
    else:
        cover = quadratic_cover(entropy, proper=not external)
    chain = (chaining.external_chain if external else chaining.proper_chain)(cover, radius, n, additive)
    name = "chain_external" if external else "chain"
    oddness = assumed("the activation is odd", odd)

    def variant(complexity: float, factor: float, *checks: Check) -> Bound:
        return upper_bound(scale * min(radius, factor * complexity), clip=scale * radius, checks=checks)

    return {
        "closed": variant(chaining.dudley_closed(entropy, radius, n, additive), 2.0),
        "closed_half": variant(chaining.dudley_closed_half(entropy, radius, n, additive), 2.0),
        name: variant(chain, 2.0),
        f"{name}_odd": variant(chain, 1.0, oddness),
    }
