"""What the covers in coordinates share: what is counted, and the step from nats to a risk."""

from __future__ import annotations

import math

from certiformer.calculus.tails import binomial_upper
from certiformer.core import Quantity, Result, Status, Variants, count, real, reals, side_number, upper_bound
from certiformer.core.errors import InputError
from certiformer.theorems.certificates import CERTIFICATES


class InCoordinates(Result):
    """A network in few coordinates.

    Assumes:
    - radii, margins, architecture and coordinates are on grids fixed before the data; their price is in `paid`
    - the n examples are independent; the coordinates may have been trained on them in any way
    """

    paper = CERTIFICATES
    bounds, status = Quantity.RISK, Status.NONE
    monotone = "+errors -delta +paid +other"
    proof = "docs/proofs/coordinate-covers.md"

    errors: int = count("examples counted: margin at most gamma, or wrong nearby", low=0, example=20, aliases=("k",))
    n: int = count("examples, all of them", example=10_000, aliases=("m", "N"))
    delta: float = real("failure probability", high=1.0, example=0.05)
    paid: float = real(
        "price of grids of margins, radii, architectures (nats)", low_open=False, default=0.0, example=3.0
    )
    other: float = real("nats of further coordinates, not of this form", low_open=False, default=0.0, example=0.0)

    def certified(self, nats: float) -> Variants:
        """U(errors, n, delta exp(-nats - other - paid))."""
        if self.errors > self.n:
            raise InputError("errors", self.errors, f"at most n = {self.n}")
        value = binomial_upper(self.errors, self.n, math.log(self.delta) - nats - self.other - self.paid)
        terms = {
            "observed": self.errors / self.n,
            "cover (nats)": nats + self.other,
            "paid for grids (nats)": self.paid,
        }
        return {
            "value": upper_bound(value, clip=1.0, terms=terms),
            "nats": side_number(nats + self.other, "the logarithm of the cover, or of one over the mass"),
        }


class SumForm(InCoordinates):
    """A network whose change is bounded coordinate by coordinate.

    Assumes:
    - the slopes hold on every input of the domain, not only on the sample (several classes: of the margin)
    """

    L: tuple[float, ...] = reals(
        "slopes: |f_z - f_z'| <= sum_j L_j |z_j - z_j'|", low_open=False, example=(1.0, 2.0, 0.5)
    )
    R: tuple[float, ...] = reals("radii: |z_j| <= R_j", low_open=False, example=(1.003, 0.503, 4.003))
    gamma: float = real("margin, fixed beforehand or on a grid paid for", example=0.1)
