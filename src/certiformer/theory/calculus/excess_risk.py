r"""From covering numbers to the excess risk of empirical risk minimisation, every constant explicit.

A cover of the class is fixed before the data, holds on the whole domain in sup norm at `radius`, and is proper: the
proofs use the range of the loss, or of f - f0, *at the cover's members*. Whoever passes an external or a sample cover
is refused. Expectations are over the sample; the forms that end in `_hp` hold with probability 1 - eta for every f.

S1 `bernstein`   E g^2 <= V E g:        A inf + ln N/(n lambda) + (1+A) kappa delta,  A < 2, at the best M' >= M
S2 `squared`     sub-Gaussian noise:    A inf + ln N/(n lambda) + 2 delta (sqrt b + A (sqrt b + sigma))
S3 `optimistic`  loss in [0, M]:        A R_n + M ln N/(n (1 - e^-t)) + (1+A) kappa delta,  A = t/(1 - e^-t)
S4 `slow`        loss of range r:       inf + r sqrt(ln N/2n) + 2 kappa delta;  `slow_chain`: 2 kappa (a proper chain)
4.4-A/B/C        offset Rademacher complexity in place of a cover of the domain.

Proofs: docs/proofs/li.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from certiformer.theory.calculus import chaining
from certiformer.theory.calculus.covers import Cover
from certiformer.theory.calculus.tails import kl_inverse
from certiformer.theory.core.elementwise import each, several
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np, scipy

# mutants: search-effort
_NATS = 46.0  # the radius is sought over twenty decades
_RADII = 231  # mutants: search-effort
_FINE = 25  # mutants: search-effort
_FINEST = 1e-6  # mutants: search-effort
_TILTS = 69  # mutants: search-effort
# mutants: search-effort
_LOGITS = (-28.0, 6.0)  # of a/(1/(2 sigma^2))
# mutants: search-effort
_WIDEST = 600.0  # ln M'/M
# mutants: search-effort
_WIDER = (1.0, 1.5, 2.5, 5.0, 12.0, 40.0, 200.0, 1e4)  # M'/M, while the radius is sought


@dataclass(frozen=True, slots=True)
class Tilt:
    """The exponent `a` of the Laplace transform, the rate `lam` it earns, and the oracle factor A = a/lam."""

    a: float
    lam: float

    @property
    def oracle(self) -> float:
        """A = a/lambda, the factor in front of the best risk of the class."""
        return self.a / self.lam


@dataclass(frozen=True, slots=True)
class RiskBound:
    """A bound on a risk: terms that add up to it, and the cover radius and tilt it was obtained with."""

    terms: Mapping[str, float]
    radius: float
    tilt: Tilt

    @property
    def value(self) -> float:
        """The sum of the terms."""
        terms = self.terms.values()
        return math.fsum(terms) if all(isinstance(term, float) for term in terms) else sum(terms)


def given_cover(log_size: float) -> Cover:
    """A cover of known size at whatever radius it is asked for; proper and of the domain, as the caller states."""
    return Cover("given", math.inf, lambda x: log_size)


def required_log_size(cover: Cover, radius: float) -> float:
    """ln N(radius) of a cover that is proper and holds on the whole domain."""
    _require(cover)
    if several(radius):
        return cover.log_sizes(np.asarray(radius))  # type: ignore[return-value]
    # At radius zero only a finite class has a cover, itself; `given_cover` knows its size, the others answer inf.
    return cover.log_size(radius) if radius > 0.0 else cover.entropy(math.inf)


def _require(cover: Cover) -> None:
    """Refuses the wrong kind of cover before any work is done."""
    if not cover.proper:
        raise InputError("cover", cover.name, "a proper cover (members in the class)", "See Cover.made_proper")
    if not cover.domain:
        raise InputError("cover", cover.name, "a cover of the whole domain", "Sample covers: see offset_sample_cover")


# --- S1: a Bernstein condition -----------------------------------------------------------------------------------


def bernstein_tilt(V: float, M: float) -> Tilt:
    r"""The best tilt for -g <= M and E g^2 <= V E g, with u = M/V.

    .. math:: a = \ln(1+u)/M, \qquad \lambda = \bigl[(1+1/u)\ln(1+u) - 1\bigr]/M, \qquad 1/\lambda \le 2V + 2M/3
    """
    if several(M):
        tilts = [bernstein_tilt(V, one) for one in M.ravel().tolist()]  # type: ignore[attr-defined]
        shape = np.shape(M)
        return Tilt(*(np.array([getattr(one, name) for one in tilts]).reshape(shape) for name in ("a", "lam")))  # type: ignore[arg-type]
    u = M / V
    if u < 1e-2:  # mutants: same-for-every-value
        # The bracket cancels for small u; its series is u (1/2 - u/6 + u^2/12 - ...), 1/((k+1)(k+2)) in general.
        lam = math.fsum((-u) ** k / ((k + 1) * (k + 2)) for k in range(9)) / V  # mutants: same-for-every-value
    else:
        lam = ((1.0 + 1.0 / u) * math.log1p(u) - 1.0) / M
    return Tilt(math.log1p(u) / M, lam)


def best_range(V: float, M: float, numerator: Any, weight: Any) -> Any:
    r"""The M' >= M with the least numerator/lambda + A weight: -g <= M implies -g <= M'.

    In u = M'/V the sum falls up to one point and rises from there: -A'(u) over (1/lambda)'(u) falls from V/2 to zero.
    So the answer is M itself, or the minimum beyond it; the least sum does not fall when M grows.
    """

    def best(numerator: float, weight: float) -> float:
        def value(ln_factor: float) -> float:
            tilt = bernstein_tilt(V, M * math.exp(ln_factor))
            return numerator / tilt.lam + tilt.oracle * weight

        # mutants: search-effort
        if not (math.isfinite(numerator) and math.isfinite(weight)) or 2.0 * V * numerator >= weight:
            return M  # it only rises
        high = 1.0  # mutants: search-effort
        # mutants: search-effort
        while value(high) < value(high - 1.0) and high < _WIDEST:
            high += 1.0  # mutants: search-effort
        # mutants: search-effort
        found = scipy.optimize.minimize_scalar(value, bounds=(0.0, high), method="bounded", options={"xatol": 1e-9})
        return M * math.exp(min(0.0, float(found.x), key=value))  # mutants: search-effort

    return each(best, numerator, weight)


def bernstein(
    cover: Cover,
    radius: float,
    n: float,
    *,
    V: float,
    M: float,
    kappa: float,
    approximation: float = 0.0,
    optimisation: float = 0.0,
    widen: float = 0.0,
) -> RiskBound:
    r"""S1. E[excess] <= A inf + ln N/(n lambda) + (1+A) kappa (delta + widen) + A eps_opt, at the best M' >= M.

    `widen` is for covers of a part of the domain only: |f - f_j| <= delta there, and E|f - f_j| <= delta + widen.
    """
    log_size = required_log_size(cover, radius)
    weight = approximation + kappa * (radius + widen) + optimisation
    tilt = bernstein_tilt(V, best_range(V, M, log_size / n, weight))
    return bernstein_at(tilt, cover, radius, n, kappa, approximation, optimisation, widen)


def bernstein_at(
    tilt: Tilt,
    cover: Cover,
    radius: float,
    n: float,
    kappa: float,
    approximation: float = 0.0,
    optimisation: float = 0.0,
    widen: float = 0.0,
) -> RiskBound:
    """S1 at a given tilt, that of some M' with -g <= M'."""
    terms = {
        "approximation": tilt.oracle * approximation,
        "estimation": required_log_size(cover, radius) / (n * tilt.lam),
        "discretisation": (1.0 + tilt.oracle) * kappa * radius,
        "outside": (1.0 + tilt.oracle) * kappa * widen,
        "optimisation": tilt.oracle * optimisation,
    }
    return RiskBound(terms, radius, tilt)


def bernstein_hp(
    cover: Cover,
    radius: float,
    n: float,
    *,
    V: float,
    M: float,
    kappa: float,
    ln_inverse_eta: float,
    empirical: float = 0.0,
    widen: float = 0.0,
    widen_observed: float = 0.0,
) -> RiskBound:
    r"""S1, for all f at once: E(f) <= A P_n g_f + (ln N + ln 1/eta)/(n lambda) + (1+A) kappa delta, w.p. 1 - eta.

    `empirical` is P_n g_f, at most zero for the minimiser when the reference belongs to the class. Off the cover's part
    of the domain the error is `widen` in the population and `widen_observed` on the sample; the latter counts A times.
    """
    tilt = bernstein_tilt(V, M)
    terms = {
        "empirical": tilt.oracle * empirical,
        "estimation": required_log_size(cover, radius) / (n * tilt.lam),
        "confidence": ln_inverse_eta / (n * tilt.lam),
        "discretisation": (1.0 + tilt.oracle) * kappa * radius,
        "outside": kappa * (widen + tilt.oracle * widen_observed),
    }
    return RiskBound(terms, radius, tilt)


def bernstein_best(
    cover: Cover, n: float, *, V: float, M: float, kappa: float, approximation: float = 0.0, widen: float = 0.0
) -> RiskBound:
    """S1 at the best radius: a deterministic choice, made without the data."""
    _require(cover)
    cover = cover.roughly

    def best_radius(ranges: Sequence[Any]) -> float:
        tilts = [bernstein_tilt(V, one) for one in ranges]

        def values(n: Array, radii: Array, sizes: Array) -> Array:
            weights = approximation + kappa * (radii + widen)
            totals = (sizes / (n * tilt.lam) + tilt.oracle * weights for tilt in tilts)
            return functools.reduce(np.minimum, totals) + kappa * radii

        return _best_radius(cover, M / kappa, n, values)

    radius = best_radius([M * ratio for ratio in _WIDER])
    # mutants: search-effort
    for spread in (2.5, 1.1):  # ranges ever closer to the best; most often that is M itself
        chosen = best_range(V, M, required_log_size(cover, radius) / n, approximation + kappa * (radius + widen))
        if np.all(chosen == M):
            break
        near = np.asarray(chosen)[..., None] if several(chosen) else chosen
        # mutants: search-effort
        radius = best_radius([np.maximum(M, near * spread ** (step / 6.0)) for step in range(-6, 7)])
    return bernstein(cover, radius, n, V=V, M=M, kappa=kappa, approximation=approximation, widen=widen)


# --- S2: squared loss, sub-Gaussian noise ------------------------------------------------------------------------


def squared_tilt(b_h: float, sigma: float, a: float) -> Tilt:
    r"""c = a (1 - 2 a sigma^2) > 0 and lambda = (1 - e^{-c b})/b, for |f - f0|^2 <= b."""
    c = a * (1.0 - 2.0 * a * sigma**2)
    if not np.all(c > 0.0):
        raise InputError("a", a, "a number in (0, 1/(2 sigma^2))", f"sigma = {sigma:g}")
    return Tilt(a, -each(math.expm1, -c * b_h) / b_h)


def squared(
    cover: Cover,
    radius: float,
    n: float,
    *,
    b_h: float,
    sigma: float,
    a: float | None = None,
    approximation: float = 0.0,
    optimisation: float = 0.0,
    widen: float = 0.0,
) -> RiskBound:
    r"""S2. E||fhat - f0||^2 <= A inf + ln N/(n lambda) + 2 (delta + widen)(sqrt b + A (sqrt b + sigma)) + A eps_opt.

    The default a = 1/(4 sigma^2) gives 1/lambda <= b + 8 sigma^2 and A <= 2 + b/(4 sigma^2).
    """
    tilt = squared_tilt(b_h, sigma, 0.25 / sigma**2 if a is None else a)
    root = math.sqrt(b_h)
    slope = 2.0 * (root + tilt.oracle * (root + sigma))
    terms = {
        "approximation": tilt.oracle * approximation,
        "estimation": required_log_size(cover, radius) / (n * tilt.lam),
        "discretisation": slope * radius,
        "outside": slope * widen,
        "optimisation": tilt.oracle * optimisation,
    }
    return RiskBound(terms, radius, tilt)


def squared_best(
    cover: Cover, n: float, *, b_h: float, sigma: float, approximation: float = 0.0, widen: float = 0.0
) -> RiskBound:
    """S2 with radius and tilt optimised: deterministic choices, made without the data."""
    _require(cover)
    cover = cover.roughly
    root = math.sqrt(b_h)

    def values(n: Array, radii: Array, sizes: Array) -> Array:
        weights = approximation + 2.0 * (radii + widen) * (root + sigma)  # mutants: search-effort
        tilts = best_squared_tilt(b_h, sigma, sizes / n, weights, within=1e-3)  # mutants: search-effort
        lam = -np.expm1(-tilts * (1.0 - 2.0 * tilts * sigma**2) * b_h) / b_h  # mutants: search-effort
        return np.asarray((sizes / n + tilts * weights) / lam + 2.0 * (radii + widen) * root)  # mutants: search-effort

    radius = _best_radius(cover, root, n, values)
    weight = approximation + 2.0 * (radius + widen) * (root + sigma)  # mutants: search-effort
    a = best_squared_tilt(b_h, sigma, required_log_size(cover, radius) / n, weight)
    return squared(cover, radius, n, b_h=b_h, sigma=sigma, a=a, approximation=approximation, widen=widen)


# mutants: search-effort
def best_squared_tilt(b_h: float, sigma: float, numerator: Any, weight: Any, *, within: float = 1e-6) -> Any:
    """The a in (0, 1/(2 sigma^2)) that minimises (numerator + a weight)/lambda(a), up to `within` in its logit."""
    above, times = np.asarray(numerator)[..., None], np.asarray(weight)[..., None]
    best, moves = np.zeros((*above.shape[:-1], 1)), np.linspace(*_LOGITS, _TILTS)  # mutants: search-effort
    step, around = (_LOGITS[1] - _LOGITS[0]) / (_TILTS - 1), np.linspace(-1.0, 1.0, 17)  # mutants: search-effort
    share = _sigmoid(moves)
    while True:
        a = share * (0.5 / sigma**2)  # mutants: search-effort
        risk = (above + a * times) / -np.expm1(-a * (1.0 - share) * b_h)  # mutants: search-effort
        best = best + moves[risk.argmin(axis=-1)][..., None]
        if step < within:  # mutants: search-effort
            break
        moves = step * around
        share = _sigmoid(best + moves)
        step /= 8.0  # mutants: search-effort
    found = 0.5 / sigma**2 * _sigmoid(best[..., 0])  # mutants: search-effort
    return float(found) if found.ndim == 0 else found  # mutants: search-effort


def _sigmoid(x: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-x)))  # mutants: search-effort


# --- S3: optimistic, no reference, no condition ------------------------------------------------------------------


def optimistic(
    cover: Cover,
    radius: float,
    n: float,
    *,
    M: float,
    kappa: float,
    empirical: float,
    t: float,
    ln_inverse_eta: float = 0.0,
) -> RiskBound:
    r"""S3. R <= A R_n + M (ln N [+ ln 1/eta])/(n (1 - e^-t)) + (1+A) kappa delta,  A = t/(1 - e^-t), loss in [0, M].

    In expectation `empirical` is E R_n(fhat); with ln 1/eta it is the observed R_n(f), for every f at once.
    The radius is fixed before the data; t may be chosen after them at no cost.
    """
    gain = -math.expm1(-t)
    oracle = t / gain
    terms = {
        "empirical": oracle * empirical,
        "estimation": M * required_log_size(cover, radius) / (n * gain),
        "confidence": M * ln_inverse_eta / (n * gain),
        "discretisation": (1.0 + oracle) * kappa * radius,
    }
    return RiskBound(terms, radius, Tilt(t / M, gain / M))


def optimistic_best(
    cover: Cover, radius: float, n: float, *, M: float, kappa: float, empirical: float, ln_inverse_eta: float = 0.0
) -> RiskBound:
    """S3 with t optimised at a fixed radius."""

    def at(ln_t: float) -> RiskBound:
        t = math.exp(ln_t)
        return optimistic(cover, radius, n, M=M, kappa=kappa, empirical=empirical, t=t, ln_inverse_eta=ln_inverse_eta)

    grid = np.linspace(-18.0, 6.5, 99)  # mutants: search-effort
    start = float(grid[int(np.argmin([at(float(x)).value for x in grid]))])
    found = scipy.optimize.minimize_scalar(
        # mutants: search-effort
        lambda x: at(float(x)).value,
        bounds=(start - 0.3, start + 0.3),  # mutants: search-effort
        method="bounded",
        options={"xatol": 1e-9},  # mutants: search-effort
    )
    return min(at(start), at(float(found.x)), key=lambda bound: bound.value)


def optimistic_kl(
    cover: Cover, radius: float, n: float, *, M: float, kappa: float, empirical: float, ln_inverse_eta: float
) -> float:
    r"""S3, sharpest: R(f) <= kappa delta + M kl^{-1}((R_n(f) + kappa delta)/M, (ln N + ln 1/eta)/n) for every f."""
    budget = (required_log_size(cover, radius) + ln_inverse_eta) / n
    share = min(1.0, (empirical + kappa * radius) / M)
    return kappa * radius + M * kl_inverse(share, budget)


# --- S4: slow, nothing but boundedness ---------------------------------------------------------------------------


def slow(
    cover: Cover,
    radius: float,
    n: float,
    *,
    loss_range: float,
    kappa: float,
    approximation: float = 0.0,
    optimisation: float = 0.0,
) -> RiskBound:
    r"""S4. E[R(fhat)] - R(f0) <= inf + r sqrt(ln N/2n) + 2 kappa delta + eps_opt: the oracle constant is one."""
    terms = {
        "approximation": approximation,
        "estimation": loss_range * each(math.sqrt, required_log_size(cover, radius) / (2.0 * n)),
        "discretisation": 2.0 * kappa * radius,
        "optimisation": optimisation,
    }
    return RiskBound(terms, radius, Tilt(1.0, 1.0))


def slow_best(cover: Cover, n: float, *, loss_range: float, kappa: float, approximation: float = 0.0) -> RiskBound:
    """S4 at the best radius."""
    _require(cover)
    cover = cover.roughly

    def values(n: Array, radii: Array, sizes: Array) -> Array:
        return loss_range * np.sqrt(sizes / (2.0 * n)) + 2.0 * kappa * radii

    radius = _best_radius(cover, loss_range / kappa, n, values)
    return slow(cover, radius, n, loss_range=loss_range, kappa=kappa, approximation=approximation)


def slow_chain(cover: Cover, n: float, *, output_bound: float, kappa: float, approximation: float = 0.0) -> float:
    r"""S4chain. inf + 2 kappa (eps_K + sum_k eps_{k-1} sqrt(2 ln N(eps_k)/n)), eps_0 = sup |f|, 0 in the class."""
    return approximation + 2.0 * kappa * chaining.proper_chain(cover, output_bound, n)


def slow_chain_closed(
    constant: float, output_bound: float, n: float, *, kappa: float, approximation: float = 0.0
) -> float:
    r"""S4chain for ln N = C/eps^2 and scales D e^-k: 2 kappa min_K (D e^-K + K s), s = e sqrt(2C/n).

    At most 2 kappa s (1 + ceil(ln(D/s))_+), that is O(sqrt(C/n) ln n).
    """

    def closed(n: float) -> float:
        step = math.e * math.sqrt(2.0 * constant / n)
        if step >= output_bound:
            return output_bound
        near = math.floor(math.log(output_bound / step))
        return min(output_bound * math.exp(-links) + links * step for links in (near, near + 1))

    return approximation + 2.0 * kappa * each(closed, n)  # type: ignore[no-any-return]


# --- Theorem 4.4, repaired ---------------------------------------------------------------------------------------


def offset_a_beta(a: float, M: float) -> float:
    """The penalty a/((1+a) M) at which 4.4-A takes the offset complexity of the loss class."""
    return a / ((1.0 + a) * M)


def offset_a(a: float, offset: float, empirical: float) -> float:
    r"""4.4-A. E R(fhat) <= 2(1+a) R^off(l o F, a/((1+a)M)) + (1+2a) E R_n(fhat); loss in [0, M], any class."""
    return 2.0 * (1.0 + a) * offset + (1.0 + 2.0 * a) * empirical


def offset_sample_cover(
    a: float, mean_log_size: float, n: float, *, M: float, kappa: float, radius: float, empirical: float
) -> float:
    r"""4.4-A with proper covers of the *sample*: (1+2a) E R_n + (1+a)^2 M E ln N/(a n) + 2(1+3a) kappa delta."""
    estimation = (1.0 + a) ** 2 * M * mean_log_size / (a * n)
    return (1.0 + 2.0 * a) * empirical + estimation + 2.0 * (1.0 + 3.0 * a) * kappa * radius


def offset_b(a: float, a_prime: float, offset: float, noise_offset: float, approximation: float) -> float:
    r"""4.4-B. Squared loss, a > a' > 0: 2(1+a') R^off({h^2}, a'/((1+a')b)) + 2(1+2a) N + (1+2a) inf ||f - f0||^2.

    N = E sup_f [P_n xi h - ((a-a')/(1+2a)) P_n h^2] is the offset process of the *noise*.
    """
    _require_order(a, a_prime)
    return 2.0 * (1.0 + a_prime) * offset + (1.0 + 2.0 * a) * (2.0 * noise_offset + approximation)


def offset_b_finite(
    a: float, a_prime: float, log_size: float, n: float, *, b_h: float, sigma: float, approximation: float = 0.0
) -> float:
    r"""4.4-B for N functions: [(1+a')^2 b/a' + (1+2a)^2 sigma^2/(a-a')] ln N/n + (1+2a) inf."""
    _require_order(a, a_prime)
    coefficient = (1.0 + a_prime) ** 2 * b_h / a_prime + (1.0 + 2.0 * a) ** 2 * sigma**2 / (a - a_prime)
    return coefficient * log_size / n + (1.0 + 2.0 * a) * approximation


def offset_c(offset: float, approximation: float) -> float:
    r"""4.4-C. 4 R^off(G, 1/2M) + 3 inf, when 0 <= g(z; f) <= M for every z: noise-free labels, f* Bayes."""
    return 4.0 * offset + 3.0 * approximation


def _require_order(a: float, a_prime: float) -> None:
    if not a > a_prime > 0.0:
        raise InputError("a", a, f"a number above a' = {a_prime:g} > 0")


# --- the radius --------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)  # mutants: caches
def _tabulated(cover: Cover, top: float) -> Array:
    """ln N on the grid of radii, once for all n and for all points of a sweep that share the cover."""
    return cover.log_sizes(np.exp(np.linspace(top - _NATS, top, _RADII)))


def _best_radius(cover: Cover, scale: float, n: float, values: Callable[[Array, Array, Array], Array]) -> float:
    """The radius of least value(n, radius, ln N), for every n that is given.

    A grid, free of n, from `scale` down (larger radii make every bound trivial), then ever finer ones around its best:
    covers have kinks, hence local minima.
    """
    many = np.atleast_1d(np.asarray(n, dtype=np.float64))[:, None]
    top, step = min(cover.ln_radius, math.log(scale)), _NATS / (_RADII - 1)  # mutants: search-effort
    places, table = np.linspace(top - _NATS, top, _RADII)[None, :], _tabulated(cover, top)[None, :]
    best, least, every = np.full(len(many), top), np.full(len(many), np.inf), np.arange(len(many))
    while True:
        found = values(many, np.exp(places), table)
        at = found.argmin(axis=1)
        value, place = found[every, at], places[every if len(places) > 1 else 0, at]
        best, least = np.where(value < least, place, best), np.minimum(value, least)
        if step < _FINEST:
            break
        places = best[:, None] + step * np.linspace(-1.5, 1.5, _FINE)  # mutants: search-effort
        if len(places) == 1:  # mutants: search-effort, two-ways-to-one-number
            table = cover.log_sizes(np.exp(places))
        else:
            different, which = np.unique(places, return_inverse=True)
            table = cover.log_sizes(np.exp(different))[which].reshape(places.shape)
        step *= 3.0 / (_FINE - 1)  # mutants: search-effort
    chosen = np.exp(best)
    return float(chosen[0]) if np.ndim(n) == 0 else chosen
