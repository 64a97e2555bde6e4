import math

from certiformer.theory.core import (
    Quantity,
    Status,
    Variants,
    assumed,
    printed_value,
    side_number,
    upper_bound,
    verified,
)
from certiformer.theory.core.inputs import count, real
from certiformer.theory.theorems.deora._attention import Attention
from certiformer.theory.theorems.deora._realizability import least_multiple, spread
from certiformer.theory.theorems.deora._setting import GoodStart, Tokens


class Assumption2(GoodStart, Tokens):
    r"""Realizability from a good initialization.

    For every eps there is a target of training loss at most eps within distance g0(eps) of the start and with heads of
    norm at most g(eps).

    The target is theta_0 + lambda theta_* with the least admissible lambda; theta_* has norm sqrt 2.

    Printed: a target of loss at most eps exists within g0(eps) = (2 BPhi + log(1/eps))/gamma of a good
    initialization
    .. math:: g_0(\epsilon)=\frac{2B_\Phi+\log(1/\epsilon)}{\gamma}
    Quoted: \text{where } g_0\left(\frac{1}{K}\right) = \frac{2B_\Phi + \log(K)}{\gamma}
    Sound: lambda = least solution >= 0 of -BPhi + lambda gamma - lambda^2 beta3(B2 + lambda ninf)/sqrt(H) >=
    -log(expm1(eps)); g0 = sqrt(2) lambda, g = B2 + lambda ninf; none if there is no solution
    .. math:: -B_\Phi+\lambda\gamma-\lambda^2\beta_3(B_2+\lambda n_\infty)/\sqrt H\ge-\log(e^\epsilon-1),
    Because: a factor sqrt 2 is missing: theta_* has norm sqrt 2
    Assumes:
    - logistic loss, full projection
    Defects:
    - theta_0 + lambda theta_* lies at distance sqrt(2) lambda. Zero start, M = 1, no noise, BPhi = 1, eps = 1e-4, H
      -> inf: every point within the printed g0 has loss at least 3.6e-4.
    """

    place = "Assumption 2, with Definition 1 and Corollary 2"
    bounds, status = Quantity.CONSTANT, Status.FALSE

    eps: float = real("loss of the target", high=1000000.0, example=0.01, symbol="ε")
    H: int = count("heads", example=1_000_000)

    def printed(self) -> Variants:
        hypotheses = (verified("B2, BPhi >= 1 (P1, P2)", min(self.B2, self.BPhi) >= 1.0, min(self.B2, self.BPhi)),)
        return {
            "g0": printed_value(
                (2.0 * self.BPhi - math.log(self.eps)) / self.gamma, hypotheses=hypotheses, bounds=Quantity.CONSTANT
            )
        }

    def sound(self) -> Variants:
        width = spread(self.ninf, self.even, self.H)
        multiple = least_multiple(Attention(self.T, self.R, self.H), self.gamma, self.BPhi, self.B2, width, self.eps)
        hypotheses = (
            verified("some lambda >= 0 reaches the loss: enough heads for this margin", multiple is not None),
            assumed("P1-P3 of Definition 1 hold with these numbers; every token has norm at most R"),
        )
        multiple = math.inf if multiple is None else multiple
        norm = self.B2 + multiple * width if multiple < math.inf else math.inf
        return {
            "g0": upper_bound(
                math.sqrt(2.0) * multiple,
                hypotheses=hypotheses,
                bounds=Quantity.CONSTANT,
                note="distance of the target",
            ),
            "g": upper_bound(norm, hypotheses=hypotheses, bounds=Quantity.CONSTANT, note="norm of its largest head"),
            "lambda": side_number(multiple, "multiple of theta_*"),
        }
