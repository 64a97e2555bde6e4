r"""Covers in coordinates, and the prior mass that replaces them: what a real vector z in few coordinates costs.

A network f_z with D real parameters is certified through the change of f under a change of z.

- *Cover of coordinates*: a finite set C, every z within gamma/2 of it in sup norm over the whole domain: ln |C| nats.
- *Soft cover*: a probability P, and a set V of parameters within gamma/2 of z: -ln P(V) nats, never more than a cover.
- *Local cover*: V a ball B(z, r), and the change of f **at the examples** under weights within 2r: no domain.

In each case R(z) <= U(k, n, delta pi exp(-nats)) for all z at once, k counting the examples with margin at most gamma
(at most their own change, for the local cover), pi the weight of the grid cell. docs/proofs/coordinate-covers.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import scipy
from certiformer.theory.core.rounding import up

_SERIES = 20_000  # mutants: search-effort


def box_nats(L: Sequence[float], R: Sequence[float], gamma: float) -> float:
    r"""ln N = sum_j ln ceil(R_j/eps_j), eps_j = gamma/(2 D L_j).

    For |f_z - f_z'| <= sum_j L_j |z_j - z_j'| on every input, and |z_j| <= R_j.

    Equal shares gamma/(2D) of the change minimise sum_j ln(R_j/eps_j). Quotients are exact fractions of the decimals.
    """
    _check_box(L, R, gamma)
    pairs = [(_exact(slope), _exact(radius)) for slope, radius in zip(L, R, strict=True) if slope > 0]
    width = _exact(gamma) / (2 * max(1, len(pairs)))
    return up(math.fsum(math.log(max(1, math.ceil(radius * slope / width))) for slope, radius in pairs))


def cross_polytope_nats(L: Sequence[float], R: Sequence[float], gamma: float) -> float:
    r"""ln D! + sum_j ln(1 + 2 L_j R_j/gamma): V = {sum_j L_j |z_j - z_j'| <= gamma/2}, P uniform on a box.

    The box |z_j| <= R_j + gamma/(2 L_j) contains V; V has volume gamma^D/(D! prod L_j).
    """
    _check_box(L, R, gamma)
    pairs = [(slope, radius) for slope, radius in zip(L, R, strict=True) if slope > 0]
    volume = math.fsum(math.log1p(2.0 * slope * radius / gamma) for slope, radius in pairs)
    return up(math.lgamma(len(pairs) + 1.0) + volume)


def ball_cover_nats(dimension: int, radius: float, eps: float) -> float:
    """ln N = D ln(1 + 2R/eps): a maximal packing of the ball of radius R in any norm."""
    _check_ball(dimension, radius, eps)
    return up(dimension * math.log1p(2.0 * radius / eps))


def ball_nats(dimension: int, radius: float, rho: float) -> float:
    """-ln mass = D ln(1 + R/rho): P uniform on the ball of radius R + rho, V a ball of radius rho about |z| <= R."""
    _check_ball(dimension, radius, rho)
    return up(dimension * math.log1p(radius / rho))


def sphere_cover_nats(dimension: int, eps: float) -> float:
    r"""ln N = ln[((1+e)^D - (1-e)^D)/e^D], e = eps/2: a maximal separated set of the unit sphere in R^D."""
    _check_sphere(dimension, eps)
    e = eps / 2.0
    # (1+e)^D (1 - ((1-e)/(1+e))^D)
    inner = dimension * (math.log1p(-e) - math.log1p(e)) if e < 1.0 else -math.inf
    return up(dimension * (math.log1p(e) - math.log(e)) + math.log(-math.expm1(inner)))


def cap_nats(dimension: int, rho: float) -> float:
    r"""-ln of the share of the sphere S^{D-1} within distance rho <= sqrt 2 of a point.

    .. math:: \tfrac12 I_{\sin^2\theta}\bigl(\tfrac{D-1}2, \tfrac12\bigr), \quad \theta = 2\arcsin(\rho/2)

    In logarithms: I_x(a, b) = x^a (1-x)^b/(a B(a, b)) sum_j c_j, c_0 = 1, c_{j+1} = c_j x (a+b+j)/(a+1+j), all terms
    positive, so that cutting the sum errs towards more nats.
    """
    _check_sphere(dimension, rho)
    if rho > math.sqrt(2.0):
        raise InputError("rho", rho, "at most sqrt(2), half of the sphere")
    a, x = (dimension - 1) / 2.0, min(1.0, rho * rho * (1.0 - rho * rho / 4.0))  # mutants: same-for-every-value
    direct = float(scipy.special.betainc(a, 0.5, x))  # mutants: same-for-every-value
    if x > 0.5 and direct > 1e-280:  # mutants: ends-of-the-floats, same-for-every-value
        return up(-math.log(direct / 2.0 * (1.0 - 1e-13)))  # mutants: rounding-margins, same-for-every-value
    total, term = 1.0, 1.0  # mutants: same-for-every-value
    for j in range(_SERIES):
        term *= x * (a + 0.5 + j) / (a + 1.0 + j)  # mutants: same-for-every-value
        total += term
        if term < 1e-18 * total:  # mutants: rounding-margins
            break
    ln_share = (
        # mutants: same-for-every-value
        a * math.log(x) + 0.5 * math.log1p(-x) - math.log(a) - float(scipy.special.betaln(a, 0.5)) + math.log(total)
    )
    return up(math.log(2.0) - ln_share)


def _exact(value: float) -> Fraction:
    # A float stands for the shortest decimal that denotes it: 2/0.1 is 20, not 19.999999999999996.
    return Fraction(repr(float(value)))


def _check_box(L: Sequence[float], R: Sequence[float], gamma: float) -> None:
    if len(L) != len(R):
        raise InputError("R", f"{len(R)} radii", f"one for each of the {len(L)} slopes L")
    if not 0.0 < gamma < math.inf:
        raise InputError("gamma", gamma, "a positive margin")
    if any(not 0.0 <= value < math.inf for value in (*L, *R)):
        raise InputError("L, R", (tuple(L), tuple(R)), "finite numbers, at least 0")


def _check_ball(dimension: int, radius: float, rho: float) -> None:
    if dimension < 0:
        raise InputError("dimension", dimension, "at least 0")
    if not (0.0 <= radius < math.inf and 0.0 < rho < math.inf):
        raise InputError("radius, rho", (radius, rho), "a finite radius and a positive rho")


def _check_sphere(dimension: int, eps: float) -> None:
    if dimension < 2:
        raise InputError("dimension", dimension, "at least 2: a sphere in R^D")
    if not 0.0 < eps <= 2.0:
        raise InputError("eps", eps, "a distance in (0, 2]")
