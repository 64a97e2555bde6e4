r"""Theorem 1: training loss of projected gradient descent.

Printed (rebuilt), with eta = 1/sqrt(tau), F an envelope of |f| + |f*| and rho >= nu:

.. math:: \min_{t<\tau}L(\phi_t)\le\frac{\nu^2/4+G_2F^2}{\sqrt\tau}+F\,(\varepsilon_{nl}+\varepsilon_{app})

Sound, for every step with kappa = 1 - eta G2 > 0 and eps = eps_nl + eps_app: the loss bounds itself, and the rates are
1/tau and 1/m instead of their square roots,

.. math:: \min_{t<\tau}L(\phi_t)\le\frac1\tau\sum_{t<\tau}L(\phi_t)\le
          \Bigl[\frac{\varepsilon+\sqrt{\varepsilon^2+\kappa\nu^2/(\eta\tau)}}{2\kappa}\Bigr]^2
          \le\frac{\nu^2}{2\kappa\eta\tau}+\frac{2\varepsilon_{app}^2}{\kappa^2}+\frac{2\varepsilon_{nl}^2}{\kappa^2}.

The three summands of the last form are the optimisation, approximation and linearisation errors (`separated`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.calculus.activations import activation as find_activation
from certiformer.core import Quantity, Result, Status, Variants, printed_value, upper_bound
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._descent import Descent, Radii, sampling_deviation, sound_variants
from certiformer.theorems.arda._heads import UnitConstants, averaged, common, initial_norms
from certiformer.theorems.arda._inputs import (
    ACTIVATION,
    ALGORITHM,
    DELTA,
    DELTA_R,
    DIMENSION,
    ETA,
    FIXED_DATA,
    NOT_SELECTED,
    NU,
    REALISABLE,
    RHO,
    SAMPLE_SIZE,
    SYMMETRIC,
    TAU,
    U_NORMS,
    UNIT_BALL,
    WIDTH,
)
from certiformer.theorems.arda.definition_2 import exact_head_norm, head_norm
from certiformer.theorems.arda.lemma_5 import feature_scale
from certiformer.theorems.arda.lemma_6 import joint_target_envelope, target_envelope

ASSUMED = (UNIT_BALL, SYMMETRIC, FIXED_DATA, NOT_SELECTED, REALISABLE, ALGORITHM)
INPUTS = (ACTIVATION, WIDTH, DIMENSION, *RHO, *NU, DELTA_R, SAMPLE_SIZE, DELTA, ETA, TAU, U_NORMS)


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
    sigma, rho, nu = find_activation(activation), Radii(rho_c, rho_u, rho_w), Radii(nu_c, nu_u, nu_w)
    run = Descent(
        common(sigma, head_norm(m, d, rho_u, delta_R)),
        m,
        rho,
        nu,
        eta,
        tau,
        sampling_deviation(feature_scale(sigma, nu), m, n, delta),
        target_envelope(sigma, nu),
    )
    checks = (run.printed_step_check, *run.setting_checks)
    note = "structure reconstructed with confidence medium; the printed constants are lost, the sound ones stand in"
    return {
        "value": printed_value(run.reconstructed, checks=checks, note=note),
        "errors_apart": printed_value(run.reconstructed_apart, checks=checks, note=note),
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
    n: int,
    delta: float,
    eta: float,
    tau: int,
    u_norms: Sequence[float] | None,
) -> Variants:
    sigma, rho, nu = find_activation(activation), Radii(rho_c, rho_u, rho_w), Radii(nu_c, nu_u, nu_w)
    eps_app = sampling_deviation(feature_scale(sigma, nu), m, n, delta)
    target = joint_target_envelope(sigma, nu)

    def run_with(units: UnitConstants) -> Descent:
        return Descent(units, m, rho, nu, eta, tau, eps_app, target)

    apriori = run_with(common(sigma, head_norm(m, d, rho_u, delta_R)))
    checks = (*apriori.setting_checks, *ASSUMED)
    variants = sound_variants(apriori, checks)
    exact = run_with(common(sigma, exact_head_norm(m, d, rho_u, delta_R)))
    variants["exact"] = upper_bound(exact.mean_loss, checks=(exact.step_check, *checks), trivial=target * target)
    # f(phi_0) = 0, so the loss at the start is the mean of y^2
    variants["initial"] = upper_bound(
        target * target, checks=checks, note="the loss at the initialisation: min_t L <= L(phi_0)"
    )
    if u_norms is not None:
        shift = rho_u / math.sqrt(m)
        given = run_with(averaged(sigma, [norm + shift for norm in initial_norms(u_norms, m)]))
        variants["init"] = upper_bound(
            given.mean_loss,
            checks=(given.step_check, *checks),
            trivial=target * target,
            note="with the realised norms: probability 1 - delta, no event E_R",
        )
    return variants


RESULT = Result(
    id="arda.thm1",
    title="Training loss of projected gradient descent",
    paper=ARDA,
    place="Theorem 1",
    bounds=Quantity.TRAINING_LOSS,
    statement="min_t L <= (nu^2/4 + G2 F^2)/sqrt(tau) + F (eps_nl + eps_app) with eta = 1/sqrt(tau)",
    latex=r"\min_{t<\tau}L(\phi_t)\le\frac{\nu^2/4+G_2F^2}{\sqrt\tau}+F(\varepsilon_{lin}+\varepsilon_{cf}+\varepsilon_{app})",
    sound_statement=(
        "min_t L <= mean_t L <= [(eps + sqrt(eps^2 + kappa V0/(eta tau)))/(2 kappa)]^2, V0 = nu_c^2 + nu_u^2 + nu_w^2, "
        "eps = eps_nl + eps_app, kappa = 1 - eta G2 > 0, with probability 1 - delta - delta_R (init: 1 - delta); "
        "separated: V0/(2 kappa eta tau) + 2 eps_app^2/kappa^2 + 2 eps_nl^2/kappa^2; "
        "any_step: [(eps + sqrt(eps^2 + V0/(eta tau) + 4 eta G2 F^2))/2]^2 for every eta; "
        "average_iterate: (sqrt(A) + 2 eps_lin)^2. "
        "eps_nl = (L1 (nu_c rho_theta + rho_c (rho_theta + nu_theta)) + L2 rho_theta (rho_theta/2 + nu_theta))/sqrt(m)."
    ),
    inputs=INPUTS,
    status=Status.RECONSTRUCTED,
    reason="structure rebuilt (confidence medium), constants lost; it loses a square: the rates are 1/tau and 1/m",
    printed=printed,
    sound=sound,
    assumptions=(
        "tokens and query in the unit ball; y = f*(X) with f* in F_nu; mean squared error without the factor 1/2",
        "inputs, labels and v fixed before the initialisation is drawn; the initialisation not selected",
        "every step projected on Omega_rho",
    ),
    defects=(
        "Bounding sqrt(L) by the envelope F throws away a square: the same argument gives 1/tau + 1/m.",
        "The step 1/sqrt(tau) is not needed: any eta below 1/G2 will do, and 1/(2 G2) gives the rate 1/tau.",
        "Linearisation and change of features need not be paid separately.",
        "At the widths of the experiments every form is vacuous: it passes the loss at the start only for m near 10^6.",
    ),
    monotone={
        "d": 1,
        "rho_c": 1,
        "rho_u": 1,
        "rho_w": 1,
        "nu_c": 1,
        "nu_u": 1,
        "nu_w": 1,
        "delta_R": -1,
        "n": 1,
        "delta": -1,
        "tau": -1,
    },
    proof="docs/proofs/arda.md",
)
