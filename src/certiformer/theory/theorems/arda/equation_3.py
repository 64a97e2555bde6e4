from certiformer.theory.core import Quantity, Status, Variants, upper_bound
from certiformer.theory.theorems.arda._setting import Activated


class Equation3(Activated):
    r"""Constants of the activation.

    The text asks for such constants and names none; here they are the suprema: tanh (1, 1, 4/(3 sqrt 3)), erf(x/sqrt 2)
    (1, sqrt(2/pi), sqrt(2/(pi e))), sigmoid (1, 1/4, 1/(6 sqrt 3)), sin (1, 1, 1).

    .. math:: |\sigma|\le\sigma_0,\qquad|\sigma'|\le\sigma_1,\qquad|\sigma''|\le\sigma_2.

    Sound: The suprema themselves: s0 = sup |sigma|, s1 = sup |sigma'|, s2 = sup |sigma''|.
    .. math:: |\sigma|\le\sigma_0,\ |\sigma'|\le\sigma_1,\ |\sigma''|\le\sigma_2
    Because: the symbols are lost in our copy (confidence high); the paper gives no numbers
    Defects:
    - The released code uses 2/sqrt(pi) e^{-x^2/2} as slope of erf(x/sqrt 2): too large by sqrt 2 (default tanh).
    """

    id = "arda.eq3"
    place = "Section 3.2, equation (3)"
    bounds, status = Quantity.LIPSCHITZ_CONSTANT, Status.RECONSTRUCTED

    def sound(self) -> Variants:
        sigma = self.sigma
        return {
            "s0": upper_bound(sigma.s0, bounds=Quantity.OUTPUT_CHANGE),
            "s1": upper_bound(sigma.s1),
            "s2": upper_bound(sigma.s2, bounds=Quantity.SMOOTHNESS),
        }
