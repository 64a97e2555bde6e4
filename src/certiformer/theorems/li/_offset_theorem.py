"""What Theorems 4.4, 4.7 and 4.11 share: excess risk by offset complexity, printed and in its three sound forms."""

from __future__ import annotations

from certiformer.calculus import excess_risk
from certiformer.core import (
    Bound,
    Quantity,
    Variants,
    assumed,
    printed_value,
    side_number,
    stated,
    upper_bound,
)
from certiformer.theorems.li._variants import noise

SOUND_STATEMENT = (
    "A (any loss in [0, M], any class): E R(fhat) <= 2(1+a) R_off(losses, a/((1+a)M)) + (1+2a) E "
    "R_n(fhat). B (squared loss, N functions): (4b + 24 sigma^2) log N/n + 6 inf, with the noise's "
    "own offset term. C (noise-free labels, f* Bayes): 4 R_off(G, 1/M) + 3 inf. A fast rate relative "
    "to the best in a non-convex class needs another estimator than ERM."
)
DEFECTS = (
    "The proof has 3 inf, the theorem 1 inf.",
    (
        "0 <= g is asserted; it fails for g(X, Y; f) once labels are noisy, and for its conditional mean "
        "unless f* is Bayes."
    ),
    (
        "The proof replaces g(X, Y; f) by its conditional mean inside a supremum: the noise process is "
        "lost. Assumption 4.3 thereby lets kappa ignore the noise altogether."
    ),
    "Counterexample 1: squared loss, f in [-1, 1], Y ~ N(0, 100^2), n = 100: excess 0.947, 4 R_off = 0.040.",
    (
        "Counterexample 2: absolute loss, Y ~ N(0, n), n = 10^10 + 1: excess 2.4e-6, Corollary 4.5 gives "
        "2.0e-8; it decays like n^(-1/2)."
    ),
    "Counterexample 3: squared loss, bounded labels, a cross {(s,0)} u {(0,s)} that misses the target: n^(-1/2) again.",
    "Counterexample 4: squared loss, well specified, Y = +-1000: the scale is (f - f0)^2 + 4 Var(Y|x), not M.",
    (
        "M is defined with and without the factor 2; the softmax matrix has norm up to sqrt(T), only its "
        "rows are probabilities; ||X||_{2->2} may be replaced by the largest token norm."
    ),
)
ASSUMPTIONS = (
    "Roff is the expectation over samples; one sample gives an estimate, a search in a network a lower bound",
    "the predictor minimises the empirical risk over the whole class",
)


def printed_variants(name: str, M: float, Roff: float, approx: float) -> Variants:
    """4 R_off + inf."""
    return {name: side_number(M), "value": printed_value(4.0 * Roff + approx)}


def sound_variants(
    name: str,
    *,
    honest_M: float,
    distance: float,
    Roff: float,
    approx: float,
    Roff_loss: float | None,
    emp: float | None,
    a: float,
    n: int | None,
    logN: float | None,
    M: float | None,
    sigma: float | None,
    noise_free: bool,
    squared_loss: bool,
) -> Variants:
    """4.4-A, 4.4-B (finite class, a' = 1 and a = 5/2) and 4.4-C."""
    exact_labels = stated(
        "labels are a function of the inputs (or 0 <= g <= M almost surely), f* is Bayes", noise_free, "noise_free=1"
    )
    variants: dict[str, Bound] = {
        name: side_number(honest_M, "with the token norm, and kappa honest"),
        "C": upper_bound(excess_risk.offset_c(Roff, approx), hypotheses=(exact_labels,)),
    }
    in_range = assumed("the loss lies in [0, M]")
    if emp is not None and Roff_loss is not None:
        value = excess_risk.offset_a(a, Roff_loss, emp)
        variants["A"] = upper_bound(value, clip=M, bounds=Quantity.RISK, hypotheses=(in_range,))
    if emp is not None and n is not None and logN is not None and M is not None:
        value = excess_risk.offset_sample_cover(a, logN, n, M=M, kappa=0.0, radius=0.0, empirical=emp)
        variants["A_finite"] = upper_bound(value, clip=M, bounds=Quantity.RISK, hypotheses=(in_range,))
    if n is not None and logN is not None and sigma is not None:
        value = excess_risk.offset_b_finite(2.5, 1.0, logN, n, b_h=distance**2, sigma=sigma, approximation=approx)
        variants["B"] = upper_bound(value, clip=distance**2, hypotheses=(noise(squared_loss),))
    return variants
