r"""Lemma 3: how far the network is from its linearisation at the initialisation, uniformly over Omega_rho.

Printed (rebuilt), on E_R, with rho_theta = sqrt(rho_u^2 + rho_w^2):

.. math:: \sup_{\phi\in\Omega_\rho,X}|f-f_{lin}|\le\varepsilon_{lin}
          =\frac{\rho_c\rho_\theta L_1+\tfrac12\rho_\theta^2L_2}{\sqrt m}

Sound: the same with the constants of Lemma 2 at B = sqrt(d) + R + rho_u/sqrt(m) (`value`), at the exact quantile
(`exact`), or with L1, L2 averaged over the realised norms (`init`: surely, no event, no logarithm of m).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.calculus.activations import activation as find_activation
from certiformer.core import Quantity, Result, Status, Variants, printed_value, upper_bound, verified
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._descent import Radii, linearisation_error
from certiformer.theorems.arda._heads import averaged, common, initial_norms
from certiformer.theorems.arda._inputs import ACTIVATION, DELTA_R, DIMENSION, RHO, SYMMETRIC, U_NORMS, UNIT_BALL, WIDTH
from certiformer.theorems.arda.definition_2 import exact_head_norm, head_norm


def printed(
    activation: str,
    m: int,
    d: int,
    rho_c: float,
    rho_u: float,
    rho_w: float,
    delta_R: float,
    u_norms: Sequence[float] | None,
) -> Variants:
    units = common(find_activation(activation), head_norm(m, d, rho_u, delta_R))
    value = linearisation_error(m, units, Radii(rho_c, rho_u, rho_w))
    note = "reconstructed, confidence high; its L1, L2 are lost, evaluated with the sound ones"
    return {"value": printed_value(value, note=note)}


def sound(
    activation: str,
    m: int,
    d: int,
    rho_c: float,
    rho_u: float,
    rho_w: float,
    delta_R: float,
    u_norms: Sequence[float] | None,
) -> Variants:
    sigma, rho = find_activation(activation), Radii(rho_c, rho_u, rho_w)
    even = verified("m is even: the heads come in pairs", m % 2 == 0, m)
    by_chance = (even, UNIT_BALL, SYMMETRIC)
    variants = {
        name: upper_bound(linearisation_error(m, common(sigma, B), rho), checks=by_chance)
        for name, B in (
            ("value", head_norm(m, d, rho_u, delta_R)),
            ("exact", exact_head_norm(m, d, rho_u, delta_R)),
        )
    }
    if u_norms is not None:
        norms = [norm + rho_u / math.sqrt(m) for norm in initial_norms(u_norms, m)]
        value = linearisation_error(m, averaged(sigma, norms), rho)
        variants["init"] = upper_bound(value, checks=(even, UNIT_BALL), note="given this initialisation, surely")
    return variants


RESULT = Result(
    id="arda.lem3",
    title="Linearisation error near the initialisation",
    paper=ARDA,
    place="Lemma 3",
    bounds=Quantity.LINEARIZATION_ERROR,
    statement="sup |f - f_lin| <= (rho_c rho_theta L1 + rho_theta^2 L2/2)/sqrt(m) on E_R",
    latex=r"\sup_{\Omega_\rho}|f-f_{lin}|\le m^{-1/2}(\rho_c\rho_\theta L_1+\tfrac12\rho_\theta^2L_2)",
    sound_statement=(
        "The same with L1, L2 of Lemma 2 at B = sqrt(d) + R + rho_u/sqrt(m) (probability 1 - delta_R), at the exact "
        "quantile, or averaged over the realised norms."
    ),
    inputs=(ACTIVATION, WIDTH, DIMENSION, *RHO, DELTA_R, U_NORMS),
    status=Status.RECONSTRUCTED,
    reason="the shape is forced by the proof (confidence high); the printed L1 and L2 inside it are lost",
    printed=printed,
    sound=sound,
    assumptions=("symmetric initialisation", "tokens and query in the unit ball"),
    monotone={"d": 1, "rho_c": 1, "rho_u": 1, "rho_w": 1, "delta_R": -1},
    proof="docs/proofs/arda.md",
)
