import math

from certiformer.theory.calculus.activations import Activation
from certiformer.theory.core import Quantity, Status, Variants, printed_value, upper_bound
from certiformer.theory.theorems.arda._heads import (
    UnitConstants,
    averaged,
    common,
    exact_radius,
    gaussian_radius,
    in_pairs,
    initial_norms,
)
from certiformer.theory.theorems.arda._setting import SYMMETRIC, GaussianHeads, Projected, RealisedHeads


def head_norm(m: int, d: int, rho_u: float, delta_R: float) -> float:
    """B = sqrt(d) + R + rho_u/sqrt(m)."""
    return math.sqrt(d) + gaussian_radius(m, delta_R) + rho_u / math.sqrt(m)


def exact_head_norm(m: int, d: int, rho_u: float, delta_R: float) -> float:
    """The same with the exact quantile of max ||u_i(0)||."""
    return exact_radius(m, d, delta_R) + rho_u / math.sqrt(m)


def constants_near_start(sigma: Activation, near: Projected, heads: RealisedHeads) -> dict[str, UnitConstants]:
    """The constants of the heads near their start: on E_R, at the exact quantile, with the norms that were drawn."""
    known = (near.m, heads.d, near.rho_u, heads.delta_R)
    found = {"value": common(sigma, head_norm(*known)), "exact": common(sigma, exact_head_norm(*known))}
    if heads.u_norms is not None:
        shift = near.rho_u / math.sqrt(near.m)
        found["init"] = averaged(sigma, [norm + shift for norm in initial_norms(heads.u_norms, near.m)])
    return found


class Definition2(Projected, GaussianHeads):
    r"""The neighbourhood of the initialisation.

    .. math:: |c_i-c_i(0)|\le\frac{\rho_c}{\sqrt m},\quad\|u_i-u_i(0)\|\le\frac{\rho_u}{\sqrt m},\quad
       \|W_i-W_i(0)\|_F\le\frac{\rho_w}{\sqrt m}

    Printed: on Omega_rho and E_R: |c_i| <= 1 + rho_c/sqrt(m), ||u_i|| <= B = sqrt(d) + R + rho_u/sqrt(m)
    .. math:: |c_i|\le1+\rho_c/\sqrt m,\quad\|u_i\|\le\sqrt d+R+\rho_u/\sqrt m
    Sound: The same with R = sqrt(2 ln(m/(2 delta_R))), probability at least 1 - delta_R; B_exact: the quantile of
    max ||u_i(0)|| plus rho_u/sqrt(m); distance: sqrt(rho_c^2 + rho_u^2 + rho_w^2).
    .. math:: |c_i|\le 1+\frac{\rho_c}{\sqrt m},\quad\|u_i\|\le\sqrt d+R+\frac{\rho_u}{\sqrt m},\quad
       R=\sqrt{2\ln\frac{m}{2\delta_R}}
    Because: the formulas are lost in our copy; the released code has the same projection (confidence high)
    Assumes:
    - symmetric initialisation with u_i ~ N(0, I_d)
    """

    place = "Definition 2, equation (9)"
    bounds, status = Quantity.CONSTANT, Status.RECONSTRUCTED

    def printed(self) -> Variants:
        note = "reconstructed, confidence high"
        return {
            "c": printed_value(1.0 + self.rho_c / math.sqrt(self.m), note=note),
            "B": printed_value(head_norm(self.m, self.d, self.rho_u, self.delta_R), note=note),
        }

    def sound(self) -> Variants:
        hypotheses = (in_pairs(self.m), SYMMETRIC)
        return {
            "c": upper_bound(1.0 + self.rho_c / math.sqrt(self.m)),
            "B": upper_bound(head_norm(self.m, self.d, self.rho_u, self.delta_R), hypotheses=hypotheses),
            "B_exact": upper_bound(exact_head_norm(self.m, self.d, self.rho_u, self.delta_R), hypotheses=hypotheses),
            "distance": upper_bound(
                math.hypot(self.rho_c, self.rho_u, self.rho_w), note="||phi - phi_0|| over all heads"
            ),
        }
