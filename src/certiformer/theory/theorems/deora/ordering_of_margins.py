import math

from certiformer.theory.core import Quantity, Status, Variants, lower_bound, printed_value, side_number, verified
from certiformer.theory.theorems.deora._mixture import Mixture
from certiformer.theory.theorems.deora._setting import TokenizedMixture


class OrderingOfMargins(TokenizedMixture):
    r"""Ordering of the margins.

    Printed: gamma_attn >= gamma_* >= gamma_lin
    .. math:: \gamma_{\rm attn}\ge\gamma_\star\ge\gamma_{\rm lin}
    Quoted: In particular, $\gamma_{\text{attn}} \geq \gamma_* \geq \gamma_{\text{lin}}$ and the gap increases with
    decreasing sparsity.
    Sound: NTK margins at norm sqrt 2 after an exact first phase (P = 0): gamma_star = sqrt(2) hypot(gamma_U+,
    gamma_W+) >= gamma_lin = sqrt(2) gamma_U; gamma_attn = S sqrt(T/2) is a margin of the model and of another norm
    .. math:: \gamma_\star=\sqrt{2}\sqrt{(\gamma_U)_+^2+(\gamma_W)_+^2}\ \ge\ \gamma_{lin}=\sqrt 2\,\gamma_U
    Because: T = 8, zeta = 1/2, M = 1, S = 4 without noise: gamma_attn = 8 < gamma_* = 36
    Assumes:
    - tokenized mixture, first phase without sampling error (P = 0)
    Defects:
    - gamma_attn >= gamma_* fails for strong signals: without noise it is S^3 sqrt(T) zeta^2 <= 4 sqrt(M+1).
    - gamma_* >= gamma_lin fails with noise, and without noise when both are taken at norm sqrt 2.
    - gamma_attn belongs to parameters of norm sqrt(1 + Gamma^2), the other two to norm sqrt 2.
    """

    id = "deora.sec5.3"
    place = "Sections 5.3 and 7"
    bounds, status = Quantity.NTK_MARGIN, Status.FALSE
    monotone = "-Zmu -Znu"

    def printed(self) -> Variants:
        mixture = Mixture(self.T, self.zeta, self.M, self.S, self.Zmu, self.Znu)
        attention, star, linear = self.S * math.sqrt(self.T / 2.0), mixture.printed_margin(0.0), mixture.margin_U()
        hypotheses = (
            verified("gamma_attn >= gamma_*", attention >= star, attention - star),
            verified("gamma_* >= gamma_lin", star >= linear, star - linear),
        )
        return {
            "gamma_attn": printed_value(attention, hypotheses=hypotheses, bounds=Quantity.MODEL_MARGIN),
            "gamma_star": printed_value(star, hypotheses=hypotheses),
            "gamma_lin": printed_value(
                linear, hypotheses=hypotheses, note="Omega(zeta S) in the text; the part of U here"
            ),
        }

    def sound(self) -> Variants:
        mixture = Mixture(self.T, self.zeta, self.M, self.S, self.Zmu, self.Znu)
        margin_U, margin_W = mixture.margin_U(), mixture.margin_W(0.0)
        hypotheses = mixture.hypotheses()
        star = math.sqrt(2.0) * math.hypot(max(margin_U, 0.0), max(margin_W, 0.0))
        gap = mixture.logit_gap()
        return {
            "gamma_star": lower_bound(
                star, hypotheses=(verified("the margin is positive", star > 0.0), *hypotheses), note="norm sqrt 2"
            ),
            "gamma_lin": lower_bound(
                math.sqrt(2.0) * margin_U,
                hypotheses=(verified("the margin is positive", margin_U > 0.0), *hypotheses),
                note="norm sqrt 2, attention fixed and uniform (the zero start)",
            ),
            "gamma_attn": lower_bound(
                self.S * math.sqrt(self.T / 2.0),
                hypotheses=(verified("relevant logits above irrelevant ones", gap > 0.0, gap), *hypotheses),
                bounds=Quantity.MODEL_MARGIN,
                note="approached as the norm of W grows without bound",
            ),
            "crossing": side_number(
                self.S**3 * math.sqrt(self.T) * self.zeta**2 / (4.0 * math.sqrt(self.M + 1.0)),
                "without noise the printed gamma_attn >= gamma_* holds exactly when this is at most 1",
            ),
        }
