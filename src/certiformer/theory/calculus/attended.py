r"""How much an attention head can pool of bounded tokens, over every input: a certified supremum.

.. math:: V_c = \sup \sum_t a_t r_t c_t, \qquad a = \mathrm{softmax}_t(p_t + q u_t), \qquad \sum_t r_t^2 \le 1

The score of token t has a part p_t that knows only its position and a part q u_t, where u_t is the mean of the token's
pixels times `patch`: for patch^2 pixels of at least 0 and of Euclidean norm r_t it lies in [r_t/patch, r_t].

V_c <= v if and only if sum_t e^{p_t + q u_t} (r_t c_t - v) <= 0 on the domain. By Lagrange it suffices that for some
lambda >= 0

.. math:: \lambda + \sum_t \max_{0\le r\le1} \bigl(h_t(r) - \lambda r^2\bigr) \le 0, \qquad
          h_t(r) = \max_{u \in \{r/patch,\, r\}} e^{p_t + q u}(r c_t - v)

(e^{qu} is monotone in u and the bracket has one sign, so the largest value is at an end). The maxima are taken on a
grid of r, plus what a function with the slope of h_t can gain between its points; any lambda proves. Proof:
docs/proofs/coordinate-covers.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import Array, np, scipy
from certiformer.theory.core.rounding import up

CELLS = 2000  # mutants: any-multiplier-proves
"""Cells of the grid of r."""
_WIDTH = 1e-4  # mutants: any-multiplier-proves
"""The supremum is enclosed to this part of its largest possible value."""


def attended_upper(c: Sequence[float] | Array, places: Sequence[float] | Array, query: float, patch: int) -> float:
    """V_c from above: `c` and `places` (p_t) by token, `query` the factor of u_t, tokens of patch^2 pixels >= 0."""
    sizes, p = np.asarray(c, np.float64), np.asarray(places, np.float64)
    if sizes.ndim != 1 or sizes.shape != p.shape or not np.all(np.isfinite(p)) or not math.isfinite(query):
        raise InputError("places", p.shape, f"a finite number for each of {sizes.shape} tokens")
    if np.any(~(sizes >= 0.0)) or np.any(np.isinf(sizes)) or patch < 1:
        raise InputError("c", sizes.tolist(), "finite numbers of at least 0")
    # sum_t a_t r_t <= 1, so the largest c always bounds it.
    most = up(float(np.max(sizes)))
    if most == 0.0:  # mutants: nobody-looks
        return 0.0
    test = _Test(sizes, p, query, patch)
    low, high = 0.0, most
    while high - low > _WIDTH * most:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if test.proves(middle) else (middle, high)
    return high


class _Test:
    """The Lagrangian test at a candidate v: exponentials are computed once."""

    def __init__(self, c: Array, p: Array, query: float, patch: int) -> None:
        self.half = 0.5 / CELLS  # mutants: any-multiplier-proves
        r = np.linspace(0.0, 1.0, CELLS + 1)  # mutants: any-multiplier-proves
        ends = np.stack([r / patch, r])[:, None, :]
        # A common factor of all tokens changes no sign: the largest exponent is 0.
        exponent = p[None, :, None] + query * ends
        self.exponential = np.exp(exponent - float(np.max(exponent)))
        self.r, self.c, self.query = r, c[None, :, None], query
        # e^{q u} (r c - v) has slope e^{q u} (c + q u' (r c - v)), u' <= 1; half a cell away e^{q u} is this at most.
        self.steepest = self.exponential * math.exp(abs(query) * self.half)
        self.nearest = np.maximum(r - self.half, 0.0) ** 2

    def proves(self, v: float) -> bool:
        """Whether some lambda shows that V_c <= v."""
        height = self.r * self.c - v
        slope = self.c + abs(self.query) * (np.abs(height) + self.c * self.half)
        found = np.max(self.exponential * height + self.steepest * slope * self.half, axis=0)
        # Every term is known to a few units in the last place of numbers of this size.
        # mutants: rounding-margins
        rounding = 1e-12 * float(np.sum(np.max(self.exponential, axis=(0, 2)) * (self.c.ravel() + v)))

        def excess(ln_lambda: float) -> float:
            weight = math.exp(ln_lambda)
            total = weight + float(np.sum(np.max(found - weight * self.nearest, axis=1)))
            return total + rounding + 1e-12 * weight * (1 + len(found))  # mutants: rounding-margins

        # The excess is convex in lambda; where its minimum is sought does not matter for the proof.
        scale = math.log(float(np.max(self.c)))
        best = scipy.optimize.minimize_scalar(
            # mutants: any-multiplier-proves
            excess,
            bounds=(scale - 25.0, scale + 5.0),  # mutants: any-multiplier-proves
            method="bounded",
            options={"xatol": 1e-3},  # mutants: any-multiplier-proves
        )
        return bool(best.fun <= 0.0)
