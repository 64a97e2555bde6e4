from certiformer.theory.core import Quantity, Status, Variants, printed_value, real, upper_bound
from certiformer.theory.theorems.arda._descent import sound_variants
from certiformer.theory.theorems.arda._setting import (
    ALGORITHM,
    FIXED_DATA,
    NOT_SELECTED,
    SYMMETRIC,
    UNIT_BALL,
    ProjectedDescent,
)
from certiformer.theory.theorems.arda.lemma_6 import joint_target_envelope
from certiformer.theory.theorems.arda.theorem_1 import Theorem1, runs


class Remark9(ProjectedDescent):
    r"""Training loss when the labels are not realisable.

    Labels that no g in F_nu fits: misfit >= max_j |g(X_j) - y_j| enters next to the other errors, inside the square.
    Added to the loss itself it would be false: labels far outside the reach of the network have a loss near misfit^2.

    Printed: min_t L <= the bound of Theorem 1 + inf_{g in F_nu} max_j |g(X_j) - y_j|
    .. math:: \min_tL\le(\text{Theorem 1})+\inf_{g\in F_\nu}\max_j|g(X_j)-y_j|
    Sound: The A of Theorem 1 with eps = eps_nl + eps_app + misfit; the envelopes count misfit too (|y| <= s0 nu_c +
    s1 max(r nu_u + (1 - r^2) nu_w) + misfit).
    .. math::
       \min_tL(\phi_t)\le\Bigl[\frac{\varepsilon+\sqrt{\varepsilon^2+\kappa\nu^2/(\eta\tau)}}{2\kappa}\Bigr]^2,
       \qquad\varepsilon=\varepsilon_{nl}+\varepsilon_{app}+\text{misfit}.
    Because: the display is lost (confidence low); a misfit added to the loss itself would be false
    Assumes:
    - |g(X_j) - y_j| <= misfit for some g in F_nu, instead of y = f*(X)
    Defects:
    - Read as a summand of the loss the claim is false: constant labels y = Y beyond the reach of the network have L
      >= (Y - sup|f|)^2, which exceeds any bound that is linear in Y.
    """

    place = "Remark 9"
    bounds, status = Quantity.TRAINING_LOSS, Status.RECONSTRUCTED
    monotone = "+d +rho_c +rho_u +rho_w +nu_c +nu_u +nu_w -delta_R +n -delta -tau +misfit"

    misfit: float = real("max_j |g(X_j) - y_j| for some g in F_nu", low_open=False, example=0.02)

    def printed(self) -> Variants:
        known = {name: value for name, value in self.as_inputs().items() if name != "misfit"}
        realisable = Theorem1(**known).printed()["value"]
        note = "reconstructed with confidence low: the display is lost, read here as one more summand"
        return {"value": printed_value(realisable.value + self.misfit, hypotheses=realisable.hypotheses, note=note)}

    def sound(self) -> Variants:
        target = joint_target_envelope(self.sigma, self.nu) + self.misfit
        found = runs(self, target, self.misfit)
        apriori, given = found["value"], found.get("init")
        hypotheses = (*apriori.setting_checks, UNIT_BALL, SYMMETRIC, FIXED_DATA, NOT_SELECTED, ALGORITHM)
        variants = sound_variants(apriori, hypotheses, separate=False)
        variants["initial"] = upper_bound(
            target * target, hypotheses=hypotheses, note="the loss at the initialisation: min_t L <= L(phi_0)"
        )
        if given is not None:
            variants["init"] = upper_bound(
                given.mean_loss, hypotheses=(given.step_check, *hypotheses), trivial=target * target
            )
        return variants
