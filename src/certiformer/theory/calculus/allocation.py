r"""How the error budget of a network is shared among its weights.

Weight i moves the output by at most beta_i eps_i when it is covered at radius eps_i, so any split with
sum_i beta_i eps_i <= eps gives ln N(eps) <= sum_i ln N_i(eps_i). In shares x_i = beta_i eps_i/eps and reaches
a_i = beta_i r_i/eps the least such sum is

.. math:: \min \sum_g m_g \phi_g(\ln(a_g/x_g)) \quad\text{subject to}\quad \sum_g m_g x_g \le 1 ,

m_g equal weights to a group, phi = 0 from x = a on (the weight stays at its centre). For a multiplier mu every group
minimises phi + mu x by itself, in closed form for covers by volume and of the form c/eps^2, on the lower convex hull of
a table otherwise; mu is the root of a decreasing function. As phi is a minimum of several kinds of covers, the problem
is convex only for fixed kinds: single kinds are exchanged while that helps.

The optimiser needs no trust. Whatever shares it proposes are checked to be feasible, and covers are evaluated at radii
rounded down (docs/proofs/layers.md, section 6).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from certiformer.theory.calculus.cover_kinds import Kind, columns, kinds_of, members
from certiformer.theory.calculus.covers import Cover
from certiformer.theory.calculus.entropies import LN_TWO, Entropy, Multisets, Power, Volume, log, sizes
from certiformer.theory.core.lazy import Array, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_SLACK = 2.0**-40  # mutants: rounding-margins
_UNIT = 2.0**-53  # mutants: rounding-margins
_BOTH_SIDES = ((-1,), (0,))  # mutants: any-split-is-a-bound
# mutants: any-split-is-a-bound
_BLOCK = 1 << 13  # entries of an array at once: what fits the cache
_EXCHANGED = 64  # mutants: any-split-is-a-bound
"""Up to so many groups the kinds of covers are exchanged one by one; with more the duality gap is negligible."""


@dataclass(frozen=True, slots=True)
class Term:
    """One weight, or `copies` equal ones: the cover of its class and ln of the output's sensitivity to its error."""

    name: str
    cover: Cover
    ln_beta: float
    copies: int = 1

    @property
    def ln_reach(self) -> float:
        """How far one such weight can move the output: ln(beta * radius)."""
        return self.ln_beta + self.cover.ln_radius


@dataclass(frozen=True, slots=True)
class Split:
    """Radii for every term at one eps: ln eps_i, what they cost together, and the least any split could cost.

    A radius of +inf is a weight that stays at the centre of its class.
    """

    ln_radii: tuple[float, ...]
    log_size: float
    dual: float


def quadratic_total(constants: Sequence[float], betas: Sequence[float]) -> float:
    r"""gamma^3 with gamma = sum_i C_i^{1/3} beta_i^{2/3}: the least sum of C_i/eps_i^2 under sum beta_i eps_i = 1."""
    gamma = float(sum(c ** (1 / 3) * b ** (2 / 3) for c, b in zip(constants, betas, strict=True)))
    return gamma * gamma * gamma  # overflows to inf, where a power would raise


def quadratic_split(constants: Sequence[float], betas: Sequence[float], eps: float) -> list[float]:
    r"""The radii eps_i = (eps/gamma) (C_i/beta_i)^{1/3} that attain `quadratic_total`; inf where beta_i = 0."""
    gamma = quadratic_total(constants, betas) ** (1 / 3)
    return [eps / gamma * (c / b) ** (1 / 3) if b > 0 else math.inf for c, b in zip(constants, betas, strict=True)]


def parameter_split(parameters: Sequence[float], betas: Sequence[float], eps: float) -> list[float]:
    r"""The radii eps_i = eps D_i / (beta_i sum_j D_j), which minimise sum_i D_i ln(r_i/eps_i)."""
    total = sum(parameters)
    return [eps * p / (b * total) if b > 0 else math.inf for p, b in zip(parameters, betas, strict=True)]


def network_cover(terms: Sequence[Term], name: str = "network") -> Cover:
    """The cover of a whole network from those of its weights; tags are inherited: one external weight taints all.

    Equal terms give one and the same cover: what was found for one sample size serves the others.
    """
    return _network_cover(tuple(terms), name)


