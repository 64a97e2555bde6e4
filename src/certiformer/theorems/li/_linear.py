"""Covers of linear maps: what Lemmas 5.2, B.3 and B.6 and Assumption 5.7 share."""

from __future__ import annotations

from certiformer.calculus.covers import log_multisets, low_rank, maurey_draws, maurey_plain_draws, volumetric
from certiformer.core import Bound, upper_bound


def norm_covers(B: float, eps: float, d: int, k: int, Bx: float) -> dict[str, Bound]:
    """C1 (plain Maurey), T3 (shrunk), C2 (volume) and the smallest of them."""
    plain = log_multisets(d * k, maurey_plain_draws(eps, B, Bx))
    shrunk = log_multisets(d * k, maurey_draws(eps, B, Bx))
    volume = volumetric(B * Bx, d * k).log_size(eps)
    return {
        "maurey": upper_bound(plain),
        "maurey_shrunk": upper_bound(shrunk),
        "volumetric": upper_bound(volume),
        "best": upper_bound(min(plain, shrunk, volume)),
    }


def rank_cover(r: int, d: int, k: int, B: float, Bx: float, eps: float) -> dict[str, Bound]:
    """C3: at most (d+k) r ln(1 + 4 B Bx/eps) and dk ln(1 + 2 B Bx/eps); the two factors share eps as d : k."""
    rank = min(r, d, k)
    return {
        "spectral": upper_bound(low_rank(B * Bx, d, k, rank).log_size(eps)),
        "volumetric": upper_bound(volumetric(B * Bx, d * k).log_size(eps)),
    }
