r"""An error rate from a count: the exact binomial limits.

.. math:: \text{upper} = \max\{p : P(\mathrm{Bin}(n,p) \le k) \ge \delta\}
"""

from __future__ import annotations

from certiformer.evaluation._given import probability
from certiformer.evaluation.mean import Limits
from certiformer.theory.calculus.tail_check import exact_lower, exact_upper
from certiformer.theory.core.errors import InputError


def rate_limits(errors: int, n: int, delta: float, *, two_sided: bool = False) -> Limits:
    """Exact (Clopper-Pearson) limits for the rate behind `errors` among `n` independent examples.

    >>> round(rate_limits(28, 5000, 0.05).upper, 5)
    0.00767
    """
    probability("delta", delta)
    if n < 1 or not 0 <= errors <= n:
        raise InputError("errors", errors, f"a whole number between 0 and n = {n}")
    share = delta / 2.0 if two_sided else delta
    return Limits(
        lower=exact_lower("rate_limits", errors, n, share),
        upper=exact_upper("rate_limits", errors, n, share),
        mean=errors / n,
        n=n,
        delta=delta,
        two_sided=two_sided,
        method="exact binomial",
    )
