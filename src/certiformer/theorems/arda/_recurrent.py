r"""Constants of a recurrent unit in theta = (u, w): h_t = sigma(w^T x_t + u h_{t-1}), h_0 = 0, ||x_t|| <= 1, |u| <= U.

With z_t the argument of sigma at time t, and prev = 0 at t = 1, s0 later:

    dz <- min( sqrt(1 + prev^2) + U G,  hypot(1 + U Lw, prev + U Lu) )      bound on ||grad z_t||
    L2 <- s2 dz^2 + s1 (G + min(G, Lu) + U L2)                               ||e g^T + g e^T|| = ||g|| + |g.e|
    Lw <- s1 (1 + U Lw),   Lu <- s1 (prev + U Lu),   G <- s1 dz              (old values on the right)

Geometric growth in the sequence length once s1 U > 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from certiformer.calculus.activations import Activation


@dataclass(frozen=True, slots=True)
class RecurrentUnit:
    """Bounds on ||grad_w h_T||, |dh_T/du|, ||grad h_T|| and on the Hessian of h_T."""

    Lw: float
    Lu: float
    L1: float
    L2: float


def recurrent_unit(sigma: Activation, T: int, U: float) -> RecurrentUnit:
    """The recursion after T steps; inf where it overflows."""
    unit = RecurrentUnit(0.0, 0.0, 0.0, 0.0)
    prev = 0.0
    for _ in range(T):
        following = _step(sigma, unit, prev, U)
        if following == unit:
            break  # a fixed point: nothing changes any more
        unit, prev = following, sigma.s0
    return unit


def _step(sigma: Activation, old: RecurrentUnit, prev: float, U: float) -> RecurrentUnit:
    by_norm = math.hypot(1.0, prev) + U * old.L1
    by_block = math.hypot(1.0 + U * old.Lw, prev + U * old.Lu)
    dz = min(by_norm, by_block)
    return RecurrentUnit(
        Lw=sigma.s1 * (1.0 + U * old.Lw),
        Lu=sigma.s1 * (prev + U * old.Lu),
        L1=sigma.s1 * dz,
        L2=sigma.s2 * dz * dz + sigma.s1 * (old.L1 + min(old.L1, old.Lu) + U * old.L2),
    )
