from certiformer.theory.core import Quantity, Status, Variants, printed_value
from certiformer.theory.theorems.mwigo._shallow import ShallowEncoder, complexity_variants, printed_bound


class Lemma1(ShallowEncoder):
    r"""Rademacher complexity of the pooled encoder.

    The mean over token positions is covered directly; no rank condition is needed.

    Printed: R_S <~ O((1/N) sqrt(P/N) (1 + log(A sqrt(N/P)))), P and A as in Lemma 2
    .. math:: R_S\lesssim O\Bigl(\tfrac1N\sqrt{P/N}\bigl(1+\log(A\sqrt{N/P})\bigr)\Bigr)
    Quoted: \mathcal{R}_S(\mathcal{F}_R^{\theta^0}) \lesssim \mathcal{O} \left( \frac{1}{N} \sqrt{\frac{P}{N}} \left(
    1 + \log \left( A \sqrt{\frac{N}{P}} \right) \right) \right)
    Sound: The sound bounds of Lemma 2: pooling is a mean, and a mean of errors is at most the largest.
    .. math:: P_{init}=\Bigl(\bigl((R_O\xi_VB)^2\ln(2N+1)\bigr)^{1/3}
       +\bigl((R_VB)^2\kappa(d_m,d)\bigr)^{1/3}\eta_O^{2/3}
       +\bigl((R_AB)^2\kappa(d,d)\bigr)^{1/3}(\eta_O\xi_V\rho^2)^{2/3}\Bigr)^3 .
    Because: the factor 1/N is wrong: the complexity decays like N^(-1/2)
    Defects:
    - The extra 1/N: with constant inputs and everything but w_O fixed, R_S is of order N^(-1/2); at N = 1e8 the
      printed value is 1.0e-8, the true one at least 5.6e-5.
    - The step 'rows are independent because of full rank, so every position has the same supremum' is wrong; only a
      sum of suprema bounds a supremum of sums.
    - The class is defined through training steps that have not been taken yet.
    - d = dm is not without loss of generality.
    """

    place = "Lemma 1"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.FALSE
    monotone = "-n +RX"
    elementwise = ("n",)

    def printed(self) -> Variants:
        value, in_range = printed_bound(self)
        return {"value": printed_value(value / self.n, hypotheses=(in_range,))}

    def sound(self) -> Variants:
        return complexity_variants(self)
