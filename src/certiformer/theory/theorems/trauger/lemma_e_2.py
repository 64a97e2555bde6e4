from certiformer.theory.calculus.softmax import input_sensitivity, weight_sensitivity
from certiformer.theory.core import (
    Quantity,
    Result,
    Status,
    Variants,
    derived,
    printed_value,
    real,
    upper_bound,
    verified,
)
from certiformer.theory.theorems.trauger import TRAUGER

_error = "largest change of {} over tokens, at the inputs of the covered network"


class LemmaE2(Result):
    r"""Error of one layer.

    One layer Pi(sigma(Pi(f(g))) W_c) with spectral norms c, v, q of W_c, W_v, W_QK, errors of its input and weights,
    inputs of norm at most B and half-diameter rho. The printed form holds in the unit ball only, so not at the first
    layer of a network whose tokens are larger.

    Printed: |out| <= dWc + L_sigma Bc2 Bv2 (1 + 4 BQK2) dg + 2 L_sigma Bc2 Bv2 dWQK + L_sigma Bc2 dWv
    .. math:: \|\Delta g^{(i+1)}\|\le e_c+L_\sigma B_{c2}B_{v2}(1+4B_{QK2})\|\Delta g^{(i)}\|+2L_\sigma
       B_{c2}B_{v2}e_{QK}+L_\sigma B_{c2}e_v
    Quoted: L_{\sigma} B_{c2} B_{v2} (1 + 4B_{QK2}) \left\| (g_{block}^{(i)}(X;W^{1:i}) -
    g_{block}^{(i)}(X;\hat{W}^{1:i}))^{\top} \right\|_{2,\infty}
    Sound: dWc + L_sigma Bc2 Bv2 (1 + rho (rho + B) BQK2) dg + L_sigma Bc2 Bv2 rho^2 dWQK + L_sigma Bc2 dWv, B the
    radius and rho the half-diameter of the layer's tokens (rho <= B)
    .. math:: \|\Delta_{out}\| \le e_c + L_\sigma c v(1+2B^2q)\|\Delta_{in}\| + L_\sigma c v\rho^2e_{qk} + L_\sigma
       c\,e_v
    Because: true in the unit ball, false at the first layer when tokens have norm above sqrt(2)
    Assumes:
    - spectral norms of the weights themselves, errors at the inputs of the covered network
    - B and rho bound the tokens of both networks
    Defects:
    - Inputs must lie in the unit ball; at layer 1 they have norm Bx, and for Bx = 10 the left side can be 50 times
      the right side.
    - The softmax constant 2 is 1: 1 + 4q becomes 1 + 2q and 2 becomes 1 in the unit ball.
    """

    paper, place = TRAUGER, "Lemma E.2"
    bounds, status = Quantity.OUTPUT_CHANGE, Status.FALSE
    monotone = "+L_sigma +Bc2 +Bv2 +BQK2 +B +dg +dWc +dWQK +dWv +rho"

    L_sigma: float = real("Lipschitz constant of the activation", symbol="L_σ")
    Bc2: float = real("spectral norm of W_c", low_open=False, example=1.2)
    Bv2: float = real("spectral norm of W_v", low_open=False, example=0.8)
    BQK2: float = real("spectral norm of W_QK", low_open=False, example=0.5)
    B: float = real("bound on the norm of the layer's input tokens")
    dg: float = real("largest change of an input token", low_open=False, example=0.1)
    dWc: float = real(
        "largest change of W_c^T u over tokens, at the inputs of the covered network", low_open=False, example=0.01
    )
    dWQK: float = real(
        "largest change of W_QK^T g over tokens, at the inputs of the covered network", low_open=False, example=0.02
    )
    dWv: float = real(
        "largest change of W_v^T g over tokens, at the inputs of the covered network", low_open=False, example=0.03
    )
    rho: float = real("half the diameter of the layer's tokens", low_open=False, factory=derived("B", lambda x: x.B))

    def printed(self) -> Variants:
        through = self.L_sigma * self.Bc2 * self.Bv2
        value = (
            self.dWc
            + through * (1 + 4 * self.BQK2) * self.dg
            + 2 * through * self.dWQK
            + self.L_sigma * self.Bc2 * self.dWv
        )
        return {
            "value": printed_value(
                value, hypotheses=(verified("inputs in the unit ball: B <= 1", self.B <= 1, self.B),)
            )
        }

    def sound(self) -> Variants:
        half = self.B if self.rho is None else min(self.rho, self.B)
        through = self.L_sigma * self.Bc2 * self.Bv2
        terms = {
            "W_c": self.dWc,
            "input": through * input_sensitivity(self.B, half, self.BQK2) * self.dg,
            "W_QK": through * weight_sensitivity(half) * self.dWQK,
            "W_v": self.L_sigma * self.Bc2 * self.dWv,
        }
        return {"value": upper_bound(sum(terms.values()), terms=terms, additive=True)}
