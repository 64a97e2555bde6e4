r"""From Rademacher complexity to the generalization gap, and how losses act on complexities (T9, T11).

For a loss in [0, c] **on the whole support** and a class fixed before the sample, with probability at least 1 - delta,
for every f of the class:

    data:     L_D(f) <= L_S(f) + 2 R_S(l o F)  + 3 c sqrt(ln(1/delta) / 2n)
    uniform:  L_D(f) <= L_S(f) + 2 R           +   c sqrt(ln(1/delta) / 2n),   R >= R_S(l o F) for every sample

One application of McDiarmid's inequality each: the supremum of the gap has bounded differences c/n, minus twice the
empirical complexity 3c/n. Two-sided statements use delta/2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from certiformer.theory.core.bound import Bound, upper_bound
from certiformer.theory.core.elementwise import each, least
from certiformer.theory.core.hypothesis import Hypothesis, assumed, stated
from certiformer.theory.core.lazy import Array, np


def gap_from_data(rademacher: float, loss_range: float, ln_inverse_delta: float, n: float) -> float:
    """2 R_S + 3 c sqrt(ln(1/delta)/2n)."""
    return 2.0 * rademacher + 3.0 * loss_range * math.sqrt(ln_inverse_delta / (2.0 * n))


def gap_uniform(rademacher: float, loss_range: float, ln_inverse_delta: float, n: float) -> float:
    """2 R + c sqrt(ln(1/delta)/2n), where R bounds the complexity on every sample of the support."""
    return 2.0 * rademacher + loss_range * each(math.sqrt, ln_inverse_delta / (2.0 * n))  # type: ignore[no-any-return]


def gap_bounds(
    rademacher: float, loss_range: float, ln_inverse_delta: float, n: float, every_sample: bool | None
) -> dict[str, Bound]:
    """`data` and `uniform` with their hypotheses; each is an event of its own."""
    support = assumed("the loss lies in [0, c] on the whole support, not only on the sample")
    words = "rad bounds the complexity on every sample of the support"
    uniform = stated(words, every_sample, "every_sample=1")
    note = "each variant is an event of its own: fix the choice before seeing the data, or divide delta among them"

    def gap(value: float, *hypotheses: Hypothesis) -> Bound:
        terms = {"complexity": 2.0 * rademacher, "confidence": value - 2.0 * rademacher}
        return upper_bound(value, clip=loss_range, terms=terms, additive=True, hypotheses=hypotheses, note=note)

    return {
        "data": gap(gap_from_data(rademacher, loss_range, ln_inverse_delta, n), support),
        "uniform": gap(gap_uniform(rademacher, loss_range, ln_inverse_delta, n), support, uniform),
    }


def of_loss(rademacher: float, lipschitz: float, loss_range: float = math.inf) -> float:
    """Complexity of a loss class: contraction, and never more than half the range of the loss."""
    return least(lipschitz * rademacher, loss_range / 2.0)  # type: ignore[no-any-return]


def maurer(rademacher_per_coordinate: Sequence[float], lipschitz_l2: float) -> float:
    """sqrt(2) L sum_k R(H_k) for a vector-valued class and a loss that is L-Lipschitz in the l2 norm."""
    return math.sqrt(2.0) * lipschitz_l2 * math.fsum(rademacher_per_coordinate)


def exact(values: Array) -> float:
    """E_sigma max_f (1/n) sum_i sigma_i f(x_i) over all sign vectors; `values` is (functions, n), n at most 20."""
    n = values.shape[1]
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    return float(np.mean(np.max(signs @ values.T, axis=1)) / n)
