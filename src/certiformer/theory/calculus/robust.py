r"""Robust losses: Catoni's influence functions, Huber's loss, log-truncated ERM.

The losses are written once over an array namespace, taken from the argument: numpy arrays stay numpy, JAX arrays and
tracers stay JAX (and can be differentiated), with no import of JAX here.

Influence functions psi satisfy  -ln(1 - x + |x|^alpha/alpha) <= psi(x) <= ln(1 + x + |x|^alpha/alpha), alpha = 2 unless
said otherwise, which is all that the guarantee S9 uses. `log_truncated` is psi(s l)/s, applied to a loss.

Proofs: docs/proofs/li.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import np, scipy

Array = Any  # numpy or JAX

# Lipschitz constants of r -> psi(s r^2)/s are c/sqrt(s); rounded up at the seventh digit.
_DIGITS = 1e7  # mutants: rounding-margins


def _namespace(x: Array) -> Any:
    return x.__array_namespace__() if hasattr(x, "__array_namespace__") else np


# --- influence functions -----------------------------------------------------------------------------------------


def catoni_wide(x: Array) -> Array:
    """sgn(x) ln(1 + |x| + x^2/2); slope at most 1, logarithmic growth."""
    return catoni_generalized(x, 2.0)


def catoni_generalized(x: Array, alpha: float) -> Array:
    """sgn(x) ln(1 + |x| + |x|^alpha/alpha), 1 < alpha <= 2: needs a moment of order alpha only. See `slope`."""
    if not 1.0 < alpha <= 2.0:
        raise InputError("alpha", alpha, "a number in (1, 2]")
    xp = _namespace(x)
    # The two halves are written apart, so that derivatives at zero come out right.
    positive, negative = xp.maximum(x, 0.0), xp.maximum(-x, 0.0)
    return xp.log1p(positive + positive**alpha / alpha) - xp.log1p(negative + negative**alpha / alpha)


def slope(alpha: float) -> float:
    """sup psi_alpha' >= 1, rounded up at the seventh digit; 1 for alpha = 2."""
    if alpha == 2.0:
        return 1.0
    return _supremum(lambda x: (1.0 + x ** (alpha - 1.0)) / (1.0 + x + x**alpha / alpha))


def _supremum(function: Callable[[float], float]) -> float:
    """The largest value over (0, inf), certainly not below it: grid, polish, then up to seven digits."""
    grid = np.linspace(-60.0, 8.0, 1361)  # mutants: search-effort
    start = float(grid[int(np.argmax([function(math.exp(x)) for x in grid]))])
    found = scipy.optimize.minimize_scalar(
        # mutants: rounding-margins, search-effort
        lambda x: -function(math.exp(x)),
        bounds=(start - 0.1, start + 0.1),  # mutants: search-effort
        method="bounded",
        options={"xatol": 1e-10},  # mutants: search-effort
    )
    best = max(function(math.exp(start)), -float(found.fun))
    return math.ceil(best * _DIGITS + 1e-4) / _DIGITS  # mutants: search-effort


# --- losses ------------------------------------------------------------------------------------------------------


def log_truncated(loss: Array, scale: float) -> Array:
    """psi(s l)/s with the wide psi: dampens large losses; kappa-Lipschitz if l is."""
    return catoni_wide(scale * loss) / scale


def huber(residual: Array, threshold: float) -> Array:
    """r^2/2 for |r| <= c, c|r| - c^2/2 beyond; c-Lipschitz."""
    xp = _namespace(residual)
    inner = xp.clip(xp.abs(residual), 0.0, threshold)
    return inner * (xp.abs(residual) - inner / 2.0)


# --- S9: log-truncated ERM ---------------------------------------------------------------------------------------


def truncated_erm_scale(n: float, log_size: float, moment: float, eta: float, alpha: float = 2.0) -> float:
    r"""s = (alpha L/((alpha-1) n V))^{1/alpha}, L = [ln(2N/eta) + ln(2/eta)]/2, V >= sup_f E l_f^alpha."""
    level = math.log(2.0 / eta) + log_size / 2.0
    return float((alpha * level / ((alpha - 1.0) * n * moment)) ** (1.0 / alpha))


def truncated_erm(
    n: float, log_size: float, moment: float, eta: float, *, alpha: float = 2.0, scale: float | None = None
) -> float:
    r"""S9. R(fhat_psi) - R(f*) <= 2 s^{alpha-1} V/alpha + [ln(2N/eta) + ln(2/eta)]/(n s), with probability 1 - eta.

    N functions; needs a moment of order alpha of the loss and nothing else. At the default scale and alpha = 2 it is
    2 sqrt(2 V L/n).
    """
    s = truncated_erm_scale(n, log_size, moment, eta, alpha) if scale is None else scale
    level = math.log(2.0 / eta) + log_size / 2.0
    return float(2.0 * s ** (alpha - 1.0) * moment / alpha + 2.0 * level / (n * s))


def truncated_erm_discretisation(
    kappa: float, slope_bound: float, radius: float, widen: float = 0.0, widen_observed: float = 0.0
) -> float:
    """What S9 pays for a cover, kappa-Lipschitz loss: kappa (delta + w) + B_psi kappa (delta + w_observed)."""
    return kappa * (radius + widen) + slope_bound * kappa * (radius + widen_observed)
