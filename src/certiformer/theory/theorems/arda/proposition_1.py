from certiformer.theory.core import Quantity, Status, Variants, assumed
from certiformer.theory.theorems.arda._descent import with_hypotheses
from certiformer.theory.theorems.arda.theorem_1 import Theorem1

UNBIASED = assumed("every mini-batch is uniform given the past (fresh draws; not epoch-wise reshuffling)")


class Proposition1(Theorem1):
    r"""Expected training loss of projected stochastic gradient descent.

    Stochastic steps, given the initialisation, for every mini-batch that is unbiased given the past; phi_0 and the
    transported parameters do not depend on the sampling.

    Printed: E over the sampling: the bound of Theorem 1, eta = 1/sqrt(tau)
    .. math::
       \min_{t<\tau}E\,L(\phi_t)\le\frac{\nu^2/4+G_2F^2}{\sqrt\tau}+F(\varepsilon_{lin}+\varepsilon_{cf}+\varepsilon_{app})
    Sound: min_t E L <= mean_t E L <= A and E L(average iterate) <= (sqrt(A) + 2 eps_lin)^2 with A as in Theorem 1,
    given the initialisation, for mini-batches of any size that are unbiased given the past.
    .. math:: \min_{t<\tau}E\,L(\phi_t)\le\frac1\tau\sum_{t<\tau}E\,L(\phi_t)\le A,\qquad
       E\,L(\bar\phi_\tau)\le(\sqrt A+2\varepsilon_{lin})^2
    Because: structure rebuilt (confidence medium), constants lost; the rates are 1/tau and 1/m
    Assumes:
    - each mini-batch unbiased given the past; reshuffling without replacement over an epoch is not covered
    """

    place = "Proposition 1"
    bounds, status = Quantity.TRAINING_LOSS, Status.RECONSTRUCTED
    monotone = "+d +rho_c +rho_u +rho_w +nu_c +nu_u +nu_w -delta_R +n -delta -tau"

    def sound(self) -> Variants:
        return with_hypotheses(super().sound(), (UNBIASED,))
