r"""Remark 9: labels that F_nu cannot represent.

With some g in F_nu let misfit >= max_j |g(X_j) - y_j|.

Printed (rebuilt, confidence low: the display is lost): the bound of Theorem 1 acquires misfit as a further summand.

Sound: the misfit enters next to the other errors, inside the square,

.. math:: \min_tL(\phi_t)\le\Bigl[\frac{\varepsilon+\sqrt{\varepsilon^2+\kappa\nu^2/(\eta\tau)}}{2\kappa}\Bigr]^2,
          \qquad\varepsilon=\varepsilon_{nl}+\varepsilon_{app}+\text{misfit}.

Added to the loss itself it would be false: labels far outside the reach of the network have a loss near misfit^2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.calculus.activations import activation as find_activation
from certiformer.core import Quantity, Result, Status, Variants, printed_value, real, upper_bound
from certiformer.theorems.arda import ARDA, theorem_1
from certiformer.theorems.arda._descent import Descent, Radii, sampling_deviation, sound_variants
from certiformer.theorems.arda._heads import averaged, common, initial_norms
from certiformer.theorems.arda._inputs import ALGORITHM, FIXED_DATA, NOT_SELECTED, SYMMETRIC, UNIT_BALL
from certiformer.theorems.arda.definition_2 import head_norm
from certiformer.theorems.arda.lemma_5 import feature_scale
from certiformer.theorems.arda.lemma_6 import joint_target_envelope


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
    misfit: float,
) -> Variants:
    realisable = theorem_1.printed(
        activation, m, d, rho_c, rho_u, rho_w, nu_c, nu_u, nu_w, delta_R, n, delta, eta, tau, u_norms
    )["value"]
    note = "reconstructed with confidence low: the display is lost, read here as one more summand"
    return {"value": printed_value(realisable.value + misfit, checks=realisable.checks, note=note)}


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
    misfit: float,
) -> Variants:
    sigma, rho, nu = find_activation(activation), Radii(rho_c, rho_u, rho_w), Radii(nu_c, nu_u, nu_w)
    eps_app = sampling_deviation(feature_scale(sigma, nu), m, n, delta)
    target = joint_target_envelope(sigma, nu) + misfit
    units = {"apriori": common(sigma, head_norm(m, d, rho_u, delta_R))}
    if u_norms is not None:
        shift = rho_u / math.sqrt(m)
        units["init"] = averaged(sigma, [norm + shift for norm in initial_norms(u_norms, m)])
    runs = {
        name: Descent(constants, m, rho, nu, eta, tau, eps_app, target, misfit) for name, constants in units.items()
    }
    checks = (*runs["apriori"].setting_checks, UNIT_BALL, SYMMETRIC, FIXED_DATA, NOT_SELECTED, ALGORITHM)
    variants = sound_variants(runs["apriori"], checks, separate=False)
    variants["initial"] = upper_bound(
        target * target, checks=checks, note="the loss at the initialisation: min_t L <= L(phi_0)"
    )
    if "init" in runs:
        given = runs["init"]
        variants["init"] = upper_bound(given.mean_loss, checks=(given.step_check, *checks), trivial=target * target)
    return variants


RESULT = Result(
    id="arda.rem9",
    title="Training loss when the labels are not realisable",
    paper=ARDA,
    place="Remark 9",
    bounds=Quantity.TRAINING_LOSS,
    statement="min_t L <= the bound of Theorem 1 + inf_{g in F_nu} max_j |g(X_j) - y_j|",
    latex=r"\min_tL\le(\text{Theorem 1})+\inf_{g\in F_\nu}\max_j|g(X_j)-y_j|",
    sound_statement=(
        "The A of Theorem 1 with eps = eps_nl + eps_app + misfit; the envelopes count misfit too "
        "(|y| <= s0 nu_c + s1 max(r nu_u + (1 - r^2) nu_w) + misfit)."
    ),
    inputs=(
        *theorem_1.INPUTS,
        real("misfit", "max_j |g(X_j) - y_j| for some g in F_nu", low_open=False, example=0.02),
    ),
    status=Status.RECONSTRUCTED,
    reason="the display is lost (confidence low); a misfit added to the loss itself would be false",
    printed=printed,
    sound=sound,
    assumptions=("as Theorem 1, with |g(X_j) - y_j| <= misfit instead of y = f*(X)",),
    defects=(
        (
            "Read as a summand of the loss the claim is false: constant labels y = Y beyond the reach of the network "
            "have L >= (Y - sup|f|)^2, which exceeds any bound that is linear in Y."
        ),
    ),
    monotone={**theorem_1.RESULT.monotone, "misfit": 1},
    proof="docs/proofs/arda.md",
)
