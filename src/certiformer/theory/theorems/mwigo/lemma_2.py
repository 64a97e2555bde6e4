from certiformer.theory.calculus.entropies import exp
from certiformer.theory.core import Quantity, Status, Variants, printed_value, side_number
from certiformer.theory.theorems.mwigo._shallow import (
    ShallowEncoder,
    complexity_variants,
    for_each_n,
    ln_printed_P,
    printed_A,
    printed_bound,
)


class Lemma2(ShallowEncoder):
    r"""Rademacher complexity near the initial weights.

    With eta_O, the token norms and the readout in their places (docs/proofs/mwigo.md); neither d_s nor log(N d_s)
    appears, and no rank condition. Chains are those of the network on the engine.

    Printed: R_S <~ c sqrt(P/N) (1 + log(A sqrt(N/P))), A = eta_O eta_V sqrt(ds) RX, P = (sqrt(ds) RX)^2 ((sqrt(dm)
    eta_V)^(2/3) + (sqrt(dm) eta_K eta_Q eta_V)^(2/3))^3 log(N ds)
    .. math:: R_S\lesssim c\sqrt{P/N}\bigl(1+\log(A\sqrt{N/P})\bigr)
    Quoted: P = (\sqrt{d_s} R_X)^2 \left( (\sqrt{d_m} \eta_V)^{\frac{2}{3}} + (\sqrt{d_m} \eta_K \eta_Q
    \eta_V)^{\frac{2}{3}} \right)^3 \log(N d_s)
    Sound: Dudley's bound for log N <= P/eps^2. zero: (C, beta) = ((eta_O eta_V B)^2 ln(2N+1), 1), ((eta_V B)^2
    kappa(dm,d), eta_O), ((eta_K eta_Q B)^2 kappa(d,d)/dm, eta_O eta_V rho^2), D = eta_O eta_V B; init: ((RO xi_V
    B)^2 ln(2N+1), 1), ((RV B)^2 kappa(dm,d), eta_O), ((R_A B)^2 kappa(d,d), eta_O xi_V rho^2), R_A = (WK2 RQ + RK
    WQ2 + RK RQ)/sqrt(dm), D = min(eta_O xi_V B, RO xi_V B + eta_O RV B + eta_O xi_V rho^2 B R_A). Chains take the
    smallest covers.
    .. math::
       P_{init}=\Bigl(\bigl((R_O\xi_VB)^2\ln(2N+1)\bigr)^{1/3}+\bigl((R_VB)^2\kappa(d_m,d)\bigr)^{1/3}\eta_O^{2/3}
       +\bigl((R_AB)^2\kappa(d,d)\bigr)^{1/3}(\eta_O\xi_V\rho^2)^{2/3}\Bigr)^3 .
    Because: the complexity is proportional to the size of w_O, which P does not contain; negative for large P
    Defects:
    - P lacks eta_O: the class is 1-homogeneous in w_O, the printed value grows only with its logarithm (R_O = 1e7:
      3.6 printed, at least 557 true).
    - Negative once P > e^2 A^2 N, which is the realistic case (N = 400, dm = 64: -9764).
    - The second term of P lacks the squared token norm, and nothing covers w_O.
    - The bound on ||W_K^T W_Q||_{2,1} is crude by sqrt(dm), and d = dm is assumed without need.
    - The constant c and further logarithms are hidden.
    """

    place = "Lemma 2"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.FALSE
    monotone = "-n +d +RX +RQ +RK +RV +RO"
    elementwise = ("n",)

    def printed(self) -> Variants:
        value, in_range = printed_bound(self)
        return {
            "value": printed_value(value, hypotheses=(in_range,)),
            "P": side_number(for_each_n(lambda at: exp(ln_printed_P(at)), self)),
            "A": side_number(printed_A(self)),
        }

    def sound(self) -> Variants:
        return complexity_variants(self)
