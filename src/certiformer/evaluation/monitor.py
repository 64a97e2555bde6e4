r"""An alarm for a stream of losses: false at most with probability delta, however long it runs.

Null: the conditional mean is at most p0 at every step (no independence needed). Eight bets b_j = 2^-j/p0 hold capital
A_j; half of the capital starts at once, the other half in blocks: at t = 101, 201, ... (k = 1, 2, ...) every A_j gets
1/(16 k (k+1)) from the cash, so that the alarm stays quick after a long quiet time. Then A_j *= 1 + b_j (x_t - p0), and
the alarm sounds when sum_j A_j + cash >= 1/delta: a nonnegative supermartingale from 1 (Ville).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from certiformer.evaluation._given import kept_numbers, losses_in, probability, require_state, whole_range
from certiformer.theory.core.errors import InputError

BETS = 8
BLOCK = 100
MOST_CAPITAL = 1e300
"""What is won beyond it is not counted: far above any 1/delta, and a number that a file can hold."""


class Monitor:
    """Watches whether the mean loss exceeds `p0`.

    >>> watch = Monitor(0.03, 0.05)
    >>> watch.update([1, 1, 0, 1, 1, 1])
    True
    >>> watch.alarm
    2
    """

    def __init__(self, p0: float, delta: float = 0.05, *, low: float = 0.0, high: float = 1.0) -> None:
        whole_range(low, high)
        self.delta, self.low, self.high = probability("delta", delta), float(low), float(high)
        if not low < p0 < high:
            raise InputError("p0", p0, f"a mean loss strictly between {low:g} and {high:g}")
        self.p0 = float(p0)
        self._mean = (p0 - low) / (high - low)
        self._bets = 2.0 ** -np.arange(1.0, BETS + 1.0) / self._mean
        self._capital = np.full(BETS, 0.5 / BETS)
        self.n = 0
        self.alarm: int | None = None
        """The example at which the alarm first sounded."""

    def update(self, losses: float | npt.ArrayLike) -> bool:
        """Take in one loss or several, in the order in which they came; whether the alarm has ever sounded."""
        x = losses_in("losses", np.atleast_1d(np.asarray(losses, dtype=np.float64)), self.low, self.high)
        start = 0
        while start < len(x):
            # At t = 100 k + 1 money comes in; between two such times the capital is a product.
            k, passed = divmod(self.n, BLOCK)
            if passed == 0 and k >= 1:
                self._capital += 0.5 / (k * (k + 1)) / BETS
            part = x[start : start + BLOCK - passed]
            with np.errstate(over="ignore"):
                paths = self._capital * np.cumprod(1.0 + np.outer(part - self._mean, self._bets), axis=0)
            if self.alarm is None:
                # A factor is at least 1/2 and rounds by less than 1e-15 of itself.
                rich = np.sum(paths, axis=1) + self._cash(k) >= (1.0 + 1e-15 * (self.n + len(x))) / self.delta
                if rich.any():
                    self.alarm = self.n + int(np.argmax(rich)) + 1
            self._capital = np.minimum(paths[-1], MOST_CAPITAL)
            self.n += len(part)
            start += len(part)
        return self.alarm is not None

    @staticmethod
    def _cash(k: int) -> float:
        """1/2 - sum_{i<=k} 1/(2 i (i+1)) = 1/(2 (k+1))."""
        return 0.5 / (k + 1)

    @property
    def evidence(self) -> float:
        """The capital now: how many times the stake has been won against "the mean is at most p0"."""
        return float(np.sum(self._capital)) + self._cash(max(self.n - 1, 0) // BLOCK)

    def state(self) -> dict[str, Any]:
        """All that is needed to go on after a restart."""
        return {
            "p0": self.p0,
            "delta": self.delta,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "alarm": self.alarm,
            "capital": self._capital.tolist(),
        }

    @classmethod
    def resume(cls, state: Mapping[str, Any]) -> Self:
        """The monitor as `state` left it."""
        require_state(
            state, p0="number", delta="number", low="number", high="number", n="integer", alarm=["integer", "null"],
            capital="array",
        )  # fmt: skip
        found = cls(state["p0"], state["delta"], low=float(state["low"]), high=float(state["high"]))
        found.n, found.alarm = state["n"], state["alarm"]
        if found.alarm is not None and not 0 < found.alarm <= found.n:
            raise InputError("state: alarm", found.alarm, f"one of the {found.n:,} that were counted")
        found._capital = np.minimum(kept_numbers("capital", state["capital"], (BETS,)), MOST_CAPITAL)
        return found
