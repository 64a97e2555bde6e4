r"""Definition 2 and (9): the neighbourhood Omega_rho of the initialisation.

.. math:: |c_i-c_i(0)|\le\frac{\rho_c}{\sqrt m},\quad\|u_i-u_i(0)\|\le\frac{\rho_u}{\sqrt m},\quad
          \|W_i-W_i(0)\|_F\le\frac{\rho_w}{\sqrt m}

Printed (rebuilt), on E_R:  .. math:: |c_i|\le1+\rho_c/\sqrt m,\qquad\|u_i\|\le\sqrt d+R+\rho_u/\sqrt m =: B

Sound: the same with R = sqrt(2 ln(m/(2 delta_R))), and with the exact quantile of the norm (`B_exact`).
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, printed_value, upper_bound, verified
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._heads import exact_radius, gaussian_radius
from certiformer.theorems.arda._inputs import DELTA_R, DIMENSION, RHO, SYMMETRIC, WIDTH


def head_norm(m: int, d: int, rho_u: float, delta_R: float) -> float:
    """B = sqrt(d) + R + rho_u/sqrt(m)."""
    return math.sqrt(d) + gaussian_radius(m, delta_R) + rho_u / math.sqrt(m)


def exact_head_norm(m: int, d: int, rho_u: float, delta_R: float) -> float:
    """The same with the exact quantile of max ||u_i(0)||."""
    return exact_radius(m, d, delta_R) + rho_u / math.sqrt(m)


def printed(m: int, d: int, rho_c: float, rho_u: float, rho_w: float, delta_R: float) -> Variants:
    note = "reconstructed, confidence high"
    return {
        "c": printed_value(1.0 + rho_c / math.sqrt(m), note=note),
        "B": printed_value(head_norm(m, d, rho_u, delta_R), note=note),
    }


def sound(m: int, d: int, rho_c: float, rho_u: float, rho_w: float, delta_R: float) -> Variants:
    checks = (verified("m is even: the heads come in pairs", m % 2 == 0, m), SYMMETRIC)
    return {
        "c": upper_bound(1.0 + rho_c / math.sqrt(m)),
        "B": upper_bound(head_norm(m, d, rho_u, delta_R), checks=checks),
        "B_exact": upper_bound(exact_head_norm(m, d, rho_u, delta_R), checks=checks),
        "distance": upper_bound(math.hypot(rho_c, rho_u, rho_w), note="||phi - phi_0|| over all heads"),
    }


RESULT = Result(
    id="arda.def2",
    title="The neighbourhood of the initialisation",
    paper=ARDA,
    place="Definition 2, equation (9)",
    bounds=Quantity.CONSTANT,
    statement="on Omega_rho and E_R: |c_i| <= 1 + rho_c/sqrt(m), ||u_i|| <= B = sqrt(d) + R + rho_u/sqrt(m)",
    latex=r"|c_i|\le1+\rho_c/\sqrt m,\quad\|u_i\|\le\sqrt d+R+\rho_u/\sqrt m",
    sound_statement=(
        "The same with R = sqrt(2 ln(m/(2 delta_R))), probability at least 1 - delta_R; B_exact: the quantile of "
        "max ||u_i(0)|| plus rho_u/sqrt(m); distance: sqrt(rho_c^2 + rho_u^2 + rho_w^2)."
    ),
    inputs=(WIDTH, DIMENSION, *RHO, DELTA_R),
    status=Status.RECONSTRUCTED,
    reason="the formulas are lost in our copy; the released code has the same projection (confidence high)",
    printed=printed,
    sound=sound,
    assumptions=("symmetric initialisation with u_i ~ N(0, I_d)",),
    proof="docs/proofs/arda.md",
)
