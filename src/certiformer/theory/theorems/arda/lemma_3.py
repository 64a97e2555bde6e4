from certiformer.theory.core import Quantity, Status, Variants, printed_value, upper_bound
from certiformer.theory.theorems.arda._descent import linearisation_error
from certiformer.theory.theorems.arda._heads import common, in_pairs
from certiformer.theory.theorems.arda._setting import SYMMETRIC, UNIT_BALL, Activated, Projected, RealisedHeads
from certiformer.theory.theorems.arda.definition_2 import constants_near_start, head_norm


class Lemma3(Activated, Projected, RealisedHeads):
    r"""Linearisation error near the initialisation.

    Three ways to bound the norms of the query vectors: `value` (an event of probability 1 - delta_R), `exact` (the
    quantile itself), `init` (the realised norms: surely, no event, no logarithm of m).

    Printed: sup |f - f_lin| <= (rho_c rho_theta L1 + rho_theta^2 L2/2)/sqrt(m) on E_R
    .. math:: \sup_{\Omega_\rho}|f-f_{lin}|\le m^{-1/2}(\rho_c\rho_\theta L_1+\tfrac12\rho_\theta^2L_2)
    Sound: The same with L1, L2 of Lemma 2 at B = sqrt(d) + R + rho_u/sqrt(m) (probability 1 - delta_R), at the
    exact quantile, or averaged over the realised norms.
    .. math:: \sup_{\Omega_\rho}|f-f_{lin}|\le\frac{1}{\sqrt m}\bigl(\rho_c\rho_\theta
       L_1+\tfrac{1}{2}\rho_\theta^2L_2\bigr),\quad B=\sqrt d+R+\frac{\rho_u}{\sqrt m}
    Because: the shape is forced by the proof (confidence high); the printed L1 and L2 inside it are lost
    Assumes:
    - symmetric initialisation
    - tokens and query in the unit ball
    """

    place = "Lemma 3"
    bounds, status = Quantity.LINEARIZATION_ERROR, Status.RECONSTRUCTED
    monotone = "+d +rho_c +rho_u +rho_w -delta_R"

    def printed(self) -> Variants:
        units = common(self.sigma, head_norm(self.m, self.d, self.rho_u, self.delta_R))
        value = linearisation_error(self.m, units, self.rho)
        note = "reconstructed, confidence high; its L1, L2 are lost, evaluated with the sound ones"
        return {"value": printed_value(value, note=note)}

    def sound(self) -> Variants:
        surely = (in_pairs(self.m), UNIT_BALL)
        variants = {}
        for name, units in constants_near_start(self.sigma, self, self).items():
            hypotheses = surely if name == "init" else (*surely, SYMMETRIC)
            note = "given this initialisation, surely" if name == "init" else ""
            error = linearisation_error(self.m, units, self.rho)
            variants[name] = upper_bound(error, hypotheses=hypotheses, note=note)
        return variants
