r"""Unbounded inputs: what the tail of the token norm costs.

b(X) is the largest token norm (or anything above it), M a threshold, T_M scales X down to b = M. A network with
|f(X)| <= K b(X) satisfies |f(X) - f(T_M X)| <= K (b + M) 1{b > M}, so three functionals of the tail enter:

    m0 = P(b > M),   m1 = E (b + M) 1{b > M},   m2 = E (b + M)^2 1{b > M}.

S7 `lipschitz`  Lipschitz loss, inputs truncated in training and deployment, the Bayes predictor in the class.
S8 `squared`    squared loss, the same.
S7clip          outputs confined to an interval of length rho by construction: no truncation, any tail; it is S1 or S2
                of `excess_risk` with `widen = rho * m0`.

Proofs: docs/proofs/li.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from certiformer.theory.calculus import excess_risk
from certiformer.theory.calculus.covers import Cover
from certiformer.theory.calculus.excess_risk import RiskBound, bernstein_at, bernstein_tilt
from certiformer.theory.core.lazy import np, scipy


class Tail(Protocol):
    """An upper bound t -> P(b > t), and its integrals from t on."""

    def probability(self, t: float) -> float:
        """The bound on P(b > t), at most one."""
        ...

    @property
    def crossing(self) -> float:
        """Below this the formula exceeds one."""
        ...

    def area(self, t: float) -> float:
        """int_t^inf P(b > s) ds for t at least the crossing."""
        ...

    def moment(self, t: float) -> float:
        """int_t^inf 2 s P(b > s) ds for t at least the crossing."""
        ...


@dataclass(frozen=True, slots=True)
class SubGaussian:
    """P(b > t) <= a exp(-t^2/2v); v is in units of the inputs squared. `ln_a` is given where a is beyond floats."""

    a: float
    v: float
    ln_a: float | None = None

    def probability(self, t: float) -> float:
        """min(1, a exp(-t^2/2v))."""
        return min(1.0, self._formula(t))

    def _formula(self, t: float) -> float:
        if self.ln_a is None:
            return self.a * math.exp(-(t**2) / (2.0 * self.v))
        return math.exp(min(self.ln_a - t**2 / (2.0 * self.v), 700.0))

    @property
    def _log(self) -> float:
        return math.log(self.a) if self.ln_a is None else self.ln_a

    @property
    def crossing(self) -> float:
        """sqrt(2 v ln a): below it the formula exceeds one."""
        return math.sqrt(2.0 * self.v * max(0.0, self._log))

    def area(self, t: float) -> float:
        """a sqrt(pi v/2) erfc(t/sqrt(2v)), as erfcx times the formula: neither a nor erfc alone may be a float."""
        scaled = float(scipy.special.erfcx(t / math.sqrt(2.0 * self.v)))
        return math.sqrt(math.pi * self.v / 2.0) * scaled * self._formula(t)

    def moment(self, t: float) -> float:
        """2 v a exp(-t^2/2v)."""
        return 2.0 * self.v * self._formula(t)

    def threshold(self, n: float) -> float:
        """M = sqrt(2 v ln(a n)): then P(b > M) <= 1/n."""
        return math.sqrt(2.0 * self.v * max(0.0, self._log + math.log(n)))


@dataclass(frozen=True, slots=True)
class Power:
    """P(b > t) <= C t^-beta."""

    C: float
    beta: float

    def probability(self, t: float) -> float:
        """min(1, C t^-beta)."""
        return float(min(1.0, self.C * t**-self.beta))

    @property
    def crossing(self) -> float:
        """C^(1/beta): below it the formula exceeds one."""
        return float(self.C ** (1.0 / self.beta))

    def area(self, t: float) -> float:
        """C t^(1-beta)/(beta-1); infinite for beta at most one."""
        return self.C * t ** (1.0 - self.beta) / (self.beta - 1.0) if self.beta > 1.0 else math.inf

    def moment(self, t: float) -> float:
        """2 C t^(2-beta)/(beta-2); infinite for beta at most two."""
        return 2.0 * self.C * t ** (2.0 - self.beta) / (self.beta - 2.0) if self.beta > 2.0 else math.inf


def gaussian_tokens(tokens: int, dimension: int, spectral: float) -> SubGaussian:
    """T centred Gaussian tokens in R^d, covariance of spectral norm s: a = T 2^{d/2}, v = 2 s."""
    if dimension <= 1024:  # mutants: two-ways-to-one-number
        return SubGaussian(tokens * 2.0 ** (dimension / 2.0), 2.0 * spectral)
    return SubGaussian(math.inf, 2.0 * spectral, math.log(tokens) + dimension / 2.0 * math.log(2.0))


def first_moment(tail: Tail, M: float) -> float:
    r"""m1 = E (b+M) 1{b>M} <= 2 M P(b>M) + int_M^inf P(b>t) dt, the tail never above one."""
    above = max(M, tail.crossing)
    return 2.0 * M * tail.probability(M) + (above - M) + tail.area(above)


def second_moment(tail: Tail, M: float) -> float:
    r"""m2 = E (b+M)^2 1{b>M} <= 4 M^2 P(b>M) + int_M^inf 2 (t+M) P(b>t) dt."""
    above = max(M, tail.crossing)
    ones = (above**2 - M**2) + 2.0 * M * (above - M)
    return 4.0 * M**2 * tail.probability(M) + ones + tail.moment(above) + 2.0 * M * tail.area(above)


def lipschitz(
    cover: Cover, radius: float, n: float, *, V: float, M_g: float, kappa: float, outside: float, tau_1: float
) -> RiskBound:
    r"""S7. E[R(fhat o T_M) - R(f0)] <= ln N/(n lambda) + (1+A) kappa delta + (A-1) tau* + kappa tau_1.

    V is the Bernstein constant on {b <= M}, |g| <= M_g for truncated inputs, `outside` >= P(b > M),
    tau* = (M_g + M_g^2/V) P(b > M), tau_1 >= E|f0(X) - f0(T_M X)|; (lambda, A) as in S1.
    """
    bound = bernstein_at(bernstein_tilt(V, M_g), cover, radius, n, kappa)
    star = (M_g + M_g**2 / V) * outside
    terms = {
        "estimation": bound.terms["estimation"],
        "discretisation": bound.terms["discretisation"],
        "outside": (bound.tilt.oracle - 1.0) * star,
        "truncation": kappa * tau_1,
    }
    return RiskBound(terms, radius, bound.tilt)


def lipschitz_best(
    cover: Cover, radius: float, n: float, *, V: float, M_g: float, kappa: float, outside: float, tau_1: float
) -> RiskBound:
    """S7 minimised over V' >= V: the Bernstein condition with V implies it with every larger constant.

    A fixed V would leave M_g^2 P(b > M)/V, which ruins the rate when M grows; V' of the order of M_g repairs it.
    """

    def at(ln_factor: float) -> RiskBound:
        larger = V * math.exp(ln_factor)
        return lipschitz(cover, radius, n, V=larger, M_g=M_g, kappa=kappa, outside=outside, tau_1=tau_1)

    # Beyond V' = 100 M_g nothing is gained: A is already near two and tau* near its floor.
    grid = np.linspace(0.0, max(1.0, math.log(100.0 * M_g / V)), 61)  # mutants: search-effort
    start = float(grid[int(np.argmin([at(float(x)).value for x in grid]))])
    step = float(grid[1])  # mutants: search-effort
    found = scipy.optimize.minimize_scalar(
        lambda x: at(float(x)).value,
        bounds=(max(0.0, start - step), start + step),
        method="bounded",
        options={"xatol": 1e-9},  # mutants: search-effort
    )
    return min(at(start), at(float(found.x)), key=lambda bound: bound.value)


def squared(
    cover: Cover,
    radius: float,
    n: float,
    *,
    reach: float,
    sigma: float,
    tau_1: float,
    tau_2: float,
    a: float | None = None,
) -> float:
    r"""S8. E (fhat(T_M X) - f0(X))^2 <= (sqrt Q + sqrt tau_2)^2, with reach r = 2KM >= |f - f0| on truncated inputs and

    .. math:: Q = \frac{\ln N}{n\lambda} + 2A r \tau_1 + 2\delta(r + A(r+\sigma)),

    that is S2 with b = r^2 and approximation error 2 r tau_1. (Any theta: (1+theta) Q + (1 + 1/theta) tau_2.)
    """
    inner = excess_risk.squared(cover, radius, n, b_h=reach**2, sigma=sigma, a=a, approximation=2.0 * reach * tau_1)
    return (math.sqrt(inner.value) + math.sqrt(tau_2)) ** 2


def squared_best(cover: Cover, n: float, *, reach: float, sigma: float, tau_1: float, tau_2: float) -> float:
    """S8 with radius and tilt optimised; inf where the tail has too few moments."""
    if math.isinf(tau_1) or math.isinf(tau_2):
        return math.inf
    inner = excess_risk.squared_best(cover, n, b_h=reach**2, sigma=sigma, approximation=2.0 * reach * tau_1)
    return (math.sqrt(inner.value) + math.sqrt(tau_2)) ** 2
