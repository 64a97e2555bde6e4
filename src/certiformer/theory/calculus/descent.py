r"""Gradient descent on a self-bounded, weakly convex loss: what a comparator near the start guarantees.

The loss L >= 0 is known through a norm b(theta), convex in theta, by four non-decreasing functions of b:

    ||grad L|| <= gradient(b) L,   ||grad l_i|| <= lipschitz(b),
    ||Hess L|| <= smoothness(b),   lambda_min(Hess L) >= -curvature(b) L.

On a segment of length x the last one reads f'' + q f >= 0 with q = curvature(b) x^2, and Sturm's comparison with
the sine replaces the usual convexity inequalities. Everything below follows from that (docs/proofs/deora.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from certiformer.theory.core.lazy import Array, np
from certiformer.theory.core.rounding import MARGIN

if TYPE_CHECKING:
    from numpy.typing import NDArray

Modulus = Callable[[Array | float], Array]

_SLACK = 1.0 + MARGIN
_LAMBERT = 20  # mutants: search-effort
_GRID = 300  # mutants: search-effort
_ZOOMS = 4  # mutants: search-effort
_REFINEMENTS = 8  # mutants: search-effort
_FINE_GRID = 101  # mutants: search-effort


class Sturm(NamedTuple):
    """s cot s, s / sin s, and 1 - s cot s without cancellation."""

    cotangent: Array
    cosecant: Array
    deficit: Array


@dataclass(frozen=True, slots=True)
class Landscape:
    """A loss seen through the norm b. `lift`: b is lift-Lipschitz in theta.

    A gradient step of size eta at loss L moves b by at most eta min(drift L, drift_cap).
    """

    gradient: Modulus
    lipschitz: Modulus
    smoothness: Modulus
    curvature: Modulus
    lift: float
    drift: float
    drift_cap: float


@dataclass(frozen=True, slots=True)
class Run:
    """K steps of size eta from theta_0, compared with a target theta.

    `D` = ||theta - theta_0||, `b` and `b0` the norms of theta and theta_0, `Lt` and `L0` their losses.
    """

    D: float
    b: float
    b0: float
    Lt: float
    L0: float
    K: int
    eta: float


@dataclass(frozen=True, slots=True)
class Certificate:
    """A solution of the self-consistency conditions, and what follows for every iterate k <= K.

    `angle` s in [0, pi/2) with curvature(B) distance^2 <= s^2; `distance` bounds ||theta_k - theta||; `B` bounds
    b(theta_k); `total` bounds sum_{k=1..K} L(theta_k).
    """

    angle: float
    distance: float
    B: float
    total: float

    @property
    def q(self) -> float:
        """The square of the angle: below pi^2 the segment is good."""
        return self.angle**2


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no certificate: `requires` failed, and by how much."""

    requires: str
    measured: float


def sturm(angle: Array | float) -> Sturm:
    r"""(s cot s, s/sin s, 1 - s cot s) for 0 <= s < pi; (1, 1, 0) at zero.

    From f'' + s^2 f >= 0 on [0, 1]:  f(1) s/sin s >= f(0) s cot s + f'(0).
    """
    s = np.asarray(angle, dtype=np.float64)
    # Lambert: 1 - s cot s = s^2/(3 - s^2/(5 - s^2/(7 - ...))), no cancellation at small s
    fraction = np.full_like(s, 2.0 * _LAMBERT + 3.0)  # mutants: same-for-every-value
    for k in range(_LAMBERT, 0, -1):
        fraction = 2.0 * k + 1.0 - s * s / fraction
    deficit = s * s / fraction
    return Sturm(1.0 - deficit, 1.0 / np.sinc(s / np.pi), deficit)


def segment_maximum(q: float) -> float:
    r"""max over a segment <= max of its ends / cos(sqrt(q)/2), for f'' + q f >= 0 and q < pi^2; inf beyond."""
    return 1.0 / math.cos(math.sqrt(q) / 2.0) if q < math.pi**2 else math.inf


def iterate_loss(q: float, target_loss: float, inner: float) -> float:
    r"""L(theta_k) <= L(theta)/cos s + inner tan(s)/s, inner = <grad L(theta_k), theta_k - theta>, s = sqrt q < pi/2."""
    s = math.sqrt(q)
    if s >= math.pi / 2:
        return math.inf
    c = sturm(s)
    return float((c.cosecant * target_loss + inner) / c.cotangent)


def regret(angle: float, run: Run) -> float:
    r"""sum_{k=1..K} L(theta_k) <= [K c1 Lt + (1 - c0) L0 + D^2/(2 eta)]/c0, c0 = s cot s, c1 = s/sin s, s < pi/2."""
    if angle >= math.pi / 2:
        return math.inf
    return float(_total(sturm(angle), run))


def certify(landscape: Landscape, run: Run) -> Certificate | Refusal:
    """The least solution of the self-consistency conditions, verified with outward rounding; or why there is none.

    Given s, the regret bound gives the distance and the norm B of every iterate, hence q(s) = curvature(B) distance^2;
    the induction closes for any s < pi/2 with q(s) <= s^2 and eta smoothness(B + one step) <= 1. All quantities grow
    with s, so the least s is the best.
    """
    angle = _least_angle(landscape, run)
    if angle is None:
        ratio = _best_ratio(landscape, run)
        return Refusal("some s < pi/2 with beta3(B) (r D)^2 / sqrt(H) <= s^2: enough heads for this distance", ratio)
    state = _at(np.asarray(angle), landscape, run)
    reach = state.B + run.eta * min(landscape.drift * run.L0, landscape.drift_cap)
    step = run.eta * float(landscape.smoothness(reach))
    if not step * _SLACK <= 1.0:
        return Refusal("eta beta2 <= 1 at every iterate: a step size below the inverse smoothness", step)
    return Certificate(angle, float(state.distance), float(state.B), float(state.total))