@functools.lru_cache(maxsize=16)  # mutants: caches
def _network_cover(terms: tuple[Term, ...], name: str) -> Cover:
    live = [term for term in terms if term.ln_reach > -math.inf]
    if not live:
        return Cover(name, -math.inf, lambda x: 0.0)
    ln_radius = _above(_log_sum([math.log(term.copies) + term.ln_reach for term in live]))
    if math.isinf(ln_radius):
        return Cover(name, ln_radius, lambda x: math.inf)
    problem = _Problem.of(live)
    parameters = sum(term.copies * term.cover.parameters for term in live)
    return Cover(
        name,
        ln_radius,
        functools.lru_cache(maxsize=4096)(lambda x: problem.least(ln_radius - x)[0]),  # mutants: caches
        rough=_Roughly(problem, ln_radius),
        proper=all(term.cover.proper for term in live),
        domain=all(term.cover.domain for term in live),
        quadratic=_quadratic_coefficient(live, ln_radius),
        parameters=parameters,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Roughly:
    """The entropy of a network by splits that are quick to find, for many radii at once."""

    problem: _Problem
    ln_radius: float

    def __call__(self, x: float) -> float:
        return float(self.on(np.array([x]))[0])

    def on(self, x: Array) -> Array:
        return self.problem.quick(self.ln_radius - x.ravel()).reshape(x.shape)


def split(terms: Sequence[Term], ln_eps: float) -> Split:
    """The radii of the best split found at exp(ln_eps), one for each term; weights without reach get +inf."""
    live = [term for term in terms if term.ln_reach > -math.inf]
    if not live:
        return Split((math.inf,) * len(terms), 0.0, 0.0)
    problem = _Problem.of(live)
    cost, dual, radii = problem.least(ln_eps)
    by_term = iter(radii[problem.group_of])
    found = tuple(float(next(by_term)) if term.ln_reach > -math.inf else math.inf for term in terms)
    return Split(found, cost, dual)


def _quadratic_coefficient(terms: Sequence[Term], ln_radius: float) -> float:
    """c with ln N <= c (R/eps)^2, from the quadratic bounds of the weights: gamma^3 / R^2."""
    if any(math.isinf(term.cover.quadratic) for term in terms):
        return math.inf
    ln_gamma = _log_sum(
        [math.log(term.copies) + math.log(term.cover.quadratic) / 3.0 + 2.0 / 3.0 * term.ln_reach for term in terms]
    )
    return math.exp(3.0 * ln_gamma - 2.0 * ln_radius)  # at most the sum of the coefficients (Hoelder)


def _log_sum(logs: Sequence[float] | Array) -> float:
    return float(np.logaddexp.reduce(np.asarray(logs, dtype=np.float64)))


def _above(ln: float) -> float:
    """A logarithm of a sum of many terms, rounded up."""
    return ln + 64.0 * _UNIT * (1.0 + abs(ln)) if math.isfinite(ln) else ln  # mutants: rounding-margins


# --- kinds of covers: what a group may choose between -----------------------------------------------------------------


@dataclass(frozen=True)
class _Hull:
    """The lower convex hull of (s, phi), s = e^-x: corners from s = 1 down, and ln of the slopes that lead to them."""

    x: Array
    value: Array
    ln_slope: Array

    def corner(self, ln_slope: Array) -> Array:
        """x of the corner that minimises phi + M s."""
        # mutants: any-split-is-a-bound
        return np.asarray(self.x[np.searchsorted(self.ln_slope, ln_slope, "right") - 1])

    def between(self, ln_slope: Array) -> tuple[Array, Array]:
        """A continuous x(ln M), right in the middle of every corner's range of slopes, and its derivative."""
        knots, rates, x = self._middles
        # mutants: any-split-is-a-bound
        at = np.minimum(np.maximum(knots.searchsorted(ln_slope, "right") - 1, 0), len(x) - 2)
        beyond, rate = ln_slope - knots[at], rates[at]
        inside = (beyond > 0.0) & (beyond < knots[at + 1] - knots[at])  # mutants: any-split-is-a-bound
        # mutants: any-split-is-a-bound
        return np.minimum(x[at] + np.maximum(beyond, 0.0) * rate, x[at + 1]), np.where(inside, rate, 0.0)

    @functools.cached_property
    def _middles(self) -> tuple[Array, Array, Array]:
        """The middles of the corners' ranges, the slopes of x between them, and the corners."""
        # mutants: any-split-is-a-bound
        knots = np.append((self.ln_slope[1:-1] + self.ln_slope[2:]) / 2.0, self.ln_slope[-1])
        return knots, np.diff(self.x[1:]) / np.diff(knots), self.x[1:]  # mutants: any-split-is-a-bound

    def cost(self, x: Array) -> Array:
        """phi between corners, on the hull."""
        # mutants: any-split-is-a-bound
        at = np.minimum(np.maximum(self.x.searchsorted(x, "right") - 1, 0), len(self.x) - 2)
        # mutants: any-split-is-a-bound
        lost = np.minimum(np.maximum(np.expm1(self.x[at] - x) / np.expm1(self.x[at] - self.x[at + 1]), 0.0), 1.0)
        # mutants: any-split-is-a-bound
        return np.asarray(self.value[at] + (self.value[at + 1] - self.value[at]) * lost)


@functools.lru_cache(maxsize=512)  # mutants: any-split-is-a-bound
def _hull(base: Entropy) -> _Hull:
    grid = {
        0.0,  # mutants: any-split-is-a-bound
        *np.linspace(0.02, 12.0, 600).tolist(),  # mutants: any-split-is-a-bound
        *np.linspace(12.1, 60.0, 480).tolist(),  # mutants: any-split-is-a-bound
        *np.geomspace(61.0, 4000.0, 100).tolist(),  # mutants: any-split-is-a-bound
    }
    if isinstance(base, Multisets):
        # Only the finest radius of a step can be a corner.
        grid = {x for x in grid if x > 6.9} | {0.0} | set(base.steps())  # mutants: any-split-is-a-bound
    xs, values, slopes = [0.0], [0.0], [-math.inf]  # mutants: any-split-is-a-bound
    points = np.array(sorted(grid)[1:])  # mutants: any-split-is-a-bound
    with np.errstate(over="ignore", invalid="ignore"):
        sized = sizes(base, points)
    for x, value in zip(points.tolist(), sized.tolist(), strict=True):
        if not math.isfinite(value):
            break
        while True:
            ln_slope = _ln_slope(xs[-1], values[-1], x, value)
            if len(xs) == 1 or ln_slope > slopes[-1]:  # mutants: any-split-is-a-bound
                break
            for corner in (xs, values, slopes):
                corner.pop()
        xs.append(x)
        values.append(value)
        slopes.append(ln_slope)
    return _Hull(np.array(xs), np.array(values), np.array(slopes))


def _ln_slope(x0: float, v0: float, x1: float, v1: float) -> float:
    """ln((v1 - v0)/(e^-x0 - e^-x1)), x0 < x1."""
    return math.log(v1 - v0) + x0 - math.log(-math.expm1(x0 - x1)) if v1 > v0 else -math.inf


@dataclass(frozen=True, slots=True)
class _Options:
    """Every kind of every group, padded to a rectangle: volumes, then powers, then tables, then 'given up'.

    At a multiplier mu a group takes the fraction s = x/a of its reach that minimises phi + M s, M = mu a.
    """

    ln_parameters: Array  # one column per volume: ln P, and ln of the factor before e^x; nan where there is none
    ln_factor: Array
    ln_coefficient: Array  # one column per power: ln c, its shift included
    tables: tuple[tuple[tuple[Kind, list[int]], ...], ...]  # per column the kinds and the groups that have them
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, entropies: Sequence[Entropy]) -> _Options:
        kinds = [kinds_of(entropy) for entropy in entropies]
        volumes = columns([[kind for kind in each if isinstance(kind.base, Volume)] for each in kinds])
        powers = columns([[kind for kind in each if isinstance(kind.base, Power)] for each in kinds])
        others = columns([[kind for kind in each if not isinstance(kind.base, Volume | Power)] for each in kinds])

        def matrix(columns: Sequence[Sequence[Kind | None]], entry: Callable[[Any], float]) -> Array:
            rows = [[math.nan if kind is None else entry(kind) for kind in column] for column in columns]
            return np.array(rows, dtype=np.float64).reshape(len(columns), len(kinds)).T

        present = matrix([*volumes, *powers, *others], lambda kind: 1.0)  # mutants: any-split-is-a-bound
        return cls(
            matrix(volumes, lambda kind: log(kind.factor * kind.base.parameters)),
            matrix(volumes, lambda kind: kind.base.ln_factor + kind.shift),
            # mutants: any-split-is-a-bound
            matrix(powers, lambda kind: log(kind.factor * kind.base.coefficient) + 2.0 * kind.shift),
            tuple(members(column) for column in others),
            np.concatenate([np.isfinite(present), np.ones((len(kinds), 1), dtype=np.bool_)], -1),
        )

    @property
    def given_up(self) -> int:
        """The index of the last column."""
        return int(self.present.shape[1]) - 1

    def shares(self, ln_slope: Array, *, corners: bool) -> tuple[Array, Array]:
        """ln s of every column at ln M, and its derivative; nan where a group has no such kind.

        Tables give the minimising corner, or a continuous function close by.
        """
        wide = ln_slope[..., None]
        # mutants: any-split-is-a-bound
        root = np.sqrt(1.0 + 4.0 * np.exp(np.minimum(self.ln_parameters - wide - self.ln_factor, 700.0)))
        volume = np.minimum(LN_TWO + self.ln_parameters - wide - np.log1p(root), 0.0)  # mutants: any-split-is-a-bound
        power = np.minimum((LN_TWO + self.ln_coefficient - wide) / 3.0, 0.0)  # mutants: any-split-is-a-bound
        found = np.zeros((*ln_slope.shape, self.given_up + 1))
        rates = np.zeros_like(found)
        count, both = volume.shape[-1], volume.shape[-1] + power.shape[-1]
        found[..., :count], found[..., count:both] = volume, power
        rates[..., :count] = np.where(volume < 0.0, -(root + 1.0) / (2.0 * root), 0.0)  # mutants: any-split-is-a-bound
        rates[..., count:both] = np.where(power < 0.0, -1.0 / 3.0, 0.0)  # mutants: any-split-is-a-bound
        for column, kinds in enumerate(self.tables, both):
            for kind, groups in kinds:
                hull, ln_m = _hull(kind.base), ln_slope[..., groups] + kind.shift - math.log(kind.factor)
                if corners:
                    # mutants: any-split-is-a-bound
                    found[..., groups, column] = np.minimum(kind.shift - hull.corner(ln_m), 0.0)
                    continue
                x, rate = hull.between(ln_m)
                found[..., groups, column] = np.minimum(kind.shift - x, 0.0)  # mutants: any-split-is-a-bound
                rates[..., groups, column] = np.where(x > kind.shift, -rate, 0.0)  # mutants: any-split-is-a-bound
        return found, rates

    def costs(self, ln_share: Array) -> Array:
        """phi of every column at ln s (tables: on the hull); nothing from s = 1 on."""
        count, both = self.ln_parameters.shape[1], self.ln_parameters.shape[1] + self.ln_coefficient.shape[1]
        found = np.zeros(ln_share.shape)
        found[..., :count] = np.exp(self.ln_parameters) * np.logaddexp(0.0, self.ln_factor - ln_share[..., :count])
        # mutants: any-split-is-a-bound
        found[..., count:both] = np.exp(np.minimum(self.ln_coefficient - 2.0 * ln_share[..., count:both], 709.0))
        for column, kinds in enumerate(self.tables, both):
            for kind, groups in kinds:
                x = kind.shift - ln_share[..., groups, column]
                found[..., groups, column] = kind.factor * _hull(kind.base).cost(x)
        return np.where(ln_share < 0.0, found, 0.0)


