import math

from certiformer.theory.calculus.activations import Activation
from certiformer.theory.core import Quantity, Status, Variants, printed_value, upper_bound
from certiformer.theory.theorems.arda._descent import Radii, output_envelope
from certiformer.theory.theorems.arda._heads import in_pairs
from certiformer.theory.theorems.arda._setting import (
    SYMMETRIC,
    UNIT_BALL,
    Activated,
    Projected,
    RealisedHeads,
    Transported,
)
from certiformer.theory.theorems.arda.definition_2 import constants_near_start, head_norm


def target_envelope(sigma: Activation, nu: Radii) -> float:
    """s0 nu_c + s1 nu_u + s1 nu_w."""
    return sigma.s0 * nu.c + sigma.s1 * nu.u + sigma.s1 * nu.w


def joint_target_envelope(sigma: Activation, nu: Radii) -> float:
    """s0 nu_c + s1 max_r (r nu_u + (1 - r^2) nu_w); the maximum is at r = nu_u/(2 nu_w), or at r = 1."""
    reach = nu.w + nu.u * (nu.u / (4.0 * nu.w)) if nu.u < 2.0 * nu.w else nu.u
    return sigma.s0 * nu.c + sigma.s1 * reach


class Lemma6(Activated, Projected, Transported, RealisedHeads):
    r"""Envelopes of the network and of its target.

    How far outputs and targets reach: of the trained network (a priori, at the exact quantile, or at the realised
    norms), and of a transported target, whose blocks are bounded jointly (||a||^2 + E||Mu|| <= 1).

    Printed: sup |f| <= s0 rho_c + L1 rho_theta; sup |f*| <= s0 nu_c + s1 nu_u + s1 nu_w sqrt(d)
    .. math:: |f|\le\sigma_0\rho_c+L_1\rho_\theta,\quad|f^*|\le\sigma_0\nu_c+\sigma_1\nu_u+\sigma_1\nu_w\sqrt d
    Sound: value, exact, init: s0 rho_c + L1 rho_theta with L1 = s1 max(1, B); target: s0 nu_c + s1 nu_u + s1 nu_w;
    target_joint: s0 nu_c + s1 (nu_w + nu_u^2/(4 nu_w)) if nu_u < 2 nu_w, else s0 nu_c + s1 nu_u.
    .. math:: |f^*|\le s_0\nu_c+s_1\max_{0\le r\le1}\bigl(r\,\nu_u+(1-r^2)\,\nu_w\bigr).
    Because: rebuilt from the proof (confidence high, sqrt(d) medium); true, but the dimension is not needed
    Assumes:
    - symmetric initialisation
    - tokens and query in the unit ball
    - f* in F_nu
    """

    id = "arda.lem6"
    place = "Appendix A.7, Lemma 6"
    bounds, status = Quantity.OUTPUT_CHANGE, Status.RECONSTRUCTED
    monotone = "+d +rho_c +rho_u +rho_w -delta_R"

    def printed(self) -> Variants:
        sigma = self.sigma
        B = head_norm(self.m, self.d, self.rho_u, self.delta_R)
        network = sigma.s0 * self.rho_c + sigma.s1 * math.hypot(1.0, B) * math.hypot(self.rho_u, self.rho_w)
        target = target_envelope(sigma, Radii(self.nu_c, self.nu_u, self.nu_w * math.sqrt(self.d)))
        return {
            "value": printed_value(network, note="reconstructed, confidence high; its L1 with confidence medium"),
            "target": printed_value(target, bounds=Quantity.CONSTANT, note="reconstructed, confidence medium"),
        }

    def sound(self) -> Variants:
        sigma, nu = self.sigma, self.nu
        surely = (in_pairs(self.m), UNIT_BALL)
        variants = {}
        for name, units in constants_near_start(sigma, self, self).items():
            hypotheses = surely if name == "init" else (*surely, SYMMETRIC)
            variants[name] = upper_bound(output_envelope(units, self.rho), hypotheses=hypotheses)
        on_target = (UNIT_BALL,)
        return variants | {
            "target": upper_bound(target_envelope(sigma, nu), hypotheses=on_target, bounds=Quantity.CONSTANT),
            "target_joint": upper_bound(
                joint_target_envelope(sigma, nu), hypotheses=on_target, bounds=Quantity.CONSTANT
            ),
        }
