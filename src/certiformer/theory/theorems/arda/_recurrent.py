r"""Constants of a recurrent unit in theta = (u, w): h_t = sigma(w^T x_t + u h_{t-1}), h_0 = 0, ||x_t|| <= 1, |u| <= U.

With z_t the argument of sigma at time t, and prev = 0 at t = 1, s0 later:

    dz <- hypot(1 + U Lw, prev + U Lu)                          bound on ||grad z_t||, block by block
    L2 <- s2 dz^2 + s1 (hypot(Lw, Lu) + Lu + U L2)              ||e g^T + g e^T|| = ||g|| + |g.e|
    Lw <- s1 (1 + U Lw),   Lu <- s1 (prev + U Lu)               (old values on the right)

and L1 = hypot(Lw, Lu). Geometric growth in the sequence length once s1 U > 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from certiformer.theory.calculus.activations import Activation


@dataclass(frozen=True, slots=True)
class RecurrentUnit:
    """Bounds on ||grad_w h_T||, on |dh_T/du| and on the Hessian of h_T."""

    Lw: float
    Lu: float
    L2: float

    @property
    def L1(self) -> float:
        """Bound on the whole gradient of h_T."""
        return math.hypot(self.Lw, self.Lu)


def recurrent_unit(sigma: Activation, T: int, U: float) -> RecurrentUnit:
    """The recursion after T steps; inf where it overflows."""
    unit = RecurrentUnit(0.0, 0.0, 0.0)
    prev = 0.0
    for _ in range(T):
        following = _step(sigma, unit, prev, U)
        if following == unit:
            break  # a fixed point: nothing changes any more
        unit, prev = following, sigma.s0
    return unit


def _step(sigma: Activation, old: RecurrentUnit, prev: float, U: float) -> RecurrentUnit:
    drive_w, drive_u = 1.0 + U * old.Lw, prev + U * old.Lu
    dz = math.hypot(drive_w, drive_u)
    return RecurrentUnit(
        Lw=sigma.s1 * drive_w,
        Lu=sigma.s1 * drive_u,
        L2=sigma.s2 * dz * dz + sigma.s1 * (old.L1 + old.Lu + U * old.L2),
    )
