import math

from certiformer.theory.calculus.covers import quadratic_cover
from certiformer.theory.core import Quantity, Status, Variants, flag, real, stated
from certiformer.theory.theorems.trauger._single_layer import OneLayer


class Theorem41(OneLayer):
    r"""Rademacher complexity of a one-layer Transformer.

    f(X) = w^T W_c^T sigma(W_v^T X^T softmax(X W_QK^T x_CLS)), where the class {x -> W_QK^T x} on the CLS tokens has log
    N(eps) <= C/eps^2.

    With B_{W_c} = ||W_c||_{1,inf} and B_{W_v} = ||W_v||_{1,inf} (not of the transposes), rho half the token diameter.

    Printed: Rad <= O(Bw Bc L_sigma Bv (2 Bx^2 sqrt(C)/sqrt(n) (1 + ln(sqrt(n)/(2 Bx sqrt(C)))) + Bx
    sqrt(ln(2d)/n)))
    .. math:: O\Bigl(B_w B_{W_c} L_\sigma B_{W_v}\Bigl(\tfrac{2B_x^2\sqrt C}{\sqrt n}\bigl(1+\ln\tfrac{\sqrt
       n}{2B_x\sqrt C}\bigr) + B_x\sqrt{\ln(2d)/n}\Bigr)\Bigr)
    Quoted: $\|W_c^{\top}\|_{1,\infty} \leq B_{W_c}$ , and $\|W_v^{\top}\|_{1,\infty} \leq B_{W_v}$
    Sound: Rad <= Bw Bc L_sigma Bv min(D, 2 E): E is Dudley's bound (closed, or the best chain) for ln N = ln 2d +
    rho^4 C/eps^2 at radius D = max ||x_t||_inf; 2 becomes 1 for odd sigma.
    .. math:: \mathrm{Rad} \le B_w B_{W_c} L_\sigma B_{W_v}\,\min(D, 2E),\quad E = \mathrm{Dudley}\bigl(\ln N = \ln
       2d + \rho^4 C/\varepsilon^2;\ D;\ n\bigr)
    Because: needs ||W_c||_{1,inf}, ||W_v||_{1,inf}, not of the transposes; constants hidden; negative for large C
    Defects:
    - The statement bounds ||W_c^T||_{1,inf} and ||W_v^T||_{1,inf}; the proof needs the norms of W_c and W_v
      themselves. With k = 1 and W_v^T = (+-1, ..., +-1) the stated norm is 1 while Rad grows like sqrt(d/n).
    - The factor 2 for the absolute value and Dudley's constant are inside O().
    - Valid only while 2 Bx sqrt(C) <= sqrt(n) - sqrt(ln 2d); beyond that the formula falls and turns negative.
    - The softmax constant 2 is 1, and Bx^2 may be half the squared token diameter.
    - The displayed Rademacher complexity lacks 1/n, and two lines of the proof lose a factor 1/n under the root.
    - The model multiplies by X W_QK^T x in one place and X W_QK x in another: different functions.
    - Statement and proof differ: sqrt(n) in the logarithm here, sqrt(n) - sqrt(ln 2d) in the appendix.
    - The condition n > d is never used.
    """

    place = "Theorem 4.1"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.FALSE
    monotone = "+Bw +Bc +L_sigma +Bv +Bx +C -n +d +rho +D"

    C: float = real("log N(eps) <= C/eps^2 for {x -> W_QK^T x} on the CLS tokens", example=0.5)
    proper: bool | None = flag("the covers behind C are proper: their members belong to the class")

    def printed(self) -> Variants:
        alpha = 2 * self.Bx * self.Bx * math.sqrt(self.C)
        return {
            "value": self.printed_form(alpha, minus=False),
            "appendix": self.printed_form(alpha, minus=True),
        }

    def sound(self) -> Variants:
        words = "the covers behind C are proper, as the paper defines covering numbers"
        proper = stated(words, self.proper, "proper=1", id="proper-covers")
        external = quadratic_cover(self.C, proper=False)
        return {
            **self.closed(self.C),
            **self.chains(quadratic_cover(self.C), proper),
            **self.chains(external, name="chain_external"),
        }
