import math

from certiformer.theory.calculus.activations import Activation
from certiformer.theory.core import Quantity, Status, Variants, count, printed_value, real, upper_bound
from certiformer.theory.theorems.arda._descent import Radii, sampling_deviation
from certiformer.theory.theorems.arda._heads import in_pairs
from certiformer.theory.theorems.arda._setting import (
    FIXED_DATA,
    NOT_SELECTED,
    SYMMETRIC,
    UNIT_BALL,
    Activated,
    Transported,
)


def feature_scale(sigma: Activation, nu: Radii) -> float:
    """s = s0 nu_c + s1 nu_u + 2 s1 nu_w: <psi, v> - E<psi, v> is sub-Gaussian with parameter s."""
    return sigma.s0 * nu.c + sigma.s1 * nu.u + 2.0 * sigma.s1 * nu.w


class Lemma5(Activated, Transported):
    r"""Approximation error of the transported parameters.

    The dimension goes away, because ||Mu|| is sub-Gaussian whatever d is (tr M <= 1).

    Printed: max_j |f_lin(X_j; phibar) - f*(X_j)| <= 2 (s0 nu_c + s1 nu_u + 2 s1 nu_w sqrt(d)) sqrt(ln(2n/delta)/m)
    .. math:: \max_j|f_{lin}-f^*|\le2(\sigma_0\nu_c+\sigma_1\nu_u+s_w)\sqrt{\ln(2n/\delta)/m}
    Sound: The same without sqrt(d): 2 (s0 nu_c + s1 nu_u + 2 s1 nu_w) sqrt(ln(2n/delta)/m).
    .. math:: \varepsilon_{app}=2\,(s_0\nu_c+s_1\nu_u+2s_1\nu_w)\sqrt{\ln(2n/\delta)/m}.
    Because: the rate is forced by the proof (confidence high); the printed parameter s_w is lost (sqrt(d) is a
    guess)
    Assumes:
    - inputs, labels and v fixed before the initialisation is drawn
    - the initialisation is not selected: re-drawing until E_R holds turns delta into delta/(1 - delta_R), the best
      of k seeds into k delta
    Defects:
    - The released approximation experiment draws m independent heads; the symmetric initialisation has m/2, so its
      error is understated by sqrt 2.
    """

    place = "Lemma 5"
    bounds, status = Quantity.APPROXIMATION_ERROR, Status.RECONSTRUCTED
    monotone = "-m +nu_c +nu_u +nu_w +n -delta"

    m: int = count("width: the number of heads, even", low=2, example=1_000_000)
    d: int = count("dimension of a token", example=8)
    n: int = count("sample size", example=5000, aliases=("N",))
    delta: float = real("failure probability of the approximation step", high=1, example=0.05, symbol="δ")

    def printed(self) -> Variants:
        scale = feature_scale(self.sigma, Radii(self.nu_c, self.nu_u, self.nu_w * math.sqrt(self.d)))
        note = "reconstructed: rate with confidence high, the factor sqrt(d) of nu_w with confidence low"
        return {"value": printed_value(sampling_deviation(scale, self.m, self.n, self.delta), note=note)}

    def sound(self) -> Variants:
        scale = feature_scale(self.sigma, self.nu)
        hypotheses = (in_pairs(self.m), UNIT_BALL, SYMMETRIC, FIXED_DATA, NOT_SELECTED)
        return {"value": upper_bound(sampling_deviation(scale, self.m, self.n, self.delta), hypotheses=hypotheses)}