def log_stability(landscape: Landscape, run: Run, certificate: Certificate, n: int) -> float:
    r"""ln of the mean leave-one-out distance (eta gradient(B)/n) e^A Z, Z = L0 + total, A = 2 eta curvature(B) Z/cos s.

    The same certificate holds for each leave-one-out run, whose loss is smaller; two runs are at most 2 distance
    apart, so the loss between them is at most 1/cos s times the larger end.
    """
    losses = run.L0 + certificate.total
    if losses == 0.0:
        return -math.inf
    B = certificate.B
    growth = 2.0 * run.eta * float(landscape.curvature(B)) * losses / math.cos(certificate.angle)
    return growth + math.log(run.eta * float(landscape.gradient(B)) * losses / n)


def least_count(exists: Callable[[int], bool], limit: int) -> int | None:
    """The least whole number from 1 to `limit` with a monotone property; None if even the limit lacks it."""
    high = 1  # mutants: search-effort
    while not exists(high):
        if high >= limit:
            return None
        high = min(4 * high, limit)
    low = high // 4 if high > 1 else 0  # mutants: search-effort
    while high - low > 1:  # mutants: search-effort
        middle = (low + high) // 2
        if exists(middle):
            high = middle
        else:
            low = middle
    return high


class _State(NamedTuple):
    distance: Array
    B: Array
    total: Array
    q: Array


def _total(c: Sturm, run: Run) -> Array:
    return (run.K * c.cosecant * run.Lt + c.deficit * run.L0 + run.D * run.D / (2.0 * run.eta)) / c.cotangent


def _at(angle: Array, landscape: Landscape, run: Run) -> _State:
    """What follows from an angle: the distance, the norm and the total loss, and the q they imply."""
    c = sturm(angle)
    total = _total(c, run)
    # ||theta_k - theta||^2 <= D^2 + 2 eta (K c1 Lt + (1 - c0) L0), from the same telescoping sum
    square = run.D * run.D + 2.0 * run.eta * (run.K * c.cosecant * run.Lt + c.deficit * run.L0)
    distance = np.sqrt(square)
    # b moves by at most lift * distance from the target, and by at most drift * (sum of losses) from the start
    near_target = run.b + landscape.lift * distance
    near_start = run.b0 + run.eta * landscape.drift * (run.L0 + total)
    B = np.maximum(max(run.b, run.b0), np.minimum(near_target, near_start))
    with np.errstate(over="ignore"):
        return _State(distance, B, total, landscape.curvature(B) * square)


def _feasible(angle: Array, landscape: Landscape, run: Run) -> NDArray[np.bool_]:
    return np.asarray(_at(angle, landscape, run).q * _SLACK <= angle * angle)


def _grid(landscape: Landscape, run: Run) -> Array | None:
    """Angles from the least conceivable one, sqrt(q(0)), to pi/2: q grows with s, so nothing below can be feasible."""
    start = math.sqrt(float(_at(np.asarray(0.0), landscape, run).q))
    stop = math.pi / 2 * (1.0 - 1e-9)  # mutants: search-effort
    if not start < stop:
        return None
    linear = np.linspace(start, stop, _GRID)
    geometric = np.geomspace(max(start, 1e-12), stop, _GRID)  # mutants: rounding-margins
    return np.unique(np.concatenate([[start], linear, geometric[geometric > start]]))  # mutants: search-effort


def _least_angle(landscape: Landscape, run: Run) -> float | None:
    grid = _grid(landscape, run)
    if grid is None:
        return None
    for _ in range(_ZOOMS):
        feasible = _feasible(grid, landscape, run)
        if feasible.any():
            first = int(np.argmax(feasible))
            return (
                float(grid[0]) if first == 0 else _boundary(float(grid[first - 1]), float(grid[first]), landscape, run)
            )
        # close to tangency the feasible angles may hide between two grid points: look closer where q/s^2 is least
        best = int(np.argmin(_at(grid, landscape, run).q / np.maximum(grid * grid, 1e-300)))  # mutants: search-effort
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], _GRID)  # mutants: search-effort
    return None


def _boundary(low: float, high: float, landscape: Landscape, run: Run) -> float:
    """The least feasible angle between an infeasible `low` and a feasible `high`."""
    for _ in range(_REFINEMENTS):
        grid = np.linspace(low, high, _FINE_GRID)
        first = max(int(np.argmax(_feasible(grid, landscape, run))), 1)  # mutants: search-effort
        low, high = float(grid[first - 1]), float(grid[first])  # mutants: search-effort
    return high


def _best_ratio(landscape: Landscape, run: Run) -> float:
    """The least q(s)/s^2 on the grid: above one, no angle closes the induction."""
    grid = _grid(landscape, run)
    if grid is None:
        return math.inf
    return float(np.min(_at(grid, landscape, run).q / np.maximum(grid * grid, 1e-300)))  # mutants: search-effort
