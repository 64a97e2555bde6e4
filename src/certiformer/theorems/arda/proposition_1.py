r"""Proposition 1: the same for projected stochastic gradient descent, in expectation over the sampling.

Printed (rebuilt): the bound of Theorem 1 for min_t E L(phi_t), eta = 1/sqrt(tau).

Sound: given the initialisation, and for every mini-batch that is unbiased given the past,

.. math:: \min_{t<\tau}E\,L(\phi_t)\le\frac1\tau\sum_{t<\tau}E\,L(\phi_t)\le A,\qquad
          E\,L(\bar\phi_\tau)\le(\sqrt A+2\varepsilon_{lin})^2

with the A of Theorem 1. (phi_0 and the transported parameters do not depend on the sampling.)
"""

from __future__ import annotations

from collections.abc import Sequence

from certiformer.core import Quantity, Result, Status, Variants, assumed
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda import theorem_1 as descent
from certiformer.theorems.arda._descent import with_checks

UNBIASED = assumed("every mini-batch is uniform given the past (fresh draws; not epoch-wise reshuffling)")


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
    n: int,
    delta: float,
    eta: float,
    tau: int,
    u_norms: Sequence[float] | None,
) -> Variants:
    return descent.printed(
        activation, m, d, rho_c, rho_u, rho_w, nu_c, nu_u, nu_w, delta_R, n, delta, eta, tau, u_norms
    )


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
    n: int,
    delta: float,
    eta: float,
    tau: int,
    u_norms: Sequence[float] | None,
) -> Variants:
    variants = descent.sound(
        activation, m, d, rho_c, rho_u, rho_w, nu_c, nu_u, nu_w, delta_R, n, delta, eta, tau, u_norms
    )
    return with_checks(variants, (UNBIASED,))


RESULT = Result(
    id="arda.prop1",
    title="Expected training loss of projected stochastic gradient descent",
    paper=ARDA,
    place="Proposition 1",
    bounds=Quantity.TRAINING_LOSS,
    statement="E over the sampling: the bound of Theorem 1, eta = 1/sqrt(tau)",
    latex=r"\min_{t<\tau}E\,L(\phi_t)\le\frac{\nu^2/4+G_2F^2}{\sqrt\tau}+F(\varepsilon_{lin}+\varepsilon_{cf}+\varepsilon_{app})",
    sound_statement=(
        "min_t E L <= mean_t E L <= A and E L(average iterate) <= (sqrt(A) + 2 eps_lin)^2 with A as in Theorem 1, "
        "given the initialisation, for mini-batches of any size that are unbiased given the past."
    ),
    inputs=descent.INPUTS,
    status=Status.RECONSTRUCTED,
    reason="structure rebuilt (confidence medium), constants lost; the rates are 1/tau and 1/m",
    printed=printed,
    sound=sound,
    assumptions=(
        *descent.RESULT.assumptions,
        "each mini-batch unbiased given the past; reshuffling without replacement over an epoch is not covered",
    ),
    defects=descent.RESULT.defects,
    monotone=descent.RESULT.monotone,
    proof="docs/proofs/arda.md",
)
