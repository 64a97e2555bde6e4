"""What Lemmas 3.3 to 3.6 share: the class {x -> Wx} of linear maps with a bounded norm, and its covers."""

from __future__ import annotations

import math

from certiformer.theory.calculus.covers import dual_sudakov, maurey_draws, rows_two_one, volumetric
from certiformer.theory.calculus.entropies import log_multisets
from certiformer.theory.core import (
    Quantity,
    Result,
    Variants,
    count,
    flag,
    printed_value,
    real,
    stated,
    upper_bound,
    verified,
)
from certiformer.theory.theorems.trauger import TRAUGER


class LinearMaps(Result):
    """W of size k x d with a norm at most B_w, inputs of a norm at most B_x."""

    paper, bounds = TRAUGER, Quantity.LOG_COVERING_NUMBER
    monotone = "+Bw +Bx -eps +d +k"
    proof = "docs/proofs/covers.md"

    Bw: float = real("bound on the norm of W", example=2)
    Bx: float = real("bound on the norm of the inputs", example=1.5, symbol="B_x")
    eps: float = real("radius of the cover, l2 norm of the output", example=0.5, symbol="ε")
    d: int = count("input dimension", example=3)
    k: int = count("output dimension", example=4)

    @property
    def ratio(self) -> float:
        return self.Bw * self.Bx / self.eps

    def claim(self, factor: float) -> Variants:
        """factor (Bw Bx/eps)^2 as printed."""
        needed = verified("eps < Bw Bx (else one ball suffices)", self.ratio > 1, self.ratio)
        return {"value": printed_value(factor * self.ratio * self.ratio, hypotheses=(needed,))}


class AtomicMaps(LinearMaps):
    """Maps that are averages of signed atoms, block by block: T3.

    Defects:
    - The proof omits a ceiling on the number of sampled atoms; a shrunk average makes the statement true all the
      same.
    - The condition N >= d on the number of inputs is never needed.
    - For eps >= Bw Bx the printed value stays positive although one ball suffices.
    """

    def by_atoms(self, blocks: int, dimension: int) -> Variants:
        """So many independent l1 balls of this dimension: the printed form, the exact count, and volume."""
        draws = maurey_draws(self.eps, self.Bw, self.Bx)
        quadratic = blocks * self.ratio * self.ratio * math.log(2 * dimension + 1) if draws else 0.0
        return {
            "value": upper_bound(quadratic),
            "exact": upper_bound(blocks * log_multisets(dimension, draws)),
            "volume": upper_bound(self.d * self.k * math.log1p(2 * self.ratio) if draws else 0.0),
        }


class TwoOneMaps(LinearMaps):
    """Maps with a bounded (2,1) norm, rows or columns."""

    Bw: float = real("bound on ||W^T||_{2,1}, the sum of the row norms (columns=1: of the column norms)", example=2)
    columns: bool | None = flag("Bw bounds the sum of the column norms, as printed, not of the row norms")

    def by_rows(self, points: int, *, domain: bool) -> Variants:
        """T5 for the sum of the row norms, external and proper; T6 and T7 hold for rows and columns alike."""
        cover = rows_two_one(self.Bw, self.k, points, domain=domain).scaled(self.Bx)
        rows = None if self.columns is None else not self.columns
        by_rows = stated("Bw bounds the sum of the row norms, ||W^T||_{2,1}", rows, "columns=0")
        # ||W||_2 <= ||W||_F <= either (2,1) norm.
        return {
            "external": upper_bound(cover.log_size(self.eps), hypotheses=(by_rows,)),
            "proper": upper_bound(cover.made_proper().log_size(self.eps), hypotheses=(by_rows,)),
            "frobenius": upper_bound(dual_sudakov(self.Bw, self.k, self.d).scaled(self.Bx).log_size(self.eps)),
            "volume": upper_bound(volumetric(self.Bw, self.k * self.d).scaled(self.Bx).log_size(self.eps)),
        }
