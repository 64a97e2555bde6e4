import math

from certiformer.theory.core import InputError, Quantity, Result, Status, Variants, printed_value, upper_bound
from certiformer.theory.core.inputs import count, real, reals
from certiformer.theory.theorems.trauger import TRAUGER


class Section42(Result):
    r"""Several heads in one layer.

    The suprema are over the heads Y_1, ..., Y_H; the readout w stands in neither, and for one fixed w the equality
    is true. The class of section 4.1 has w in its supremum: then "at most" is what holds.

    Printed: for a fixed readout w: Rad(sum of H heads) = sum of the heads' Rad = H Rad(one head)
    .. math:: \mathbb E\Bigl[\sup_{Y_1,\dots,Y_H}\sum_{i=1}^m\epsilon_iw^\top\sum_{j=1}^HY_j(X_i)\Bigr]=
       \sum_{j=1}^H\mathbb E\Bigl[\sup_{Y_j}\sum_{i=1}^m\epsilon_iw^\top Y_j(X_i)\Bigr]
    Quoted: \mathbb{E}\left[\sup_{Y_1,\dots,Y_H}\sum_{i=1}^m \epsilon_i w^\top \sum_{j=1}^H Y_j(X_i)\right] =
    \sum_{j=1}^H \mathbb{E}\left[\sup_{Y_j}\sum_{i=1}^m \epsilon_i w^\top Y_j(X_i)\right]
    Sound: Rad <= sum over heads of the bound for each head, with its own norms.
    .. math:: \mathrm{Rad}\le\sum_{j=1}^H\mathrm{Rad}_j
    Because: true as printed, for a fixed readout; with w in the supremum, as in section 4.1, "at most" takes its place
    Assumes:
    - the heads' outputs are summed; each head's bound holds for the class of that head
    Defects:
    - For the class of section 4.1, whose supremum includes the shared readout w, only "at most" holds.
    - The H^1.5 quoted for the multi-layer method is right for one layer only; every further layer multiplies its
      sensitivities by H once more.
    """

    paper, place = TRAUGER, "Section 4.2"
    bounds, status = Quantity.RADEMACHER_COMPLEXITY, Status.TRUE
    monotone = "+H +rad"

    H: int = count("number of heads", example=4, aliases=("heads",))
    rad: float = real("bound on the complexity of every head (Theorem 4.1)", low_open=False, example=0.1)
    rads: tuple[float, ...] | None = reals(
        "bounds for the heads one by one", low_open=False, example=(0.1, 0.05), default=None, otherwise="rad for each"
    )

    def printed(self) -> Variants:
        return {"value": printed_value(self.H * self.rad)}

    def sound(self) -> Variants:
        if self.rads is not None and len(self.rads) != self.H:
            raise InputError("rads", self.rads, f"one bound per head, {self.H} of them")
        return {"sum_of_heads": upper_bound(self.H * self.rad if self.rads is None else math.fsum(self.rads))}
