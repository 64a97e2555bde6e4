"""What Theorem 4.1 and its corollaries share: the printed closed form and the sound Rademacher bound."""

from __future__ import annotations

import math
from typing import ClassVar

from certiformer.theory.calculus import chaining
from certiformer.theory.calculus.covers import Cover
from certiformer.theory.calculus.softmax import weight_sensitivity
from certiformer.theory.core import Bound, Hypothesis, Result, printed_value, stated, upper_bound, verified
from certiformer.theory.core.elementwise import agreed, each, least
from certiformer.theory.core.inputs import count, derived, flag, real
from certiformer.theory.theorems.trauger import TRAUGER


class OneLayer(Result):
    """A one-layer Transformer f(X) = w^T W_c^T sigma(W_v^T X^T softmax(X W_QK^T x_CLS)).

    Assumes:
    - the radii are fixed before the sample is seen (or paid for: `strata`)
    - sigma is L_sigma-Lipschitz with sigma(0) = 0
    - one layer, scores X W_QK^T x_CLS, no projection; tokens fixed, not trained
    """

    paper = TRAUGER
    elementwise: ClassVar[tuple[str, ...]] = ("n",)

    Bw: float = real("bound on ||w||_1, the readout", symbol="B_w")
    Bc: float = real("bound on ||W_c||_{1,inf}: every column of W_c in an l1 ball", example=2, symbol="B_{W_c}")
    L_sigma: float = real("Lipschitz constant of the activation, sigma(0) = 0", symbol="L_σ")
    Bv: float = real("bound on ||W_v||_{1,inf}: every column of W_v in an l1 ball", example=1.5, symbol="B_{W_v}")
    Bx: float = real("bound on the l2 norm of every token", symbol="B_x")
    n: int = count("sample size", example=1_000_000, aliases=("m", "N"))
    d: int = count("token dimension", example=64)
    rho: float = real(
        "half the diameter of the token set",
        low_open=False,
        factory=derived("Bx: no token is further from zero", lambda x: x.Bx),
    )
    D: float = real(
        "bound on the sup norm of every token",
        factory=derived("Bx: no entry exceeds the norm", lambda x: x.Bx),
    )
    odd: bool | None = flag("the activation is odd (tanh, identity): the factor 2 drops")

    @property
    def scale(self) -> float:
        """B_w B_c L_sigma B_v: what stands before the attended token."""
        return self.Bw * self.Bc * self.L_sigma * self.Bv

    @property
    def sensitivity(self) -> float:
        """rho^2: what an error of the scores moves the attended token by."""
        return weight_sensitivity(min(self.rho, self.Bx))

    @property
    def reach(self) -> float:
        """D, the sup norm of the attended token."""
        return min(self.D, self.Bx)

    def printed_form(self, alpha: float, *, minus: bool, scale: float | None = None) -> Bound:
        """B (alpha/sqrt n (1 + ln(sqrt n [- sqrt ln 2d]/(alpha/Bx))) + Bx sqrt(ln 2d/n)), all O() constants 1.

        `alpha` is 2 Bx^2 sqrt(C); the form falls and turns negative once alpha/Bx > sqrt n - sqrt(ln 2d).
        """
        front, ratio, root = self.scale if scale is None else scale, alpha / self.Bx, each(math.sqrt, self.n)
        available = root - math.sqrt(math.log(2 * self.d))
        in_range = verified("2 Bx sqrt(C) <= sqrt(n) - sqrt(ln 2d)", ratio <= available, ratio)
        last = self.Bx * each(math.sqrt, math.log(2 * self.d) / self.n)
        if alpha == 0.0:
            note = "alpha = 0: the first term is read as its limit 0"
            return printed_value(front * last, hypotheses=(in_range,), note=note)
        inside = (available if minus else root) / ratio
        if agreed(inside <= 0):
            return printed_value(math.inf, hypotheses=(in_range,), note="the logarithm's argument is not positive")
        return printed_value(front * (alpha / root * (1.0 + each(math.log, inside)) + last), hypotheses=(in_range,))

    def closed(self, constant: float) -> dict[str, Bound]:
        """Rad <= scale min(D, 2 E), E Dudley's closed form for ln N = ln 2d + rho^4 C/eps^2 at radius D; any covers."""
        additive, entropy = math.log(2 * self.d), self.sensitivity * self.sensitivity * constant
        return {
            "closed": self._bound(2.0, chaining.dudley_closed(entropy, self.reach, self.n, additive)),
            "closed_half": self._bound(2.0, chaining.dudley_closed_half(entropy, self.reach, self.n, additive)),
        }

    def chains(self, cover: Cover, *hypotheses: Hypothesis, name: str = "chain") -> dict[str, Bound]:
        """Rad <= scale min(D, 2 E), E the best chain of covers of {x -> W_QK^T x}; 2 becomes 1 for odd sigma.

        Covers at eps/rho^2 of the score maps, times 2d signed coordinates, cover the functions s e_j^T a(.; W) at eps.
        """
        seen = cover.scaled(self.sensitivity)
        run = chaining.proper_chain if cover.proper else chaining.external_chain
        best = run(seen, self.reach, self.n, math.log(2 * self.d))
        oddness = stated("the activation is odd", self.odd, "odd=1", id="odd-activation")
        return {
            name: self._bound(2.0, best, *hypotheses),
            f"{name}_odd": self._bound(1.0, best, *hypotheses, oddness),
        }

    def _bound(self, factor: float, complexity: float, *hypotheses: Hypothesis) -> Bound:
        ceiling = self.scale * self.reach
        return upper_bound(self.scale * least(self.reach, factor * complexity), clip=ceiling, hypotheses=hypotheses)
