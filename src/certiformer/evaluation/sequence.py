r"""Limits that may be looked at after every example.

0/1 outcomes: K_n(p) = B(k+1/2, n-k+1/2) / (B(1/2,1/2) p^k (1-p)^(n-k)) is a mixture of likelihood ratios, a martingale
from 1 if p is the rate, so {p : K_n(p) < 1/delta} holds the rate at all n at once with probability 1 - delta (Ville).

Losses in [0, 1]: m is rejected from above when sum_j w_j prod_t (1 + b_tj (m - x_t)) >= 2/delta. Half of the weight is
on the bets F_j/(1-m), F = 0.95, 1/2, 1/4, ..., 2^-9, half on bets that know the spread, min(l_t 2^-j, 0.95/(1-m)),
j = 0..7:

    l_t = sqrt(2 ln(2/delta)/(10 v_{t-1})),   v_t = (1/4 + sum_{i<=t} (x_i - (1/2 + S_i)/(i+1))^2)/(t+1),

S_i = x_1 + ... + x_i; within each half w_j falls like 1/(j+2). From below the same holds for 1 - x and 1 - m. Every bet
is decided by the past and below 1/(1-m): a martingale at the true mean (Ville). Every factor rises with m, so on a
fixed grid the smallest point rejected from above and the largest rejected from below are limits. A point rejected from
both sides rejects every mean: the mean has changed. No past is kept: the capital is held as a product, and one that
underflows is lost, which is on the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from certiformer.evaluation._given import counted, kept_numbers, losses_in, probability, require_state, whole_range
from certiformer.theory.calculus.target_betting import FIXED_BETS
from certiformer.theory.core.errors import InputError
from certiformer.theory.core.lazy import scipy
from certiformer.theory.core.rounding import down, up

Array = npt.NDArray[np.float64]
SPREAD_BETS = 8
GRID = 1000
AT_ONCE = 80_000
"""Outcomes times bets times means in one go: small enough for the cache."""
_LN_B_HALF = math.log(math.pi)
_PER_FACTOR = 1e-14
"""What a factor 1 + b (m - x) >= 0.05 rounds by at most, relatively."""


def anytime_rate_limits(errors: int, n: int, delta: float) -> tuple[float, float]:
    """The interval of rates that K_n does not reject at 1/delta.

    >>> low, high = anytime_rate_limits(28, 5000, 0.05)
    >>> round(low, 5), round(high, 5)
    (0.00244, 0.01072)
    """
    probability("delta", delta)
    errors, n = counted(errors, n, least=0)
    if n == 0:
        return 0.0, 1.0
    k = errors
    evidence = float(scipy.special.betaln(k + 0.5, n - k + 0.5)) - _LN_B_HALF + math.log(delta)
    slack = 1e-13 * (1.0 + abs(evidence))

    def rejected(p: float) -> bool:
        ln = (k * math.log(p) if k else 0.0) + ((n - k) * math.log1p(-p) if k < n else 0.0)
        return evidence - ln >= slack

    rate = k / n
    lower = 0.0 if k == 0 else _edge(rejected, rate, 0.0)
    upper = 1.0 if k == n else _edge(rejected, rate, 1.0)
    return max(0.0, down(lower)), min(1.0, up(upper))


def _edge(rejected: Any, inside: float, outside: float) -> float:
    """The rejected end of the bracket between a rate that is kept and one that is not."""
    while abs(outside - inside) > 1e-14 * max(inside, outside):
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        inside, outside = (inside, middle) if rejected(middle) else (middle, outside)
    return outside


class ConfidenceSequence:
    """Limits for the mean of a stream, valid at all times at once: look as often as you like, stop when you like.

    `binary` declares 0/1 outcomes. Otherwise losses lie in [low, high], and limits are points of a grid of a thousand.

    >>> sequence = ConfidenceSequence(0.05, binary=True)
    >>> sequence.update([0] * 100)
    >>> sequence.upper < 0.058
    True
    """

    def __init__(self, delta: float, *, binary: bool = False, low: float = 0.0, high: float = 1.0) -> None:
        self.delta, self.binary = probability("delta", delta), binary
        whole_range(low, high)
        if binary and (low, high) != (0.0, 1.0):
            raise InputError("low, high", (low, high), "0 and 1 for binary outcomes")
        self.low, self.high = float(low), float(high)
        self.n, self.total, self.squares = 0, 0.0, 0.0
        self._limits, self._looked = (0.0, 1.0), 0
        self._bets = None if binary else _GridOfBets(1, GRID - 1)

    def update(self, outcomes: float | npt.ArrayLike) -> None:
        """Take in one outcome or several, in the order in which they came."""
        x = losses_in("outcomes", np.atleast_1d(np.asarray(outcomes, dtype=np.float64)), self.low, self.high)
        if self._bets is None:
            if np.any((x != 0.0) & (x != 1.0)):
                raise InputError("outcomes", float(x[(x != 0.0) & (x != 1.0)][0]), "0 or 1, as declared")
        else:
            times = np.arange(self.n + 1.0, self.n + len(x) + 1.0)
            squares = self.squares + np.cumsum((x - (0.5 + self.total + np.cumsum(x)) / (times + 1.0)) ** 2)
            variances = (0.25 + np.concatenate([[self.squares], squares[:-1]])) / times
            spreads = np.sqrt(0.2 * math.log(2.0 / self.delta) / variances)
            bars = 2.0 / self.delta * (1.0 + _PER_FACTOR * times)
            self._limits = self._bets.bet(x, spreads, bars, self._limits)
            self.squares = float(squares[-1]) if len(x) else self.squares
        self.n += len(x)
        self.total += float(np.sum(x))

    def _current(self) -> tuple[float, float]:
        if self.binary and self._looked != self.n:
            found = anytime_rate_limits(round(self.total), self.n, self.delta)
            self._limits = max(self._limits[0], found[0]), min(self._limits[1], found[1])
            self._looked = self.n
        return self._limits

    @property
    def changed(self) -> bool:
        """No single mean fits what was seen: with probability 1 - delta the mean has changed on the way."""
        lower, upper = self._current()
        return lower >= upper

    @property
    def mean(self) -> float:
        """The observed mean; the middle of the range before anything came."""
        return self.low + (self.high - self.low) * (self.total / self.n if self.n else 0.5)

    @property
    def lower(self) -> float:
        """The lower limit now."""
        return self.low + (self.high - self.low) * self._current()[0]

    @property
    def upper(self) -> float:
        """The upper limit now."""
        return self.low + (self.high - self.low) * self._current()[1]

    def state(self) -> dict[str, Any]:
        """All that is needed to go on after a restart."""
        kept: dict[str, Any] = {
            "delta": self.delta,
            "binary": self.binary,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "total": self.total,
            "squares": self.squares,
            "limits": list(self._current()),
        }
        return kept if self._bets is None else {**kept, "bets": self._bets.state()}

    @classmethod
    def resume(cls, state: Mapping[str, Any]) -> Self:
        """The sequence as `state` left it."""
        require_state(
            state, delta="number", binary="boolean", low="number", high="number", n="integer", total="number",
            squares="number", limits="array",
        )  # fmt: skip
        found = cls(state["delta"], binary=state["binary"], low=float(state["low"]), high=float(state["high"]))
        found.n, found.total, found.squares = state["n"], float(state["total"]), float(state["squares"])
        if not (0.0 <= found.total <= found.n and 0.0 <= found.squares <= found.n):
            raise InputError("state", (found.total, found.squares), f"sums of {found.n:,} numbers in [0, 1]")
        lower, upper = kept_numbers("limits", state["limits"], (2,))
        found._limits = float(lower), float(upper)
        if found._bets is not None:
            found._bets = _GridOfBets.resume(state.get("bets", {}))
        return found


class _GridOfBets:
    """Capital against the means i/1000, i = first..last, from above and from below; only those between the limits stay.

    The limits themselves stay too, for the side that has not rejected them: if it does, no mean is left.
    """

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last
        self._means = np.arange(first, last + 1) / GRID
        weights = np.concatenate([1.0 / np.arange(2.0, 2.0 + many) for many in (len(FIXED_BETS), SPREAD_BETS)])
        for half in (slice(None, len(FIXED_BETS)), slice(len(FIXED_BETS), None)):
            weights[half] *= 0.5 * (1.0 - 1e-15) / np.sum(weights[half])  # together never above 1
        self.above = np.repeat(weights[:, None], len(self._means), axis=1)
        self.below = self.above.copy()

    def bet(self, x: Array, spreads: Array, bars: Array, limits: tuple[float, float]) -> tuple[float, float]:
        """More outcomes; the limits, narrowed by what the capital rejects at any of them (a rejection stands)."""
        at = 0
        while at < len(x) and len(self._means):
            now = slice(at, at + max(1, AT_ONCE // max(1, self.above.size)))
            limits = self._bet(x[now], spreads[now], bars[now], limits)
            at = now.stop
        return limits

    def _bet(self, x: Array, spreads: Array, bars: Array, limits: tuple[float, float]) -> tuple[float, float]:
        m, gain = self._means, (self._means - x[:, None])[:, None, :]
        lower, upper = limits
        # A capital beyond the largest float is beyond the bar, too.
        with np.errstate(over="ignore"):
            above, upward = _capital(self.above, _factors(gain, spreads, 1.0 - m), bars)
            below, downward = _capital(self.below, _factors(-gain, spreads, m), bars)
        self.above, self.below = above, below
        if upward.any():
            upper = min(upper, float(m[upward][0]))
        if downward.any():
            lower = max(lower, float(m[downward][-1]))
        if upward.any() or downward.any():
            # What has done its work bets no more.
            self.above[:, upward], self.below[:, downward] = 0.0, 0.0
            self._keep(lower, upper)
        return lower, upper

    def _keep(self, lower: float, upper: float) -> None:
        inside = (self._means >= lower) & (self._means <= upper)
        self._means = self._means[inside]
        self.first, self.last = (
            (round(self._means[0] * GRID), round(self._means[-1] * GRID)) if inside.any() else (1, 0)
        )
        self.above, self.below = self.above[:, inside], self.below[:, inside]

    def state(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "last": self.last,
            "above": self.above.tolist(),
            "below": self.below.tolist(),
        }

    @classmethod
    def resume(cls, state: Mapping[str, Any]) -> Self:
        require_state(state, first="integer", last="integer", above="array", below="array")
        first, last = state["first"], state["last"]
        if not (0 < first <= last < GRID or (first, last) == (1, 0)):
            raise InputError("state", (first, last), f"the first and the last mean on a grid of {GRID:,}")
        found = cls(first, last)
        found.above, found.below = (
            kept_numbers(f"bets {side}, those of this version", state[side], found.above.shape)
            for side in ("above", "below")
        )
        return found


def _factors(gain: Array, spreads: Array, room: Array) -> Array:
    """1 + bet * gain for every outcome, bet and mean: the fixed bets F/room, and those that know the spread."""
    fixed = np.array(FIXED_BETS)[:, None] / room
    known = spreads[:, None, None] * 0.5 ** np.arange(SPREAD_BETS)[:, None]
    factors = np.empty((len(spreads), len(FIXED_BETS) + SPREAD_BETS, len(room)))
    np.multiply(fixed, gain, out=factors[:, : len(FIXED_BETS)])
    np.multiply(np.minimum(known, fixed[0]), gain, out=factors[:, len(FIXED_BETS) :])
    factors += 1.0
    return factors


def _capital(before: Array, factors: Array, bars: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The capital after all outcomes, and the means at which it reached the bar after any of them."""
    factors[0] *= before
    paths = np.multiply.accumulate(factors, axis=0, out=factors)
    return paths[-1].copy(), (np.sum(paths, axis=1) >= bars[:, None]).any(axis=0)
