r"""Equations (10) and (11): the class F_nu and the transported parameters.

A target is f*(X) = E<psi(X; u, W), v(u, W)> with |v_c| <= nu_c, ||v_u|| <= nu_u, ||v_w||_F <= nu_w. At (u_i, W_i) the
parameters move to

.. math:: \bar c_i=c_i+v_c/\sqrt m,\quad\bar u_i=u_i+c_iv_u/\sqrt m,\quad\bar W_i=W_i+c_iv_w/\sqrt m.

Printed (rebuilt): phibar lies in Omega_nu, hence in Omega_rho when rho >= nu (Remark 10).

Sound: the same; ||phibar - phi_0||^2 <= nu_c^2 + nu_u^2 + nu_w^2, which also bounds the squared RKHS norm of f*.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, printed_value, upper_bound, verified
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._descent import Radii
from certiformer.theorems.arda._inputs import NU, RHO, WIDTH


def printed(m: int, rho_c: float, rho_u: float, rho_w: float, nu_c: float, nu_u: float, nu_w: float) -> Variants:
    feasible = verified("nu <= rho block by block", Radii(rho_c, rho_u, rho_w).contains(Radii(nu_c, nu_u, nu_w)))
    value = math.hypot(nu_c, nu_u, nu_w)
    return {"distance": printed_value(value, checks=(feasible,), note="reconstructed, confidence high")}


def sound(m: int, rho_c: float, rho_u: float, rho_w: float, nu_c: float, nu_u: float, nu_w: float) -> Variants:
    nu = Radii(nu_c, nu_u, nu_w)
    feasible = verified("nu <= rho block by block: phibar lies in Omega_rho", Radii(rho_c, rho_u, rho_w).contains(nu))
    distance = math.hypot(nu_c, nu_u, nu_w)
    return {
        "distance": upper_bound(distance, checks=(feasible,)),
        "rkhs_norm": upper_bound(distance),
        "per_head": upper_bound(distance / math.sqrt(m), checks=(feasible,)),
    }


RESULT = Result(
    id="arda.eq11",
    title="Transportation maps and the class F_nu",
    paper=ARDA,
    place="Section 5.4, equations (10) and (11), Remark 10",
    bounds=Quantity.CONSTANT,
    statement="||phibar - phi_0|| <= sqrt(nu_c^2 + nu_u^2 + nu_w^2); phibar lies in Omega_rho when rho >= nu",
    latex=r"\|\bar\phi-\phi_0\|^2\le\nu_c^2+\nu_u^2+\nu_w^2",
    sound_statement="The same; it also bounds the RKHS norm of f*; one head moves by at most 1/sqrt(m) of it.",
    inputs=(WIDTH, *RHO, *NU),
    status=Status.RECONSTRUCTED,
    reason="the displays are lost in our copy; the sign c_i is forced by c_i^2 = 1 (confidence high)",
    printed=printed,
    sound=sound,
    assumptions=("v is a fixed measurable function of (u, W) with the stated bounds",),
    defects=(
        (
            "A kernel section K(., X') has the canonical representer psi(X'), whose W-block is unbounded in general: "
            "it must be clipped, and the target is then the clipped one. (It is bounded for one token, for instance.)"
        ),
        "The released teacher repeats an index of W, so that only diag(W) enters: that teacher is not in F_nu.",
    ),
    proof="docs/proofs/arda.md",
)
