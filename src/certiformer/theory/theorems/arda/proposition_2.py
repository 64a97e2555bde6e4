import math

from certiformer.theory.calculus.activations import activation as find_activation
from certiformer.theory.core import (
    Quantity,
    Status,
    Variants,
    assumed,
    count,
    printed_value,
    real,
    side_number,
    upper_bound,
)
from certiformer.theory.theorems.arda._descent import Descent, Radii, sampling_deviation, sound_variants
from certiformer.theory.theorems.arda._heads import UnitConstants
from certiformer.theory.theorems.arda._recurrent import recurrent_unit
from certiformer.theory.theorems.arda._setting import (
    ALGORITHM,
    FIXED_DATA,
    NOT_SELECTED,
    REALISABLE,
    Activated,
    Descending,
    Projected,
    Transported,
)

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


class Proposition2(Activated, Projected, Transported, Descending):
    r"""Training loss of an independently recurrent network.

    The proof of Theorem 1 only uses |h| <= s0, L1 and L2, so it holds for the recurrent network with its own recursion
    of constants; features are bounded at U = alpha, so no event E_R is needed.

    Printed: min_t L <= (nu^2/4 + G2 F^2)/sqrt(tau) + F (eps_nl + eps_app) with the constants of a recurrent unit,
    bounded in T if s1 (alpha + rho_u/sqrt(m)) < 1 and exponential in T otherwise
    .. math::
       \min_{t<\tau}L(\phi_t)\le\frac{\nu^2/4+G_2F^2}{\sqrt\tau}+F(\varepsilon_{lin}+\varepsilon_{cf}+\varepsilon_{app})
    Sound: The A of Theorem 1 with L1, L2 of the recursion at U = alpha + rho_u/sqrt(m) and eps_app = 2 (s0 nu_c +
    Lw0 nu_w + Lu0 nu_u) sqrt(ln(2n/delta)/m), probability 1 - delta.
    .. math:: \varepsilon_{app}=2\,(s_0\nu_c+L_{w0}\nu_w+L_{u0}\nu_u)\sqrt{\ln(2n/\delta)/m}
    Because: the display is missing from our copy; only the dichotomy in T is certain (confidence low for the rest)
    Assumes:
    - ||x_t|| <= 1 and h_0 = 0 (the tokens of the paper's second experiment violate it)
    - |u_i(0)| bounded: Gaussian recurrent weights give features that are not sub-Gaussian for T > 2
    - inputs, labels and v fixed before the initialisation is drawn; the initialisation not selected
    Defects:
    - The second figure's 'maximum Jacobian norm' is, in the released code, the gradient norm of the training loss.
    """

    place = "Proposition 2, equations (48)-(51)"
    bounds, status = Quantity.TRAINING_LOSS, Status.RECONSTRUCTED
    monotone = "+T +alpha +rho_c +rho_u +rho_w +nu_c +nu_u +nu_w +n -delta -tau"

    T: int = count("length of the sequence", high=100_000, example=8)
    alpha: float = real("|u_i| at the initialisation", low_open=False, example=0.5, symbol="α")

    def _run(self) -> Descent:
        rho, nu = self.rho, self.nu
        return _descent(self.activation, self.m, self.T, self.alpha, rho, nu, self.n, self.delta, self.eta, self.tau)

    def printed(self) -> Variants:
        run = self._run()
        hypotheses = (run.printed_step_check, *run.setting_checks)
        note = (
            "reconstructed with confidence low: the display is lost, Theorem 1 with the recurrent constants stands in"
        )
        return {"value": printed_value(run.reconstructed, hypotheses=hypotheses, note=note)}

    def sound(self) -> Variants:
        run = self._run()
        hypotheses = (
            *run.setting_checks,
            BOUNDED_INPUTS,
            RECURRENT_INIT,
            FIXED_DATA,
            NOT_SELECTED,
            REALISABLE,
            ALGORITHM,
        )
        unit = recurrent_unit(self.sigma, self.T, self.alpha + self.rho_u / math.sqrt(self.m))
        variants = sound_variants(run, hypotheses)
        variants["initial"] = upper_bound(
            run.target * run.target, hypotheses=hypotheses, note="the loss at the initialisation"
        )
        return variants | {
            "Lw": side_number(unit.Lw, "bound on ||grad_w h_T||"),
            "Lu": side_number(unit.Lu, "bound on |dh_T/du|"),
            "L1": side_number(unit.L1, "Lipschitz constant of h_T in (u, w)"),
            "L2": side_number(unit.L2, "bound on the Hessian of h_T in (u, w)"),
        }
