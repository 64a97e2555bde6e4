import math

from certiformer.theory.core import (
    Quantity,
    Status,
    Variants,
    lower_bound,
    printed_value,
    side_number,
    upper_bound,
    verified,
)
from certiformer.theory.core.inputs import real
from certiformer.theory.theorems.deora._mixture import Mixture
from certiformer.theory.theorems.deora._setting import TokenizedMixture


def _margin(eps: float, S: float, Zmu: float, T: int) -> float:
    return math.sqrt(T) / (math.sqrt(2.0) * S) * (S**2 * (1.0 - eps) - 2.0 * eps * Zmu)


def _scale(odds: float, mixture: Mixture, gap: float) -> float:
    if gap <= 0.0:
        return math.inf
    return max(0.0, math.log(odds)) * mixture.target_norm / gap


class Proposition3(TokenizedMixture):
    r"""Margin of saturated attention.

    Saturation of the attention at the logit gap g of (8). `Gamma_tight` uses that a mass is x/(1+x).

    Printed: Zmu = Znu <= S^2/8 and Gamma >= (8 sqrt(2(M+1))/(3 S^2)) log((1/zeta - 1)/eps) imply irrelevant mass <=
    eps and margin >= gamma_attn = (sqrt(T)/(sqrt(2) S))(S^2 (1 - eps) - 2 eps Zmu)
    .. math::
       \Gamma_\epsilon\ge\tfrac{8\sqrt{2(M+1)}}{3S^2}\log\tfrac{\zeta^{-1}-1}{\epsilon}
       \Rightarrow y\Phi\ge\gamma_{\rm
       attn}=\tfrac{\sqrt T}{\sqrt2S}(S^2(1-\epsilon)-2\epsilon Z_\mu)
    Quoted: For any $\epsilon > 0$, consider Γ_ϵ satisfying $\Gamma_\epsilon \geq \frac{8\sqrt{2(M+1)}}{3S^2}
    \log\left(\frac{\zeta^{-1}-1}{\epsilon}\right)$
    Sound: S^2 >= 2 Zmu and g = min(S^2 (S^2-Zmu), (S^2-Znu)(S^2-2 Zmu) - Zmu S^2) > 0: Gamma = max(0, log((1/zeta -
    1)/eps)) S^2 sqrt(2(M+1))/g gives irrelevant mass <= eps and margin >= gamma_attn; Gamma_tight has (1 - eps)/eps
    for 1/eps
    .. math:: \Gamma=\max\Bigl(0,\log\frac{\zeta^{-1}-1}{\epsilon}\Bigr)\frac{S^2\sqrt{2(M+1)}}{g};
    Because: false where the printed Gamma is negative (eps > 1/zeta - 1); true otherwise, with 8/3 where 32/17 is
    enough
    Assumes:
    - single head; data from the tokenized mixture
    Defects:
    - For eps > 1/zeta - 1 the printed limit on Gamma is negative, and at it the irrelevant mass exceeds eps.
    - At Zmu = Znu = S^2/8 the gap is 17/32 S^4: 32/17 = 1.88 replaces 8/3.
    - The solution has norm sqrt(1 + Gamma^2), so gamma_attn is no normalised margin and not comparable with
      gamma_*.
    - Section 7 repeats it with '=' for '>=', Zmu/S for Zmu/S^2 and log/S for log/S^2.
    """

    place = "Proposition 3, (9)-(11)"
    bounds, status = Quantity.MODEL_MARGIN, Status.FALSE
    monotone = "-eps -Zmu +T"

    eps: float = real("irrelevant attention mass allowed", high=1.0, example=0.01, symbol="ε")

    def printed(self) -> Variants:
        Gamma = 8.0 * math.sqrt(2.0 * (self.M + 1)) / (3.0 * self.S**2) * math.log((1.0 / self.zeta - 1.0) / self.eps)
        hypotheses = (
            verified("Zmu, Znu <= S^2/8", max(self.Zmu, self.Znu) <= self.S**2 / 8.0, max(self.Zmu, self.Znu)),
            verified("Gamma >= 0 (eps <= 1/zeta - 1)", Gamma >= 0.0, Gamma),
        )
        return {
            "Gamma": printed_value(Gamma, hypotheses=hypotheses, bounds=Quantity.CONSTANT),
            "gamma_attn": printed_value(_margin(self.eps, self.S, self.Zmu, self.T), hypotheses=hypotheses),
        }

    def sound(self) -> Variants:
        mixture = Mixture(self.T, self.zeta, self.M, self.S, self.Zmu, self.Znu)
        gap = mixture.logit_gap()
        hypotheses = (
            verified("S^2 >= 2 Zmu and relevant logits above irrelevant ones", gap > 0.0, gap),
            *mixture.hypotheses(),
        )
        odds = (1.0 / self.zeta - 1.0) / self.eps
        scale = _scale(odds, mixture, gap)
        tight = _scale(odds * (1.0 - self.eps), mixture, gap)
        margin = _margin(self.eps, self.S, self.Zmu, self.T) if gap > 0.0 else -math.inf
        per_norm = margin / math.hypot(1.0, scale) if gap > 0.0 else 0.0
        return {
            "Gamma": upper_bound(
                scale, hypotheses=hypotheses, bounds=Quantity.CONSTANT, note="a scale of W_opt that is enough"
            ),
            "Gamma_tight": upper_bound(
                tight, hypotheses=hypotheses, bounds=Quantity.CONSTANT, note="the same, with the mass x/(1+x)"
            ),
            "gamma_attn": lower_bound(
                margin, hypotheses=hypotheses, note="margin of (U_opt, Gamma W_opt), norm sqrt(1 + Gamma^2)"
            ),
            "per_norm": side_number(
                per_norm, "gamma_attn per unit of that norm; not an NTK margin and not one at norm sqrt 2"
            ),
        }
