r"""Covers of bounded linear maps: what a weight matrix costs in log covering number.

A cover of the class {x -> Wx} at radius eps is a finite set of matrices such that every W in the class has a
member What with ||(W - What) x|| <= eps for every input x. All the covers here depend on eps only through
the ratio (radius of the class in the output metric) / eps, so a `Cover` is a radius and a function of that ratio,
both kept as natural logarithms: sensitivities of deep networks overflow floats long before the theory breaks down.

Two tags decide who may use a cover. *Proper*: its members belong to the class (a chain of covers needs that).
*Domain*: it holds for every input of the given norm, not only for the points of one sample.

The proofs are in docs/proofs/covers.md; the labels T3..T7 there and in the docstrings agree.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from certiformer.theory.calculus.entropies import (
    LARGE_LOG,
    LN_TWO,
    Added,
    Constant,
    Entropy,
    Least,
    Multisets,
    Power,
    Scaled,
    Shifted,
    Volume,
    exp,
    raised,
    sizes,
)
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np
from certiformer.theory.core.records import fast_replace
from certiformer.theory.core.rounding import MARGIN, up


@dataclass(frozen=True)
class Cover:
    """An upper bound on the log covering number of one class of linear maps.

    `entropy` takes x = ln(radius/eps) > 0 and returns ln N. `quadratic` is a constant c with
    ln N <= c (radius/eps)^2 at every eps, `parameters` the P of a bound P ln(O(radius/eps)); inf where there is none.
    `rough` is another upper bound, quick to compute, for searches over eps; None where `entropy` is quick itself.
    """

    name: str
    ln_radius: float
    entropy: Entropy
    proper: bool = True
    domain: bool = True
    quadratic: float = math.inf
    parameters: float = math.inf
    rough: Entropy | None = None

    def log_size(self, eps: float) -> float:
        """ln N(eps), never negative, zero once a single ball suffices."""
        return self.log_size_ln(_ln(eps))

    def log_size_ln(self, ln_eps: float) -> float:
        """ln N at the radius exp(ln_eps)."""
        ratio = self.ln_radius - ln_eps
        if math.isinf(ln_eps) and ratio > 0.0:  # mutants: nobody-looks
            return math.inf
        return self.entropy(ratio) if ratio > 0.0 else 0.0

    def log_sizes(self, eps: Array) -> Array:
        """ln N at an array of radii, never below `log_size` at each of them."""
        with np.errstate(divide="ignore"):
            return self.log_sizes_ln(np.log(eps))

    def log_sizes_ln(self, ln_eps: Array) -> Array:
        """ln N at the radii exp(ln_eps)."""
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = np.where(np.isfinite(ln_eps), self.ln_radius - ln_eps, 0.0)
            covered = ratio <= 0.0
            # One radius too fine for a float costs no more than an infinite answer there.
            # mutants: same-for-every-value
            found = np.where(covered, 0.0, sizes(self.entropy, np.where(covered, 1.0, ratio)))
        return np.where((ln_eps == -np.inf) & (self.ln_radius > -math.inf), np.inf, found)

    @property
    def roughly(self) -> Cover:
        """The same cover, sizes by `rough`."""
        return self if self.rough is None else fast_replace(self, entropy=self.rough, rough=None)

    @property
    def constant(self) -> float:
        """C with ln N(eps) <= C/eps^2 at every eps."""
        return self.quadratic * exp(2.0 * self.ln_radius)

    def scaled(self, factor: float, name: str | None = None) -> Cover:
        """The same class seen through inputs (or a loss) `factor` times larger."""
        return fast_replace(self, ln_radius=self.ln_radius + _ln(factor), name=name or self.name)

    def made_proper(self) -> Cover:
        """A proper cover at eps from any cover at eps/2: replace each useful member by a class element near it."""
        if self.proper:
            return self
        return fast_replace(
            self,
            entropy=Shifted(LN_TWO, self.entropy),
            rough=None if self.rough is None else Shifted(LN_TWO, self.rough),
            proper=True,
            quadratic=4.0 * self.quadratic,
            name=f"{self.name}, proper",
        )


def smallest(*covers: Cover) -> Cover:
    """The smallest of several covers of one class, at every radius; proper (domain) only if each of them is."""
    ln_radius = min(cover.ln_radius for cover in covers)
    entropy = Least(_parts(covers))
    # A quadratic bound c (R/eps)^2 of one cover holds for the minimum, restated at the common radius.
    quadratic = min(_restate(cover, ln_radius) for cover in covers)
    return Cover(
        " or ".join(cover.name for cover in covers),
        ln_radius,
        entropy,
        proper=all(cover.proper for cover in covers),
        domain=all(cover.domain for cover in covers),
        quadratic=quadratic,
        parameters=min(cover.parameters for cover in covers),
        # mutants: any-split-is-a-bound
        rough=None if all(cover.rough is None for cover in covers) else Least(_parts([c.roughly for c in covers])),
    )


def _parts(covers: Sequence[Cover]) -> tuple[tuple[Entropy, float], ...]:
    """Every entropy with ln of how much larger its radius is than the smallest; two empty classes do not differ."""
    least = min(cover.ln_radius for cover in covers)
    parts = ((one.entropy, 0.0 if one.ln_radius == least else one.ln_radius - least) for one in covers)
    return tuple(sorted(parts, key=lambda part: isinstance(part[0], Multisets)))  # mutants: any-split-is-a-bound


def _restate(cover: Cover, ln_radius: float) -> float:
    if math.isinf(cover.quadratic):
        return math.inf
    exponent = 2.0 * (cover.ln_radius - ln_radius)
    return cover.quadratic * math.exp(exponent) if exponent < 700.0 else math.inf  # mutants: ends-of-the-floats


def maurey(norm: float, dimension: int) -> Cover:
    r"""T3. The l1 ball of radius B in R^D in the l2 metric (for maps: entrywise l1 norm, inputs of l2 norm one).

    .. math:: \ln N(\varepsilon) \le \ln\binom{2D+K}{K}, \quad K = \lceil (B/\varepsilon - 1)_+^2 \rceil,
              \qquad\text{and}\qquad \ln N(\varepsilon) \le (B/\varepsilon)^2 \ln(2D+1).

    Averages of K random signed atoms, shrunk by sqrt(K)/(1 + sqrt(K)). Proper for every convex subclass.
    """
    return Cover("Maurey (shrunk)", _ln(norm), Multisets(dimension), quadratic=math.log(2 * dimension + 1))


def maurey_plain(norm: float, dimension: int) -> Cover:
    r"""C1. The same class without shrinking: K = ceil((B/eps)^2) - 1 atoms. Never smaller than `maurey`."""
    return Cover("Maurey", _ln(norm), Multisets(dimension, shrunk=False), quadratic=math.log(2 * dimension + 1))


def quadratic_cover(constant: float, ln_radius: float = math.inf, *, proper: bool = True, domain: bool = True) -> Cover:
    """The pure form ln N = C/eps^2 of the papers, zero from `ln_radius` on (never, by default)."""
    if math.isinf(ln_radius):
        ln_radius = 0.5 * _ln(constant) + 40.0  # far beyond the point where C/eps^2 counts for anything
    coefficient = math.exp(_ln(constant) - 2.0 * ln_radius)
    return Cover("C/eps^2", ln_radius, Power(coefficient), proper=proper, domain=domain, quadratic=coefficient)


def columns_one_inf(norm: float, rows: int, columns: int) -> Cover:
    r"""Every column in the l1 ball of radius B (W is k x d), inputs of **l1** norm one.

    .. math:: \ln N(\varepsilon) \le d \ln\binom{2k+K}{K} \le d\,(B/\varepsilon)^2 \ln(2k+1)

    Proper in the (1, inf) ball itself, but not in subclasses with a spectral bound.
    """
    column = maurey(norm, rows)
    entropy = Scaled(columns, column.entropy)
    return Cover("columns by Maurey", column.ln_radius, entropy, quadratic=columns * column.quadratic)


def perceptron_vector(norm: float, points: int) -> Cover:
    r"""T4. Vectors of l2 norm at most a, on n given inputs of norm one: ln N <= floor((a/eps)^2) ln(2n+1)."""
    return _perceptron("projected perceptron", norm, 1.0, math.log(2.0 * points + 1.0))


def perceptron_vocabulary(frobenius: float, points: int, vocabulary: int) -> Cover:
    r"""T4. A K x d head, error over inputs *and coordinates*: ln N <= (a/eps)^2 ln(2nK+1)."""
    return _perceptron("projected perceptron (vocabulary)", frobenius, 1.0, math.log(2.0 * points * vocabulary + 1.0))


def perceptron_matrix(frobenius: float, points: int, rows: int) -> Cover:
    r"""T4. A k x d matrix, l2 error of the output: ln N <= k (a/eps)^2 ln(2nk+1)."""
    return _perceptron("projected perceptron (matrix)", frobenius, rows, math.log(2.0 * points * rows + 1.0))


def _perceptron(name: str, norm: float, steps: float, log_choices: float) -> Cover:
    entropy = Scaled(log_choices, _Steps(steps))
    return Cover(name, _ln(norm), entropy, domain=False, quadratic=steps * log_choices)


@dataclass(frozen=True, slots=True)
class _Steps:
    """floor(steps e^{2x}), the number of steps of a perceptron."""

    steps: float

    def __call__(self, x: float) -> float:
        if x > LARGE_LOG:
            return math.inf
        return float(math.floor(up(self.steps * math.exp(2.0 * x))))

    def on(self, x: Array) -> Array:
        # mutants: rounding-margins
        steps = np.floor(self.steps * np.exp(2.0 * np.minimum(x, LARGE_LOG)) * (1.0 + 2.0 * MARGIN))
        return np.where(x > LARGE_LOG, np.inf, steps)


def rows_two_one(norm: float, rows: int, points: int, *, domain: bool = False) -> Cover:
    r"""T5. Sum of the **row** l2 norms at most B (W is k x d), on n inputs of norm one. External.

    .. math:: \ln N(\varepsilon) \le (B/\varepsilon)^2 \min_{h\ge1}
              \bigl[\ln(k+1) + h\ln2 + \tfrac{h+1}{h}\ln(2n+1)\bigr]

    Set `domain` when the n points are atoms whose absolutely convex hull contains every input (l1 inputs: n = d).
    """
    factor = rows_two_one_factor(rows, points)
    return Cover("rows (2,1)", _ln(norm), Power(factor), proper=False, domain=domain, quadratic=factor)


def rows_two_one_factor(rows: int, points: int) -> float:
    """The bracket of T5, minimised over h; convex in h, so the scan may stop when it turns."""
    log_rows, log_points = math.log(rows + 1.0), math.log(2.0 * points + 1.0)
    best = math.inf
    for h in range(1, 10_000):  # mutants: search-effort
        value = log_rows + h * math.log(2.0) + (h + 1) / h * log_points
        if value > best:
            break
        best = value
    return best


def columns_two_one(norm: float, rows: int, columns: int) -> Cover:
    r"""Sum of the **column** l2 norms at most B (W is k x d), inputs of l1 norm one. External.

    .. math:: \ln N(\varepsilon) \le \lfloor r\rfloor\,(\ln(d+1) + k\ln(1+2r)), \quad r = B/\varepsilon

    Columns of norm at most eps are dropped; at most r others remain, each covered in its ball by volume.
    """
    return Cover("columns (2,1)", _ln(norm), _Columns(rows, columns), proper=False)


@dataclass(frozen=True, slots=True)
class _Columns:
    """floor(r) (ln(d+1) + k ln(1+2r)), r = e^x."""

    rows: int
    columns: int

    def __call__(self, x: float) -> float:
        if x > LARGE_LOG:
            return math.inf
        ratio = math.exp(x)
        return math.floor(up(ratio)) * (math.log(self.columns + 1.0) + self.rows * math.log1p(2.0 * ratio))

    def on(self, x: Array) -> Array:
        ratio = np.exp(np.minimum(x, LARGE_LOG))
        each = math.log(self.columns + 1.0) + self.rows * np.log1p(2.0 * ratio)  # mutants: rounding-margins
        # mutants: ends-of-the-floats, rounding-margins
        return np.where(x > LARGE_LOG, np.inf, raised(np.floor(ratio * (1.0 + 2.0 * MARGIN)) * each))


def dual_sudakov(frobenius: float, rows: int, columns: int, *, centred: bool = True) -> Cover:
    r"""T6. The Frobenius ball of radius a, k x d, inputs of l2 norm one, any number of them.

    .. math:: \ln N(\varepsilon) \le (a/\varepsilon)^2\,\kappa(k,d), \quad
       \kappa = \min_u 2(\sqrt k+\sqrt d+u)^2 + \ln\frac{1}{1-e^{-u^2/2}}

    Proper for every subset of the ball that contains its centre; otherwise pass `centred=False`.
    """
    kappa, gaussian, additive = _sudakov(rows, columns)
    if centred:
        return Cover("dual Sudakov", _ln(frobenius), Power(kappa), quadratic=kappa)
    # A packing of a class without its centre is one point only from the diameter 2a on.
    entropy = Added((Power(gaussian * 0.25), Constant(additive)))
    ln_diameter = _ln(frobenius) + LN_TWO
    return Cover("dual Sudakov (off centre)", ln_diameter, entropy, quadratic=gaussian * 0.25 + additive)


def sudakov_constant(rows: int, columns: int) -> float:
    """kappa(k, d) of T6, minimised over u = 0.01, 0.02, ..., 5.99."""
    return _sudakov(rows, columns)[0]


@functools.lru_cache(maxsize=4096)  # mutants: caches
def _sudakov(rows: int, columns: int) -> tuple[float, float, float]:
    u = np.arange(1, 600) / 100.0  # mutants: search-effort
    gaussian = 2.0 * (math.sqrt(rows) + math.sqrt(columns) + u) ** 2
    additive = -np.log(-np.expm1(-(u**2) / 2.0))
    best = int(np.argmin(gaussian + additive))
    return float(gaussian[best] + additive[best]), float(gaussian[best]), float(additive[best])


def volumetric(radius: float, parameters: int, *, centred: bool = True) -> Cover:
    r"""T7. A ball of radius a of any norm on R^D, in that norm (for maps: spectral radius, D = kd).

    .. math:: \ln N(\varepsilon) \le D \ln(1 + 2a/\varepsilon)

    Proper for every subset that contains the centre; otherwise pass `centred=False`.
    """
    if centred:
        return Cover("volume", _ln(radius), Volume(parameters), parameters=parameters)
    return Cover("volume (off centre)", _ln(radius) + LN_TWO, Volume(parameters, 0.0), parameters=parameters)


def low_rank(spectral: float, rows: int, columns: int, rank: int) -> Cover:
    r"""C3. Rank at most r and spectral norm at most s (k x d), spectral metric.

    .. math:: \ln N(\varepsilon) \le \min\Bigl\{
       r\Bigl[k\ln\Bigl(1+\frac{2s(k+d)}{k\varepsilon}\Bigr)+d\ln\Bigl(1+\frac{2s(k+d)}{d\varepsilon}\Bigr)\Bigr],\;
       dk\,\ln(1+2s/\varepsilon)\Bigr\}

    D = UM with U orthonormal, M = U^T D: separated subsets of the two factors. Proper for bounds on rank, spectral and
    Frobenius norm at once, since ||U'M'|| = ||M'||; not for entrywise norms. Never above (k+d) r ln(1+4s/eps).
    """
    dense = volumetric(spectral, rows * columns)
    pair = tuple(Volume(rank * side, math.log(2.0 * (rows + columns) / side)) for side in (rows, columns))
    entropy = Least(((Added(pair), 0.0), (dense.entropy, 0.0)))
    return Cover("low rank", dense.ln_radius, entropy, parameters=min(rank * (rows + columns), rows * columns))


def maurey_draws(eps: float, *radii: float) -> int:
    """K = ceil((r - 1)_+^2) for r = (product of the radii)/eps, in exact arithmetic on the decimals as written."""
    excess = max(Fraction(0), _exact_ratio(eps, radii) - 1)
    return math.ceil(excess**2)


def maurey_plain_draws(eps: float, *radii: float) -> int:
    """K = ceil(r^2) - 1 for r = (product of the radii)/eps > 1, zero otherwise, in exact arithmetic."""
    return max(0, math.ceil(_exact_ratio(eps, radii) ** 2) - 1)


def _exact_ratio(eps: float, radii: tuple[float, ...]) -> Fraction:
    # A float stands for the shortest decimal that denotes it: 1.2/0.1 is 12, not 11.999999999999998.
    return math.prod((Fraction(repr(float(radius))) for radius in radii), start=Fraction(1)) / Fraction(
        repr(float(eps))
    )


def _ln(value: float) -> float:
    if value < 0.0 or math.isnan(value):
        raise InputError("radius", value, "a number at least 0")
    return math.log(value) if value > 0.0 else -math.inf
