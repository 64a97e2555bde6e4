"""What Lemmas 3.4 and 3.5 share: covers of maps with a bounded (2,1) norm, rows or columns."""

from __future__ import annotations

from certiformer.calculus.covers import columns_two_one, dual_sudakov, rows_two_one, volumetric
from certiformer.core import Bound, stated, upper_bound


def row_variants(
    Bw: float, Bx: float, eps: float, d: int, k: int, points: int, rows: bool | None, *, domain: bool
) -> dict[str, Bound]:
    """T5 for the sum of the row norms, external and proper; T6 and T7 hold for rows and columns alike."""
    cover = rows_two_one(Bw, k, points, domain=domain).scaled(Bx)
    by_rows = stated("Bw bounds the sum of the row norms, ||W^T||_{2,1}", rows, "columns=0")
    # ||W||_2 <= ||W||_F <= either (2,1) norm.
    return {
        "external": upper_bound(cover.log_size(eps), hypotheses=(by_rows,)),
        "proper": upper_bound(cover.made_proper().log_size(eps), hypotheses=(by_rows,)),
        "frobenius": upper_bound(dual_sudakov(Bw, k, d).scaled(Bx).log_size(eps)),
        "volume": upper_bound(volumetric(Bw, k * d).scaled(Bx).log_size(eps)),
    }


def column_variant(Bw: float, Bx: float, eps: float, d: int, k: int) -> Bound:
    """floor(r) (ln(d+1) + k ln(1+2r)), r = Bw Bx/eps, for inputs of bounded l1 norm: valid for columns."""
    return upper_bound(columns_two_one(Bw, k, d).scaled(Bx).log_size(eps))
