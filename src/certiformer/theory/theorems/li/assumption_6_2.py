import math

from certiformer.theory.calculus.truncation import SubGaussian, gaussian_tokens
from certiformer.theory.core import (
    Bound,
    Quantity,
    Result,
    Status,
    Variants,
    printed_value,
    stated,
    upper_bound,
    verified,
)
from certiformer.theory.core.inputs import count, flag, real
from certiformer.theory.theorems.li import LI


class Assumption62(Result):
    r"""Sub-Gaussian inputs.

    The tail of b(X), the largest token norm: of a matrix Gaussian or Rademacher series X, by Lemma 6.1 and b <= ||X||,
    or of centred Gaussian tokens whose covariance has spectral norm s.

    Printed: P(||X||_F >= t) <= (T+d) exp(-t^2/(2 nu^2)), nu = max(||E X^T X||, ||E X X^T||)
    .. math:: P(\|X\|_F\ge t)\le(T+d)\exp\bigl(-t^2/2\nu(X)^2\bigr)
    Quoted: \mathbb{P}(\|X\|_{F}\geq t)\leq(T+d)\exp\left(\frac{-t^{2}}{2\nu(X)^{2}}\right)
    Sound: For b(X), the largest token norm: series (matrix Gaussian or Rademacher series): (T+d) exp(-t^2/(2 nu)),
    nu in units of X^2. tokens (centred Gaussian, covariance norm s): T 2^(d/2) exp(-t^2/(4s)). A tail fitted to
    data is not a guarantee.
    .. math:: P(b(X)\ge t)\le(T+d)\,e^{-t^2/2\nu}\ \text{(series)},\qquad P(b(X)\ge t)\le T\,2^{d/2}e^{-t^2/4s}\
       \text{(Gaussian tokens)}
    Because: not scale equivariant: entries N(0, 0.01), T = d = 1, at the median: 2.6e-10 for a probability of 1/2
    Assumes:
    - centred inputs
    Defects:
    - nu is a variance already (units of X^2); squaring it breaks scale equivariance. Entries N(0, 0.0025), T = d =
      20: the formula gives 8.9e-86 at the median.
    - Even with nu in the exponent it is false for the Frobenius norm of Gaussian matrices: T = d = 20: 0.0019 at
      the median.
    - An unbounded f* contradicts |f*| <= B, which the theorems keep in their prefactor.
    """

    paper, place = LI, "Assumption 6.2"
    bounds, status = Quantity.TAIL_PROBABILITY, Status.FALSE
    monotone = "+T +nu -t"

    T: int = count("sequence length", example=5)
    d: int = count("token dimension", example=4)
    nu: float = real("max(||E X^T X||, ||E X X^T||)", symbol="ν")
    t: float = real("threshold", example=6)
    spectral: float | None = real(
        "spectral norm of the covariance of a token", default=None, otherwise="tokens left out"
    )
    series: bool | None = flag("X is a matrix Gaussian or Rademacher series")
    gaussian: bool | None = flag("tokens are centred Gaussian")

    def printed(self) -> Variants:
        value = (self.T + self.d) * math.exp(-(self.t**2) / (2.0 * self.nu**2))
        return {"value": printed_value(value, hypotheses=(verified("at most 1", value <= 1.0, value),))}

    def sound(self) -> Variants:
        is_series = stated("X is a matrix Gaussian or Rademacher series (centred)", self.series, "series=1")
        variants: dict[str, Bound] = {
            "series": upper_bound(
                SubGaussian(self.T + self.d, self.nu).probability(self.t), clip=1.0, hypotheses=(is_series,)
            ),
        }
        if self.spectral is not None:
            tokens = gaussian_tokens(self.T, self.d, self.spectral)
            is_gaussian = stated(
                "tokens are centred Gaussian, covariance of spectral norm at most `spectral`",
                self.gaussian,
                "gaussian=1",
            )
            variants["tokens"] = upper_bound(tokens.probability(self.t), clip=1.0, hypotheses=(is_gaussian,))
        return variants
