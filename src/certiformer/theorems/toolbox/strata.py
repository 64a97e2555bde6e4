r"""T10: the price, in nats, of reading radii off the trained weights.

Each radius lives on the grid b kappa^j and pays

.. math:: \ln(\pi^2/3 - 1) + 2\ln(1+|j|)

towards ln(1/delta): a union bound whose weights 1/((pi^2/3 - 1)(1+|j|)^2) sum to one over the integers.
"""

from __future__ import annotations

import math

from certiformer.calculus import strata
from certiformer.core import Quantity, Result, Status, Variants, assumed, integers, upper_bound
from certiformer.theorems.toolbox import TOOLBOX


def sound(j: tuple[int, ...]) -> Variants:
    grid = assumed("the grid b kappa^j and the list of radii were fixed before the data were seen")
    terms = {
        "normaliser, once per radius": len(j) * math.log(strata.NORMALISER),
        "distance from the base radius": math.fsum(2.0 * math.log1p(abs(index)) for index in j),
    }
    return {"value": upper_bound(strata.cost(j), terms=terms, additive=True, checks=(grid,))}


RESULT = Result(
    id="strata",
    title="Stratification: radii measured after training",
    paper=TOOLBOX,
    place="T10",
    bounds=Quantity.UNION_COST,
    statement="nothing printed: the papers evaluate fixed-class theorems at measured norms, which proves nothing",
    latex=r"\ln\tfrac1\delta \mapsto \ln\tfrac1\delta + \sum_i \bigl[\ln(\pi^2/3-1) + 2\ln(1+|j_i|)\bigr]",
    sound_statement="Add sum_i [ln(pi^2/3 - 1) + 2 ln(1 + |j_i|)] to ln(1/delta), j_i the grid index of radius i.",
    inputs=(integers("j", "grid indices of the radii that are used", example=(0, 3, -2)),),
    status=Status.NONE,
    reason="what every bound at measured norms has to pay",
    printed=None,
    sound=sound,
    assumptions=("every norm that enters the bound is a radius with an index of its own",),
    proof="docs/proofs/chaining.md",
)
