import math

from certiformer.theory.core import Quantity, Result, Status, Variants, assumed, printed_value, side_number, upper_bound
from certiformer.theory.core.inputs import count, real
from certiformer.theory.theorems.deora import DEORA
from certiformer.theory.theorems.deora._mixture import token_radius


class Lemma2(Result):
    r"""First phase: one gradient step from zero.

    One step from zero. The coefficient is zeta/4, because the logistic loss has l'(0) = -1/2; W does not move at all.

    Printed: U^(1) = alpha 1 (zeta/2 u_* + p)^T, ||p|| <= C (2S + Z)(sqrt(d/n1) + sqrt(log(1/delta)/n1))
    .. math:: \|p\|\le C(2S+Z)\bigl(\sqrt{d/n_1}+\sqrt{\log(1/\delta)/n_1}\bigr)=:P
    Quoted: $\mathbf{U}_h^{(1)} = \alpha_h \mathbf{1}_T (\frac{\zeta}{2} \mathbf{u}_\star^\top + \mathbf{p}^\top)$
    Sound: U^(1) = alpha 1 (zeta/4 u_* + p)^T, W^(1) = 0, ||p|| <= (R/(2 sqrt(n1)))(1 + sqrt(2 log(1/delta))) with
    probability 1 - delta over the first-phase samples; no dimension
    .. math:: \|p\|\le\frac{R}{2\sqrt{n_1}}\bigl(1+\sqrt{2\log(1/\delta)}\bigr),\quad R=\sqrt{S^2+Z^2+2Z_\nu/M}.
    Because: the coefficient of u_* is zeta/4: with zeta/2 the remainder p does not shrink
    Assumes:
    - logistic loss, zero start, step alpha_h sqrt(H) in head h
    - samples of the tokenized mixture
    Defects:
    - With zeta/2 u_* the remainder tends to zeta S/(2 sqrt 2), not to 0: l'(0) = -1/2 and E[y xbar] = zeta u_*/2.
    - The constant C is not given, and the failure event is over labels and tokens, not labels alone.
    - The dimension is not needed.
    """

    paper, place = DEORA, "Lemma 2"
    bounds, status = Quantity.MEAN_ESTIMATION_ERROR, Status.FALSE
    monotone = "-n1 -delta +S +Z +Znu -M"

    n1: int = count("first-phase samples", example=400, symbol="n_1")
    delta: float = real("failure probability", high=1.0, example=0.05, symbol="δ")
    S: float = real("norm of every pattern", low=1e-12, high=1e12, example=1.3)
    Z: float = real("bound on ||z||", high=1e12, low_open=False, example=0.05)
    Znu: float = real("M times the bound on |<z, nu_l>|", high=1e12, low_open=False, example=0.04, symbol="Z_ν")
    M: int = count("irrelevant patterns", example=2)
    zeta: float = real("fraction of relevant tokens", high=1.0, example=0.25, symbol="ζ")
    d: int = count("token dimension (printed formula only)", example=8)

    def printed(self) -> Variants:
        rate = math.sqrt(self.d / self.n1) + math.sqrt(-math.log(self.delta) / self.n1)
        return {
            "P": printed_value((2.0 * self.S + self.Z) * rate, note="the universal constant C is not given; 1 here"),
            "coefficient": side_number(self.zeta / 2.0, "of u_* in U^(1)"),
        }

    def sound(self) -> Variants:
        R = token_radius(self.S, self.Z, self.Znu, self.M)
        hypotheses = (
            assumed(
                "the n1 first-phase samples are independent draws of the mixture, not used again in the second phase"
            ),
            assumed("the noise bounds hold almost surely"),
        )
        value = R / (2.0 * math.sqrt(self.n1)) * (1.0 + math.sqrt(-2.0 * math.log(self.delta)))
        return {
            "P": upper_bound(value, hypotheses=hypotheses),
            "coefficient": side_number(self.zeta / 4.0, "of u_* in U^(1)"),
        }
