from __future__ import annotations

import math

from certiformer.calculus.activations import activation as find_activation
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    choice,
    count,
    printed_value,
    real,
    reals,
    upper_bound,
    verified,
)
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._descent import Radii, linearisation_error
from certiformer.theorems.arda._heads import averaged, common, initial_norms
from certiformer.theorems.arda._inputs import SYMMETRIC, UNIT_BALL
from certiformer.theorems.arda.definition_2 import exact_head_norm, head_norm


class Lemma3(Result):
    r"""Linearisation error near the initialisation.

    The same with the constants of Lemma 2 at B = sqrt(d) + R + rho_u/sqrt(m) (`value`), at the exact
    quantile
    (`exact`), or with L1, L2 averaged over the realised norms (`init`: surely, no event, no logarithm of m).

    Printed: sup |f - f_lin| <= (rho_c rho_theta L1 + rho_theta^2 L2/2)/sqrt(m) on E_R
    .. math:: \sup_{\Omega_\rho}|f-f_{lin}|\le m^{-1/2}(\rho_c\rho_\theta L_1+\tfrac12\rho_\theta^2L_2)
    Sound: The same with L1, L2 of Lemma 2 at B = sqrt(d) + R + rho_u/sqrt(m) (probability 1 - delta_R), at the
    exact quantile, or averaged over the realised norms.
    Because: the shape is forced by the proof (confidence high); the printed L1 and L2 inside it are lost
    Assumes:
    - symmetric initialisation
    - tokens and query in the unit ball
    """

    paper, place = ARDA, "Lemma 3"
    bounds, status = Quantity.LINEARIZATION_ERROR, Status.RECONSTRUCTED
    monotone = "+d +rho_c +rho_u +rho_w -delta_R"

    activation: str = choice("the activation sigma (erf means erf(x/sqrt 2))", ("tanh", "erf", "sigmoid", "sin"))
    m: int = count("width: the number of heads, even", low=2, example=1_000_000)
    d: int = count("dimension of a token", example=8)
    rho_c: float = real("projection radius of the output weights, times sqrt(m)", example=0.15, symbol="ρ_c")
    rho_u: float = real("projection radius of the head vectors u, times sqrt(m)", example=0.15, symbol="ρ_u")
    rho_w: float = real(
        "projection radius of the attention matrices W (Frobenius), times sqrt(m)", example=0.15, symbol="ρ_w"
    )
    delta_R: float = real("probability that the initial norms ||u_i|| exceed the a-priori bound", high=1, example=0.01)
    u_norms: tuple[float, ...] | None = reals(
        "the norms ||u_i|| of the actual initialisation, one per head or one per pair (gives the variant `init`)",
        low_open=False,
        example=(2.8, 3.1),
        default=None,
        otherwise="not given: only the a-priori variants are computed",
    )

    def printed(self) -> Variants:
        units = common(find_activation(self.activation), head_norm(self.m, self.d, self.rho_u, self.delta_R))
        value = linearisation_error(self.m, units, Radii(self.rho_c, self.rho_u, self.rho_w))
        note = "reconstructed, confidence high; its L1, L2 are lost, evaluated with the sound ones"
        return {"value": printed_value(value, note=note)}

    def sound(self) -> Variants:
        sigma, rho = find_activation(self.activation), Radii(self.rho_c, self.rho_u, self.rho_w)
        even = verified("m is even: the heads come in pairs", self.m % 2 == 0, self.m)
        by_chance = (even, UNIT_BALL, SYMMETRIC)
        variants = {
            name: upper_bound(linearisation_error(self.m, common(sigma, B), rho), hypotheses=by_chance)
            for name, B in (
                ("value", head_norm(self.m, self.d, self.rho_u, self.delta_R)),
                ("exact", exact_head_norm(self.m, self.d, self.rho_u, self.delta_R)),
            )
        }
        if self.u_norms is not None:
            norms = [norm + self.rho_u / math.sqrt(self.m) for norm in initial_norms(self.u_norms, self.m)]
            value = linearisation_error(self.m, averaged(sigma, norms), rho)
            variants["init"] = upper_bound(
                value, hypotheses=(even, UNIT_BALL), note="given this initialisation, surely"
            )
        return variants
