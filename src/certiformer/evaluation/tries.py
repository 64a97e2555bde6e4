r"""Several tries per task: do k fresh tries of a new task all succeed (pass^k), or at least one of them (pass@k)?

With c successes among n tries, n >= k decided before the outcomes, u = C(c,k)/C(n,k) is the share of k-subsets that all
succeed and v = 1 - C(n-c,k)/C(n,k) of those with a success: E[u | q] = q^k, E[v | q] = 1 - (1-q)^k. The unit is the
task; tasks are drawn independently from one population. (Pass rate)^k is another number, and its limit is wrong here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from certiformer.theory.core.errors import InputError

Kind = Literal["pass^k", "pass@k"]


def task_scores(
    successes: npt.ArrayLike,
    tries: npt.ArrayLike,
    k: int,
    kind: Kind = "pass^k",
    names: Sequence[str] | None = None,
) -> npt.NDArray[np.float64]:
    """u or v of every task: unbiased for its pass^k or pass@k, in [0, 1]; their mean is for `mean_limits`.

    >>> [task_scores([3, 1], [5, 10], 3, kind).round(9).tolist() for kind in ("pass^k", "pass@k")]
    [[0.1, 0.0], [1.0, 0.3]]
    """
    if kind not in ("pass^k", "pass@k"):
        raise InputError("kind", kind, '"pass^k" or "pass@k"')
    c, n = np.asarray(successes, dtype=np.float64), np.asarray(tries, dtype=np.float64)
    if c.ndim != 1 or c.shape != n.shape or len(c) == 0:
        raise InputError("successes, tries", (c.shape, n.shape), "one number of each for every task")
    if k < 1 or k != int(k):
        raise InputError("k", k, "a whole number of at least 1")
    if np.any((c < 0) | (c > n) | (c != np.floor(c)) | (n != np.floor(n))):
        odd = int(np.flatnonzero((c < 0) | (c > n) | (c != np.floor(c)) | (n != np.floor(n)))[0])
        raise InputError("successes", f"{c[odd]:g} of {n[odd]:g}", "whole numbers, at most as many as tries")
    if np.any(n < k):
        few = int(np.flatnonzero(n < k)[0])
        raise InputError(
            "tries",
            f"{n[few]:g} tries of task {few if names is None else names[few]}",
            f"at least k = {k} tries of every task",
            "Fewer tries than k have no unbiased estimate: try again, or ask for a smaller k",
        )
    counted = c if kind == "pass^k" else n - c
    steps = np.arange(k, dtype=np.float64)[:, None]
    share = np.prod(np.maximum(counted - steps, 0.0) / (n - steps), axis=0)
    return np.asarray(share if kind == "pass^k" else 1.0 - share, dtype=np.float64)
