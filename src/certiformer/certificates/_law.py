"""Laws with a known risk: what a certificate is simulated on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from certiformer.theory.core.lazy import np, npt

if TYPE_CHECKING:
    from certiformer.certificates._evidence import Evidence

Random: TypeAlias = "np.random.Generator"
RISK, EXAMPLES, MANY = 0.1, 200, 64
"""The risk of every predictor of a simulated class, the sample size, and how many predictors there are."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One draw: what a user would hand to `certify` (records, or arrays of predictions), and the risk it has to cover.

    `options` are what is declared, for example `models`. Where something is trained, `given` is a
    function of delta that calls `certify` itself and returns the certificate and the risk of what was trained.
    """

    given: Evidence | Mapping[str, Any] | Callable[[float], tuple[float | None, float]]
    risk: float
    options: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Law:
    """`draw` one trial. A law that is not `valid` breaks a rule, and has to fail more often than delta."""

    draw: Callable[[Random], Trial]
    valid: bool = True


def leaning_posterior(random: Random) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Empirical errors of a finite class, all of risk RISK, and a posterior that leans to the smallest."""
    errors = random.binomial(EXAMPLES, RISK, size=MANY) / EXAMPLES
    weights = np.exp(-0.5 * EXAMPLES * (errors - errors.min()))
    return errors, weights / weights.sum()
