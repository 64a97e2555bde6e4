r"""Lemma 6: how large the network and its target can be.

Printed (rebuilt), on E_R:

.. math:: \sup_{\Omega_\rho}|f|\le s_0\rho_c+L_1\rho_\theta,\qquad
          \sup_{F_\nu}|f^*|\le s_0\nu_c+s_1\nu_u+s_1\nu_w\sqrt d

Sound: the first with the constants of Lemma 2 (a priori, exact quantile, or realised norms); the second without sqrt(d)
(E||Mu|| <= 1), and jointly, since ||a||^2 + E||Mu|| <= 1,

.. math:: |f^*|\le s_0\nu_c+s_1\max_{0\le r\le1}\bigl(r\,\nu_u+(1-r^2)\,\nu_w\bigr).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.calculus.activations import Activation
from certiformer.calculus.activations import activation as find_activation
from certiformer.core import Quantity, Result, Status, Variants, printed_value, upper_bound, verified
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._descent import Radii, output_envelope
from certiformer.theorems.arda._heads import averaged, common, initial_norms
from certiformer.theorems.arda._inputs import (
    ACTIVATION,
    DELTA_R,
    DIMENSION,
    NU,
    RHO,
    SYMMETRIC,
    U_NORMS,
    UNIT_BALL,
    WIDTH,
)
from certiformer.theorems.arda.definition_2 import exact_head_norm, head_norm


def target_envelope(sigma: Activation, nu: Radii) -> float:
    """s0 nu_c + s1 nu_u + s1 nu_w."""
    return sigma.s0 * nu.c + sigma.s1 * nu.u + sigma.s1 * nu.w


def joint_target_envelope(sigma: Activation, nu: Radii) -> float:
    """s0 nu_c + s1 max_r (r nu_u + (1 - r^2) nu_w); the maximum is at r = nu_u/(2 nu_w), or at r = 1."""
    reach = nu.w + nu.u * (nu.u / (4.0 * nu.w)) if nu.u < 2.0 * nu.w else nu.u
    return sigma.s0 * nu.c + sigma.s1 * reach


def printed(
    activation: str,
    m: int,
    d: int,
    rho_c: float,
    rho_u: float,
    rho_w: float,
    nu_c: float,
    nu_u: float,
    nu_w: float,
    delta_R: float,
    u_norms: Sequence[float] | None,
) -> Variants:
    sigma = find_activation(activation)
    B = head_norm(m, d, rho_u, delta_R)
    network = sigma.s0 * rho_c + sigma.s1 * math.hypot(1.0, B) * math.hypot(rho_u, rho_w)
    target = target_envelope(sigma, Radii(nu_c, nu_u, nu_w * math.sqrt(d)))
    return {
        "value": printed_value(network, note="reconstructed, confidence high; its L1 with confidence medium"),
        "target": printed_value(target, bounds=Quantity.CONSTANT, note="reconstructed, confidence medium"),
    }


def sound(
    activation: str,
    m: int,
    d: int,
    rho_c: float,
    rho_u: float,
    rho_w: float,
    nu_c: float,
    nu_u: float,
    nu_w: float,
    delta_R: float,
    u_norms: Sequence[float] | None,
) -> Variants:
    sigma, rho, nu = find_activation(activation), Radii(rho_c, rho_u, rho_w), Radii(nu_c, nu_u, nu_w)
    even = verified("m is even: the heads come in pairs", m % 2 == 0, m)
    by_chance = (even, UNIT_BALL, SYMMETRIC)
    variants = {
        name: upper_bound(output_envelope(common(sigma, B), rho), checks=by_chance)
        for name, B in (
            ("value", head_norm(m, d, rho_u, delta_R)),
            ("exact", exact_head_norm(m, d, rho_u, delta_R)),
        )
    }
    if u_norms is not None:
        norms = [norm + rho_u / math.sqrt(m) for norm in initial_norms(u_norms, m)]
        variants["init"] = upper_bound(output_envelope(averaged(sigma, norms), rho), checks=(even, UNIT_BALL))
    on_target = (UNIT_BALL,)
    return variants | {
        "target": upper_bound(target_envelope(sigma, nu), checks=on_target, bounds=Quantity.CONSTANT),
        "target_joint": upper_bound(joint_target_envelope(sigma, nu), checks=on_target, bounds=Quantity.CONSTANT),
    }


RESULT = Result(
    id="arda.lem6",
    title="Envelopes of the network and of its target",
    paper=ARDA,
    place="Appendix A.7, Lemma 6",
    bounds=Quantity.OUTPUT_CHANGE,
    statement="sup |f| <= s0 rho_c + L1 rho_theta; sup |f*| <= s0 nu_c + s1 nu_u + s1 nu_w sqrt(d)",
    latex=r"|f|\le\sigma_0\rho_c+L_1\rho_\theta,\quad|f^*|\le\sigma_0\nu_c+\sigma_1\nu_u+\sigma_1\nu_w\sqrt d",
    sound_statement=(
        "value, exact, init: s0 rho_c + L1 rho_theta with L1 = s1 max(1, B); target: s0 nu_c + s1 nu_u + s1 nu_w; "
        "target_joint: s0 nu_c + s1 (nu_w + nu_u^2/(4 nu_w)) if nu_u < 2 nu_w, else s0 nu_c + s1 nu_u."
    ),
    inputs=(ACTIVATION, WIDTH, DIMENSION, *RHO, *NU, DELTA_R, U_NORMS),
    status=Status.RECONSTRUCTED,
    reason="rebuilt from the proof (confidence high, sqrt(d) medium); true, but the dimension is not needed",
    printed=printed,
    sound=sound,
    assumptions=("symmetric initialisation", "tokens and query in the unit ball", "f* in F_nu"),
    monotone={"d": 1, "rho_c": 1, "rho_u": 1, "rho_w": 1, "delta_R": -1},
    proof="docs/proofs/arda.md",
)
