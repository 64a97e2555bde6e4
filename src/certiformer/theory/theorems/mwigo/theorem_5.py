import math

from certiformer.theory.calculus import chaining
from certiformer.theory.calculus.covers import quadratic_cover
from certiformer.theory.calculus.entropies import exp
from certiformer.theory.calculus.rademacher import gap_uniform, of_loss
from certiformer.theory.core import Bound, Quantity, Status, Variants, printed_value, side_number, upper_bound
from certiformer.theory.core.elementwise import each, least
from certiformer.theory.core.hypothesis import assumed, verified
from certiformer.theory.core.inputs import real
from certiformer.theory.theorems.mwigo._shallow import (
    P_init,
    ShallowEncoder,
    complexity_variants,
    for_each_n,
    printed_A,
    printed_complexity,
)
from certiformer.theory.theorems.mwigo._training import ln_printed_loss


class Theorem5(ShallowEncoder):
    r"""True loss of the trained encoder.

    With probability at least 1 - delta for every network within the radii; B bounds every token of the support, L_S is
    measured or comes from Lemma 4.

    Printed: L_D <~ min(alpha^2/(8 rho M^ sqrt(N)), alpha^3 eta_O/(32 rho^4 z^ sqrt(N))) + O(sqrt(P/N) (1 + log(A
    sqrt(N/P))) + sqrt(log(R/delta)/N)) with probability 1 - 8 exp(-dm/2) - 2 delta - exp(-Omega((N-1)^(-c)/ds))
    .. math:: L_D\lesssim\min\Bigl(\frac{\alpha^2}{8\rho\hat M\sqrt N},\frac{\alpha^3\eta_O}{32\rho^4\hat z\sqrt
       N}\Bigr)+O\Bigl(\sqrt{\tfrac PN}\bigl(1+\log(A\sqrt{\tfrac NP})\bigr)+\sqrt{\tfrac{\log(R/\delta)}N}\Bigr)
    Quoted: with probability at least $1 - 8e^{-d_m/2} - 2\delta - \exp(-\Omega((N-1)^{-\epsilon} d_s^{-1}))$
    Sound: L_D <= L_S + 2 Rbar + c sqrt(ln(1/delta)/2N), c = eta_O xi_V B + ymax or the clip level; Rbar from Lemma
    2 (sound). value: covers centred at the initial weights, scales D q^-j, not clipped; chain: the best of Lemma 2,
    at most c.
    .. math:: L_D \le L_S + 2\overline R + c\sqrt{\ln(1/\delta)/2N},\quad c=\eta_O\xi_VB+\max|y|,
    Because: inherits Lemmas 2 and 4; the stated confidence tends to zero as N grows; the factor 3c is lost
    Assumes:
    - the loss is 1-Lipschitz in the prediction, zero at a perfect fit
    - the sample is i.i.d.
    Defects:
    - Everything that is wrong with Lemmas 2 and 4.
    - The confidence contains exp(-(N-1)^(-c)/ds), which tends to 1: the stated probability is vacuous unless the
      hidden constant exceeds N^c ds.
    - The union over R_i = 1..R is pointless, since the largest class is used anyway, and needs whole R >= 1.
    - The factor 3c of the gap is lost, and the loss must be bounded.
    - The step size depends on l(theta^0) here and on Phi(theta^0) in Lemma 4.
    """

    place = "Theorem 5"
    bounds, status = Quantity.RISK, Status.FALSE
    monotone = "-n +RX +RO -delta +LS +ymax"
    elementwise = ("n",)

    alpha: float = real(
        "smallest (N-th) singular value of the initial features, pooled over the tokens by their mean as f does",
        example=0.5,
        symbol="α",
    )
    delta: float = real("failure probability", high=1, example=0.05, symbol="δ")
    LS: float = real(
        "training loss, clipped at `clip` like the loss, measured or from Lemma 4",
        low_open=False,
        example=0.01,
        symbol="L_S",
    )
    ymax: float = real("bound on every label of the support", low_open=False, symbol="max|y|")
    clip: float | None = real(
        "level at which the loss is clipped", example=2, default=None, otherwise="eta_O xi_V B + ymax"
    )
    paid: float = real("nats paid for radii read off the weights (see strata)", low_open=False, example=0, default=0.0)

    def printed(self) -> Variants:
        complexity = for_each_n(lambda at: printed_complexity(at)[0], self)
        s = for_each_n(lambda at: printed_complexity(at)[1], self)
        trained = for_each_n(lambda at: exp(ln_printed_loss(at, self.alpha)), self)
        R = max(1.0, math.hypot(self.RQ, self.RK, self.RV, self.RO))
        value = trained + complexity + each(math.sqrt, math.log(R / self.delta) / self.n)
        hypotheses = (
            verified("sqrt(P/N) <= A (beyond that the formula falls)", (s > 0.0) & (s <= printed_A(self)), s),
            verified("d_m >= N (else alpha, the N-th singular value, is 0)", self.dm >= self.n, self.dm),
            assumed("the hypotheses of Lemma 4, and constants of 1 in O()"),
        )
        return {"value": printed_value(value, hypotheses=hypotheses)}

    def sound(self) -> Variants:
        c = self.output + self.ymax if self.clip is None else self.clip
        ln_inverse = self.paid - math.log(self.delta)
        clipped = verified("LS, the training loss of what is bounded, is at most its range c", c >= self.LS, self.LS)
        support = assumed("B bounds every token and ymax every label of the support, or the loss is clipped")

        def risk(complexity: float, ceiling: float | None) -> Bound:
            gap = gap_uniform(complexity, c, ln_inverse, self.n)
            terms = {"training loss": self.LS, "complexity": 2.0 * complexity, "confidence": gap - 2.0 * complexity}
            return upper_bound(
                self.LS + gap,
                clip=ceiling,
                trivial=c,
                terms=terms,
                additive=True,
                hypotheses=(support, clipped, self.initial_norms),
            )

        # Measured from the initial network f_0: |f - f_0| is at most |f| + |f_0|, or the movement itself.
        around = min(2.0 * self.output, self.movement)
        plain = for_each_n(lambda at: chaining.geometric_chain(quadratic_cover(P_init(at)), around, at.n), self)
        variants = complexity_variants(self)
        best = least(*(bound.value for bound in variants.values() if bound.bounds is None))
        return {
            "value": risk(plain, None),
            # One class, several bounds on its complexity: the smallest is free. Losses have complexity at most c/2.
            "chain": risk(of_loss(best, 1.0, c), c),
            "c": side_number(c, "range of the loss"),
        }
