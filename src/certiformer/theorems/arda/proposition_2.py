r"""Proposition 2: projected gradient descent on an independently recurrent network (IndRNN).

Printed (lost in our copy; rebuilt with low confidence): the structure of Theorem 1 with the constants of a recurrent
unit, which stay bounded in the sequence length T while s1 (alpha + rho_u/sqrt m) < 1 and grow geometrically beyond.

Sound: the proof of Theorem 1 only uses |h| <= s0, L1 and L2, so it holds with the recursion of `_recurrent` at
U = alpha + rho_u/sqrt(m); the features are bounded (Lw0, Lu0: the recursion at U = alpha), so that

.. math:: \varepsilon_{app}=2\,(s_0\nu_c+L_{w0}\nu_w+L_{u0}\nu_u)\sqrt{\ln(2n/\delta)/m}

with probability at least 1 - delta and no event E_R.
"""

from __future__ import annotations

import math

from certiformer.calculus.activations import activation as find_activation
from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    printed_value,
    real,
    side_number,
    upper_bound,
)
from certiformer.theorems.arda import ARDA
from certiformer.theorems.arda._descent import Descent, Radii, sampling_deviation, sound_variants
from certiformer.theorems.arda._heads import UnitConstants
from certiformer.theorems.arda._inputs import (
    ACTIVATION,
    ALGORITHM,
    DELTA,
    ETA,
    FIXED_DATA,
    NOT_SELECTED,
    NU,
    REALISABLE,
    RHO,
    SAMPLE_SIZE,
    TAU,
    WIDTH,
)
from certiformer.theorems.arda._recurrent import recurrent_unit

BOUNDED_INPUTS = assumed("every input x_t has norm at most 1, and h_0 = 0")
RECURRENT_INIT = assumed(
    "symmetric initialisation with u_i = +-alpha, c_i = +-1, w_i of any law, drawn in opposite pairs"
)


def _descent(
    activation: str,
    m: int,
    T: int,
    alpha: float,
    rho: Radii,
    nu: Radii,
    n: int,
    delta: float,
    eta: float,
    tau: int,
) -> Descent:
    sigma = find_activation(activation)
    unit = recurrent_unit(sigma, T, alpha + rho.u / math.sqrt(m))
    start = recurrent_unit(sigma, T, alpha)
    envelope = sigma.s0 * nu.c + start.Lw * nu.w + start.Lu * nu.u
    return Descent(
        UnitConstants(sigma.s0, unit.L1, unit.L1 * unit.L1, unit.L2),
        m,
        rho,
        nu,
        eta,
        tau,
        sampling_deviation(envelope, m, n, delta),
        envelope,
    )


def printed(
    activation: str,
    m: int,
    T: int,
    alpha: float,
    rho_c: float,
    rho_u: float,
    rho_w: float,
    nu_c: float,
    nu_u: float,
    nu_w: float,
    n: int,
    delta: float,
    eta: float,
    tau: int,
) -> Variants:
    rho, nu = Radii(rho_c, rho_u, rho_w), Radii(nu_c, nu_u, nu_w)
    run = _descent(activation, m, T, alpha, rho, nu, n, delta, eta, tau)
    checks = (run.printed_step_check, *run.setting_checks)
    note = "reconstructed with confidence low: the display is lost, Theorem 1 with the recurrent constants stands in"
    return {"value": printed_value(run.reconstructed, checks=checks, note=note)}


def sound(
    activation: str,
    m: int,
    T: int,
    alpha: float,
    rho_c: float,
    rho_u: float,
    rho_w: float,
    nu_c: float,
    nu_u: float,
    nu_w: float,
    n: int,
    delta: float,
    eta: float,
    tau: int,
) -> Variants:
    rho, nu = Radii(rho_c, rho_u, rho_w), Radii(nu_c, nu_u, nu_w)
    run = _descent(activation, m, T, alpha, rho, nu, n, delta, eta, tau)
    checks = (
        *run.setting_checks,
        BOUNDED_INPUTS,
        RECURRENT_INIT,
        FIXED_DATA,
        NOT_SELECTED,
        REALISABLE,
        ALGORITHM,
    )
    unit = recurrent_unit(find_activation(activation), T, alpha + rho_u / math.sqrt(m))
    variants = sound_variants(run, checks)
    variants["initial"] = upper_bound(run.target * run.target, checks=checks, note="the loss at the initialisation")
    return variants | {
        "Lw": side_number(unit.Lw, "bound on ||grad_w h_T||"),
        "Lu": side_number(unit.Lu, "bound on |dh_T/du|"),
        "L1": side_number(unit.L1, "Lipschitz constant of h_T in (u, w)"),
        "L2": side_number(unit.L2, "bound on the Hessian of h_T in (u, w)"),
    }


RESULT = Result(
    id="arda.prop2",
    title="Training loss of an independently recurrent network",
    paper=ARDA,
    place="Proposition 2, equations (48)-(51)",
    bounds=Quantity.TRAINING_LOSS,
    statement=(
        "min_t L <= (nu^2/4 + G2 F^2)/sqrt(tau) + F (eps_nl + eps_app) with the constants of a recurrent unit, bounded "
        "in T if s1 (alpha + rho_u/sqrt(m)) < 1 and exponential in T otherwise"
    ),
    latex=r"\min_{t<\tau}L(\phi_t)\le\frac{\nu^2/4+G_2F^2}{\sqrt\tau}+F(\varepsilon_{lin}+\varepsilon_{cf}+\varepsilon_{app})",
    sound_statement=(
        "The A of Theorem 1 with L1, L2 of the recursion at U = alpha + rho_u/sqrt(m) and "
        "eps_app = 2 (s0 nu_c + Lw0 nu_w + Lu0 nu_u) sqrt(ln(2n/delta)/m), probability 1 - delta."
    ),
    inputs=(
        ACTIVATION,
        WIDTH,
        count("T", "length of the sequence", high=100_000, example=8),
        real("alpha", "|u_i| at the initialisation", symbol="α", low_open=False, example=0.5),
        *RHO,
        *NU,
        SAMPLE_SIZE,
        DELTA,
        ETA,
        TAU,
    ),
    status=Status.RECONSTRUCTED,
    reason="the display is missing from our copy; only the dichotomy in T is certain (confidence low for the rest)",
    printed=printed,
    sound=sound,
    assumptions=(
        "||x_t|| <= 1 and h_0 = 0 (the tokens of the paper's second experiment violate it)",
        "|u_i(0)| bounded: Gaussian recurrent weights give features that are not sub-Gaussian for T > 2",
        "inputs, labels and v fixed before the initialisation is drawn; the initialisation not selected",
    ),
    defects=(
        "The second figure's 'maximum Jacobian norm' is, in the released code, the gradient norm of the training loss.",
    ),
    monotone={
        "T": 1,
        "alpha": 1,
        "rho_c": 1,
        "rho_u": 1,
        "rho_w": 1,
        "nu_c": 1,
        "nu_u": 1,
        "nu_w": 1,
        "n": 1,
        "delta": -1,
        "tau": -1,
    },
    proof="docs/proofs/arda.md",
)