# --- the problem ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Problem:
    """Groups of equal terms."""

    covers: tuple[Cover, ...]
    ln_beta: Array
    ln_reach: Array
    copies: Array
    group_of: Integers
    options: _Options

    @classmethod
    def of(cls, terms: Sequence[Term]) -> _Problem:
        index: dict[tuple[float, float, Entropy], int] = {}
        firsts: list[Term] = []
        group_of = []
        for term in terms:
            key = (term.ln_beta, term.cover.ln_radius, term.cover.entropy)
            if key not in index:
                index[key] = len(firsts)
                firsts.append(term)
            group_of.append(index[key])
        groups = np.array(group_of)
        return cls(
            tuple(term.cover for term in firsts),
            np.array([term.ln_beta for term in firsts]),
            np.array([term.ln_reach for term in firsts]),
            np.bincount(groups, weights=[float(term.copies) for term in terms]).astype(np.float64),
            groups,
            _Options.of([term.cover.entropy for term in firsts]),
        )

    def least(self, ln_eps: float) -> tuple[float, float, Array]:
        """The cost of the best split found, the dual lower bound, and ln of every group's radius."""
        if ln_eps == -math.inf:
            return math.inf, math.inf, np.full(len(self.covers), -math.inf)
        ln_a = self.ln_reach - ln_eps
        few = len(self.covers) <= _EXCHANGED
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            low, high, dual = self._multipliers(ln_a)
            kinds = self._best(ln_a, np.array([low, high]))[0]
            costs, shares = self._fixed(ln_a, kinds, low)
            best = int(np.argmin(costs))
            cost, share, kind = float(costs[best]), shares[best], kinds[best]
            proposals = [share]
            if few and cost > dual * (1.0 + 1e-6):  # mutants: any-split-is-a-bound
                share, kind = self._exchange(ln_a, cost, share, kind, low)
                proposals.append(share)
            if self.options.tables:
                proposals += [self._settled(ln_a, one, kind) for one in proposals[-1:]]  # mutants: any-split-is-a-bound
            if few:
                proposals += [ln_x - ln_a for ln_x in self._one_kind.T]
        value, radii = min((self._evaluate(ln_eps, ln_a, one) for one in proposals), key=lambda found: found[0])
        return value, dual, radii

    def quick(self, ln_eps: Array) -> Array:
        """Costs that are nearly as small, for searches over many eps: splits are taken from a grid of multipliers."""
        found = np.full(len(ln_eps), math.inf)
        finite = np.flatnonzero(np.isfinite(ln_eps))
        block = max(1, _BLOCK // len(self.covers))  # mutants: any-split-is-a-bound
        for start in range(0, len(finite), block):
            rows = finite[start : start + block]
            found[rows] = self._quick(ln_eps[rows])
        return found

    def _quick(self, ln_eps: Array) -> Array:
        # A row per group: sums over the groups are sums of rows.
        ln_a = self.ln_reach[:, None, None] - ln_eps
        shares, falling = self._curve
        at = falling.searchsorted(-ln_eps)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # mutants: any-split-is-a-bound
            near = shares[:, np.minimum(np.maximum(at + _BOTH_SIDES, 0), len(falling) - 1)]
            proposals = np.concatenate([self._filled(ln_a, near), self._one_kind[..., None] - ln_a], axis=1)
            return np.asarray(self._costs(ln_eps, proposals).min(axis=0))

    @functools.cached_property
    def _curve(self) -> tuple[Array, Array]:
        """The best ln s (a row per group) along a grid of ln(mu/eps), and -ln of the eps that every such split uses."""
        # mutants: any-split-is-a-bound
        deepest = math.log(self.copies.sum()) + 80.0 + float(np.max(np.log(self._sizes)))
        # mutants: any-split-is-a-bound
        low, high = -float(np.max(self.ln_reach)) - 5.0, -float(np.min(self.ln_reach)) + deepest
        # mutants: any-split-is-a-bound
        grid = np.linspace(low, high, min(2048, 2_000_000 // len(self.covers) + 64, math.ceil(2.0 * (high - low))))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            _, shares, _ = self._best(self.ln_reach, grid)
            falling = -self._ln_total(self.ln_reach + shares)
        return np.ascontiguousarray(shares.T), np.maximum.accumulate(falling)

    def _filled(self, ln_a: Array, ln_share: Array) -> Array:
        """The shares in proportion, so that they use the budget; what was given up keeps its reach."""
        ln_mass = self._ln_copies[:, None, None] + ln_a + ln_share
        whole = ln_share >= 0.0  # mutants: any-split-is-a-bound
        room = 1.0 - 4.0 * _SLACK - np.where(whole, np.exp(ln_mass), 0.0).sum(axis=0)  # mutants: any-split-is-a-bound
        shift = np.log(room) - _ln_sum(np.where(whole, -np.inf, ln_mass), axis=0)
        scaled = np.where(whole, 0.0, np.minimum(ln_share + shift, -1e-300))  # mutants: any-split-is-a-bound
        return np.where(whole.all(axis=0) | ~(room > 0.0), ln_share, scaled)  # mutants: any-split-is-a-bound

    @functools.cached_property
    def _ln_copies(self) -> Array:
        return np.log(self.copies)

    @property
    def _sizes(self) -> Array:
        """A number of the order of each group's entropy at a moderate radius."""
        # mutants: any-split-is-a-bound
        return np.array([max(1.0, min(float(cover.parameters), cover.quadratic, 1e300)) for cover in self.covers])

    def _best(self, ln_a: Array, ln_mu: Array) -> tuple[Integers, Array, Array]:
        """For a batch of multipliers the kind of least phi + mu x of every group, its ln s and its phi + mu x."""
        slope = ln_mu[:, None] + ln_a
        ln_share, _ = self.options.shares(slope, corners=True)
        value = self.options.costs(ln_share) + np.exp(slope[..., None] + ln_share)
        value = np.where(self.options.present & ~np.isnan(value), value, np.inf)
        # Where all overflow, the smallest share is the cheapest.
        value = np.where(
            # mutants: any-split-is-a-bound
            np.isinf(value).all(-1, keepdims=True),
            np.where(self.options.present, ln_share, np.inf),
            value,
        )
        kind = np.argmin(value, axis=-1)  # mutants: any-split-is-a-bound
        return kind, _taken(ln_share, kind), _taken(value, kind)

    def _ln_total(self, ln_x: Array) -> Array:
        """ln of the sum of m x over the last axis."""
        return _ln_sum(self._ln_copies + ln_x)

    def _multipliers(self, ln_a: Array) -> tuple[float, float, float]:
        """A bracket of the root of ln sum m x(mu) = 0 in ln mu, and the best dual value: sum m min(phi + mu x) - mu."""
        low, high, dual = -64.0, 64.0, 0.0  # mutants: any-split-is-a-bound
        # mutants: any-split-is-a-bound
        points = 129 if len(self.covers) <= _EXCHANGED else 17  # small arrays cost what one number costs
        for _ in range(60):  # mutants: any-split-is-a-bound
            grid = np.linspace(low, high, points)
            _, share, value = self._best(ln_a, grid)
            over = self._ln_total(ln_a + share) > 0.0  # mutants: any-split-is-a-bound
            duals = np.sum(self.copies * value, axis=-1) - np.exp(grid)
            # mutants: any-split-is-a-bound
            dual = max(dual, float(np.max(duals, initial=0.0, where=np.isfinite(duals))))
            if over.all():
                low, high = high, high + 2.0 * (high - low)  # mutants: any-split-is-a-bound
            elif not over.any():
                low, high = low - 2.0 * (high - low), low  # mutants: any-split-is-a-bound
            else:
                last = int(np.flatnonzero(over)[-1])
                low, high = float(grid[last]), float(grid[min(last + 1, points - 1)])  # mutants: any-split-is-a-bound
            if abs(low) > 1e6 or high - low < 1e-4:  # mutants: any-split-is-a-bound
                break
        return low, high, dual

    def _fixed(self, ln_a: Array, kind: Integers, ln_mu: float) -> tuple[Array, Array]:
        """The convex problem with one kind per group (a batch of choices): least costs, inf if infeasible, and ln s."""
        free = kind != self.options.given_up
        spent = np.sum(np.where(free, 0.0, self.copies * np.exp(ln_a)), axis=-1)  # mutants: any-split-is-a-bound
        room = 1.0 - spent * (1.0 + 2.0 * _SLACK)  # mutants: any-split-is-a-bound
        ln_room = np.log(np.where(room > 0.0, room, 1.0))[:, None]  # mutants: any-split-is-a-bound
        at = np.full((len(kind), 1), ln_mu)  # mutants: any-split-is-a-bound
        for _ in range(20):  # mutants: any-split-is-a-bound
            shares, rates = self.options.shares(at + ln_a, corners=False)
            ln_x = np.where(free, ln_a + _taken(shares, kind), -np.inf)
            total = self._ln_total(ln_x)[:, None]
            weights = self.copies * np.exp(ln_x - total)
            # mutants: any-split-is-a-bound
            derivative = np.sum(np.where(free, weights * _taken(rates, kind), 0.0), axis=-1, keepdims=True)
            # mutants: any-split-is-a-bound
            gap = np.where((room > 0.0)[:, None] & np.isfinite(total), ln_room - total, 0.0)
            # mutants: any-split-is-a-bound
            step = np.minimum(np.maximum(gap / np.minimum(derivative, -0.02), -40.0), 40.0)
            at = at + step
            # The cost is flat around the root: an error of 1e-5 there is one of 1e-10 here.
            if np.max(np.abs(step)) < 1e-5:  # mutants: any-split-is-a-bound
                break
        # Scaled to the room exactly; what would pass its reach stops there.
        shift = np.where(free.any(-1)[:, None], ln_room - total - 4.0 * _SLACK, 0.0)  # mutants: any-split-is-a-bound
        # mutants: any-split-is-a-bound
        ln_share = np.where(free, np.minimum(ln_x - ln_a + np.clip(shift, -60.0, 60.0), 0.0), 0.0)
        # mutants: any-split-is-a-bound
        cost = _taken(self.options.costs(np.repeat(ln_share[..., None], self.options.given_up + 1, -1)), kind)
        # mutants: any-split-is-a-bound
        totals = np.where(np.where(free.any(-1), room > 0.0, room >= 0.0), np.sum(self.copies * cost, axis=-1), np.inf)
        return np.where(np.isnan(totals), np.inf, totals), ln_share

    def _exchange(self, ln_a: Array, cost: float, share: Array, kind: Integers, ln_mu: float) -> tuple[Array, Integers]:
        """Change the kind of the single group that helps most, until none does: ln s and kinds of what is reached."""
        other = self.options.present.copy()
        for _ in range(len(self.covers) + 8):  # mutants: any-split-is-a-bound
            other[:] = self.options.present
            other[np.arange(len(kind)), kind] = False
            groups, columns = np.nonzero(other)
            moved = np.repeat(kind[None], len(groups), 0)
            moved[np.arange(len(groups)), groups] = columns
            costs, shares = self._fixed(ln_a, moved, ln_mu)
            best = int(np.argmin(costs))
            if not costs[best] < cost * (1.0 - 1e-9):  # mutants: any-split-is-a-bound
                break
            cost, share, kind = float(costs[best]), shares[best], moved[best]
        return share, kind

    def _settled(self, ln_a: Array, ln_share: Array, kind: Integers) -> Array:
        """Tables at corners: rounded to the finer one, then what fits the budget made coarser, largest gain first."""
        settled = ln_share.copy()
        first = self.options.given_up - len(self.options.tables)
        corners: dict[int, tuple[Array, Array, int]] = {}
        for column, kinds in enumerate(self.options.tables, first):
            for one, groups in kinds:
                hull = _hull(one.base)
                for g in groups:
                    if kind[g] == column and ln_share[g] < 0.0:  # mutants: any-split-is-a-bound
                        steps = np.maximum(hull.x - one.shift, 0.0)  # mutants: any-split-is-a-bound
                        # mutants: any-split-is-a-bound
                        at = min(int(np.searchsorted(steps, -ln_share[g] - 1e-9)), len(steps) - 1)
                        costs = np.where(steps > 0.0, one.factor * hull.value, 0.0)  # mutants: any-split-is-a-bound
                        corners[g], settled[g] = (steps, costs, at), -steps[at]
        movable = [g for g in range(len(kind)) if kind[g] < first]
        mass = self.copies * np.exp(ln_a + settled)
        room = 1.0 - 4.0 * _SLACK - float(np.sum(mass))  # mutants: any-split-is-a-bound
        if movable:
            # Kinds with a closed form take what is left.
            own = float(np.sum(mass[movable]))
            if own + room > 0.0:  # mutants: any-split-is-a-bound
                # mutants: any-split-is-a-bound
                settled[movable] = np.minimum(settled[movable] + math.log((own + room) / own), 0.0)
            return settled
        while True:
            best, gain = None, 0.0  # mutants: any-split-is-a-bound
            for g, (steps, costs, at) in corners.items():
                # mutants: any-split-is-a-bound
                fits = steps[:at][self._freed(ln_a[g], steps[:at], steps[at]) * self.copies[g] <= room]
                # mutants: any-split-is-a-bound
                if len(fits) and self.copies[g] * (costs[at] - costs[at - len(fits)]) > gain:
                    best, gain = (g, at - len(fits)), self.copies[g] * (costs[at] - costs[at - len(fits)])
            if best is None:
                return settled
            g, to = best
            steps, costs, at = corners[g]
            room -= float(self.copies[g] * self._freed(ln_a[g], steps[to], steps[at]))
            corners[g], settled[g] = (steps, costs, to), -steps[to]

    @staticmethod
    def _freed(ln_a: float, coarse: Array, fine: Array) -> Array:
        """a (e^-coarse - e^-fine), capped at 1e300."""
        # mutants: ends-of-the-floats
        return np.asarray(np.exp(np.minimum(ln_a - coarse, 690.0)) - np.exp(np.minimum(ln_a - fine, 690.0)))

    @functools.cached_property
    def _one_kind(self) -> Array:
        """ln of the parts of eps in splits of one kind for all, the same for every eps; a row per group.

        For covers c/eps^2, for volumes, and their geometric mean.
        """
        quadratic = np.array([cover.quadratic for cover in self.covers], dtype=np.float64)
        parameters = np.array([cover.parameters for cover in self.covers], dtype=np.float64)
        # mutants: any-split-is-a-bound
        logs = [np.log(quadratic) / 3.0 + 2.0 / 3.0 * self.ln_reach, np.log(parameters)]
        found = [ln_x - self._ln_total(ln_x) for ln_x in logs if np.all(np.isfinite(ln_x))]
        if len(found) == 2:  # mutants: any-split-is-a-bound
            mean = (found[0] + found[1]) / 2.0  # mutants: any-split-is-a-bound
            found.append(mean - self._ln_total(mean))
        return np.array(found).reshape(len(found), len(self.covers)).T

    def _costs(self, ln_eps: Array, ln_share: Array) -> Array:
        """`_evaluate` for many shares of each eps (groups x proposals x eps): rounded up; inf if they cannot fit."""
        ln_reach, ln_beta, copies = (row[:, None, None] for row in (self.ln_reach, self.ln_beta, self.copies))
        ln_radius = np.array([cover.ln_radius for cover in self.covers])[:, None, None]
        far, ln_a, beta = np.abs(ln_eps), ln_reach - ln_eps, np.abs(ln_beta)
        whole = ln_share >= 0.0
        raised = ln_a + 8.0 * _UNIT * (far + (beta + np.abs(ln_reach) + 1.0))  # mutants: rounding-margins
        reach = copies * np.exp(np.minimum(raised, 700.0))  # mutants: ends-of-the-floats
        spent = np.where(whole, reach, 0.0).sum(axis=0) * (1.0 + _SLACK)  # mutants: rounding-margins
        ln_x = np.where(whole, -np.inf, ln_a + ln_share)
        ln_rest = _ln_sum(self._ln_copies[:, None, None] + ln_x, axis=0)
        # mutants: ends-of-the-floats, rounding-margins
        over = spent + np.exp(np.minimum(ln_rest, 700.0)) * (1.0 + _SLACK) > 1.0
        ln_x += np.where(over, np.log(1.0 - spent) - ln_rest - 4.0 * _SLACK, 0.0)  # mutants: rounding-margins
        total = spent + (copies * np.exp(ln_x)).sum(axis=0) * (1.0 + _SLACK)  # mutants: rounding-margins
        # mutants: rounding-margins
        x = ln_radius - (ln_eps + ln_x - ln_beta - 8.0 * _UNIT * (far + np.abs(ln_x) + (beta + np.abs(ln_radius))))
        # A group that is given up stays at its centre and costs nothing.
        paid = ~whole & (x > 0.0)
        # mutants: nobody-looks
        rows = zip(self.covers, np.where(paid, x, 1.0), strict=True)
        found = np.stack([sizes(cover.entropy, row) for cover, row in rows])
        costs = (np.where(paid, found, 0.0) * copies).sum(axis=0)
        return np.where(total <= 1.0, costs * (1.0 + _SLACK), np.inf)  # mutants: rounding-margins

    def _evaluate(self, ln_eps: float, ln_a: Array, ln_share: Array) -> tuple[float, Array]:
        """What the shares really cost, rounded up, and ln of the radii; they are made feasible first."""
        # mutants: rounding-margins
        raised = ln_a + 8.0 * _UNIT * (abs(ln_eps) + np.abs(self.ln_beta) + np.abs(self.ln_reach) + 1.0)
        whole = ln_share >= 0.0
        # mutants: ends-of-the-floats, rounding-margins
        spent = math.fsum(self.copies[whole] * np.exp(np.minimum(raised[whole], 700.0))) * (1.0 + _SLACK)
        ln_x = ln_a + ln_share
        ln_rest = _log_sum(np.log(self.copies[~whole]) + ln_x[~whole]) if not whole.all() else -math.inf
        # mutants: ends-of-the-floats, rounding-margins
        if spent + math.exp(min(ln_rest, 700.0)) * (1.0 + _SLACK) > 1.0:
            if not spent < 1.0:  # mutants: rounding-margins
                return math.inf, np.full(len(self.covers), -math.inf)
            ln_x = ln_x + math.log(1.0 - spent) - ln_rest - 4.0 * _SLACK  # mutants: rounding-margins
        # mutants: rounding-margins
        if spent + math.fsum(self.copies[~whole] * np.exp(ln_x[~whole])) * (1.0 + _SLACK) > 1.0:
            return math.inf, np.full(len(self.covers), -math.inf)
        radii, costs = np.full(len(self.covers), math.inf), []
        for g in np.flatnonzero(~whole):
            sizes = abs(ln_eps) + abs(ln_x[g]) + abs(self.ln_beta[g]) + abs(self.covers[g].ln_radius)
            radii[g] = ln_eps + ln_x[g] - self.ln_beta[g] - 8.0 * _UNIT * sizes  # mutants: rounding-margins
            costs.append(self.copies[g] * self.covers[g].log_size_ln(float(radii[g])))
        return math.fsum(costs) * (1.0 + _SLACK), radii  # mutants: rounding-margins


def _ln_sum(parts: Array, axis: int = -1) -> Array:
    """ln of the sum of exp(parts) over an axis; nothing is as good as exp(-1e300)."""
    top = np.maximum(parts.max(axis=axis, keepdims=True), -1e300)  # mutants: nobody-looks
    return np.asarray(np.log(np.exp(parts - top).sum(axis=axis)) + top.squeeze(axis))


def _taken(table: Array, column: Integers) -> Array:
    """table[..., g, column[..., g]]."""
    return np.asarray(np.take_along_axis(table, column[..., None], -1)[..., 0])
