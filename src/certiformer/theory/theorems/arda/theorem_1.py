from certiformer.theory.core import Quantity, Status, Variants, printed_value, upper_bound
from certiformer.theory.theorems.arda._descent import Descent, sampling_deviation, sound_variants
from certiformer.theory.theorems.arda._setting import (
    ALGORITHM,
    FIXED_DATA,
    NOT_SELECTED,
    REALISABLE,
    SYMMETRIC,
    UNIT_BALL,
    ProjectedDescent,
)
from certiformer.theory.theorems.arda.definition_2 import constants_near_start
from certiformer.theory.theorems.arda.lemma_5 import feature_scale
from certiformer.theory.theorems.arda.lemma_6 import joint_target_envelope, target_envelope

ASSUMED = (UNIT_BALL, SYMMETRIC, FIXED_DATA, NOT_SELECTED, REALISABLE, ALGORITHM)


def runs(given: ProjectedDescent, target: float, misfit: float = 0.0) -> dict[str, Descent]:
    """The run with the constants that are known of the heads: on the event E_R, at the exact quantile, as drawn."""
    eps_app = sampling_deviation(feature_scale(given.sigma, given.nu), given.m, given.n, given.delta)
    return {
        name: Descent(units, given.m, given.rho, given.nu, given.eta, given.tau, eps_app, target, misfit)
        for name, units in constants_near_start(given.sigma, given, given).items()
    }


class Theorem1(ProjectedDescent):
    r"""Training loss of projected gradient descent.

    For every step with kappa = 1 - eta G2 > 0 the loss bounds itself, and the rates are 1/tau and 1/m instead of their
    square roots. The three summands of `separated` are the optimisation, approximation and linearisation errors.

    Printed: min_t L <= (nu^2/4 + G2 F^2)/sqrt(tau) + F (eps_nl + eps_app) with eta = 1/sqrt(tau)
    .. math::
       \min_{t<\tau}L(\phi_t)\le\frac{\nu^2/4+G_2F^2}{\sqrt\tau}+F(\varepsilon_{lin}+\varepsilon_{cf}+\varepsilon_{app})
    Sound: min_t L <= mean_t L <= [(eps + sqrt(eps^2 + kappa V0/(eta tau)))/(2 kappa)]^2, V0 = nu_c^2 + nu_u^2 +
    nu_w^2, eps = eps_nl + eps_app, kappa = 1 - eta G2 > 0, with probability 1 - delta - delta_R (init: 1 - delta);
    separated: V0/(2 kappa eta tau) + 2 eps_app^2/kappa^2 + 2 eps_nl^2/kappa^2; any_step: [(eps + sqrt(eps^2 +
    V0/(eta tau) + 4 eta G2 F^2))/2]^2 for every eta; average_iterate: (sqrt(A) + 2 eps_lin)^2. eps_nl = (L1 (nu_c
    rho_theta + rho_c (rho_theta + nu_theta)) + L2 rho_theta (rho_theta/2 + nu_theta))/sqrt(m).
    .. math:: \min_{t<\tau}L(\phi_t)\le\frac1\tau\sum_{t<\tau}L(\phi_t)\le
       \Bigl[\frac{\varepsilon+\sqrt{\varepsilon^2+\kappa\nu^2/(\eta\tau)}}{2\kappa}\Bigr]^2
       \le\frac{\nu^2}{2\kappa\eta\tau}+\frac{2\varepsilon_{app}^2}{\kappa^2}+\frac{2\varepsilon_{nl}^2}{\kappa^2}.
    Because: structure rebuilt (confidence medium), constants lost; it loses a square: the rates are 1/tau and 1/m
    Assumes:
    - the labels are y = f*(X) with f* in F_nu
    Defects:
    - Bounding sqrt(L) by the envelope F throws away a square: the same argument gives 1/tau + 1/m.
    - The step 1/sqrt(tau) is not needed: any eta below 1/G2 will do, and 1/(2 G2) gives the rate 1/tau.
    - Linearisation and change of features need not be paid separately.
    - At the widths of the experiments every form is vacuous: it passes the loss at the start only for m near 10^6.
    """

    place = "Theorem 1"
    bounds, status = Quantity.TRAINING_LOSS, Status.RECONSTRUCTED
    monotone = "+d +rho_c +rho_u +rho_w +nu_c +nu_u +nu_w -delta_R +n -delta -tau"

    def printed(self) -> Variants:
        run = runs(self, target_envelope(self.sigma, self.nu))["value"]
        hypotheses = (run.printed_step_check, *run.setting_checks)
        note = "structure reconstructed with confidence medium; the printed constants are lost, the sound ones stand in"
        return {
            "value": printed_value(run.reconstructed, hypotheses=hypotheses, note=note),
            "errors_apart": printed_value(run.reconstructed_apart, hypotheses=hypotheses, note=note),
        }

    def sound(self) -> Variants:
        target = joint_target_envelope(self.sigma, self.nu)
        found = runs(self, target)
        apriori, exact, given = found["value"], found["exact"], found.get("init")
        hypotheses = (*apriori.setting_checks, *ASSUMED)
        variants = sound_variants(apriori, hypotheses)
        variants["exact"] = upper_bound(
            exact.mean_loss, hypotheses=(exact.step_check, *hypotheses), trivial=target * target
        )
        # f(phi_0) = 0, so the loss at the start is the mean of y^2
        variants["initial"] = upper_bound(
            target * target, hypotheses=hypotheses, note="the loss at the initialisation: min_t L <= L(phi_0)"
        )
        if given is not None:
            variants["init"] = upper_bound(
                given.mean_loss,
                hypotheses=(given.step_check, *hypotheses),
                trivial=target * target,
                note="with the realised norms: probability 1 - delta, no event E_R",
            )
        return variants
