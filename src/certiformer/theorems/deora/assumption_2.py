from __future__ import annotations

import math

from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    flag,
    printed_value,
    real,
    side_number,
    upper_bound,
    verified,
)
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._attention import Attention
from certiformer.theorems.deora._realizability import least_multiple, spread


class Assumption2(Result):
    r"""Realizability from a good initialization.

    For every eps there is a target of training loss at most eps within distance g0(eps) of the start and with heads of
    norm at most g(eps).



    theta_0 + lambda theta_* with the least lambda >= 0 such that.

    So g0 = sqrt2 lambda (theta_* has norm sqrt 2) and g = B2 + lambda ninf.

    Printed: a target of loss at most eps exists within g0(eps) = (2 BPhi + log(1/eps))/gamma of a good
    initialization
    .. math:: g_0(\epsilon)=\frac{2B_\Phi+\log(1/\epsilon)}{\gamma}
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

    paper, place = DEORA, "Assumption 2, with Definition 1 and Corollary 2"
    bounds, status = Quantity.CONSTANT, Status.FALSE

    eps: float = real("loss of the target", high=1000000.0, example=0.01, symbol="ε")
    gamma: float = real("NTK margin at a direction theta_* of norm sqrt 2 (P3)", example=0.7, symbol="γ")
    BPhi: float = real(
        "bound on |model output| at the start (P2)", high=1000000000000.0, low_open=False, example=0, symbol="B_Φ"
    )
    B2: float = real(
        "bound on the norm of every head at the start (P1)",
        high=1000000000000.0,
        low_open=False,
        example=0,
        symbol="B_2",
    )
    T: int = count("tokens per input", example=4)
    R: float = real("bound on the norm of every token", high=1000000000000.0)
    H: int = count("heads", example=1_000_000)
    ninf: float | None = real(
        "max_h ||theta_*,h|| of the direction",
        high=1.4142135623745093,
        low_open=False,
        example=0.001414213562373095,
        symbol="||θ_⋆||_{2,∞}",
        default=None,
        otherwise="sqrt(2), which always holds; sqrt(2/H) if spread evenly over the heads (even=1)",
    )
    even: bool | None = flag("theta_* is spread evenly over the heads: ninf = sqrt(2/H) where ninf is not given")

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
