import math

from certiformer.theory.calculus import strata
from certiformer.theory.core import Quantity, Result, Status, Variants, assumed, integers, upper_bound
from certiformer.theory.theorems.toolbox import TOOLBOX


class Strata(Result):
    r"""Stratification: radii measured after training.

    Each radius lives on the grid b kappa^j and pays towards ln(1/delta): a union bound whose weights 1/((pi^2/3 -
    1)(1+|j|)^2) sum to one over the integers.

    .. math:: \ln(\pi^2/3 - 1) + 2\ln(1+|j|)

    Sound: Add sum_i [ln(pi^2/3 - 1) + 2 ln(1 + |j_i|)] to ln(1/delta), j_i the grid index of radius i.
    .. math:: \ln\tfrac1\delta \mapsto \ln\tfrac1\delta + \sum_i \bigl[\ln(\pi^2/3-1) + 2\ln(1+|j_i|)\bigr]
    Because: what every bound at measured norms has to pay
    Assumes:
    - every norm that enters the bound is a radius with an index of its own
    """

    id = "strata"
    paper, place = TOOLBOX, "T10"
    bounds, status = Quantity.UNION_COST, Status.NONE
    proof = "docs/proofs/chaining.md"

    j: tuple[int, ...] = integers("grid indices of the radii that are used", example=(0, 3, -2))

    def sound(self) -> Variants:
        grid = assumed("the grid b kappa^j and the list of radii were fixed before the data were seen")
        terms = {
            "normaliser, once per radius": len(self.j) * math.log(strata.NORMALISER),
            "distance from the base radius": math.fsum(2.0 * math.log1p(abs(index)) for index in self.j),
        }
        return {"value": upper_bound(strata.cost(self.j), terms=terms, additive=True, hypotheses=(grid,))}
