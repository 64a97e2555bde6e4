r"""Assumption 6.2: sub-Gaussian inputs.

Printed: .. math:: P(\|X\|_F\ge t) \le (T+d)e^{-t^2/2\nu^2}, \quad \nu = \max(\|E X^TX\|, \|E XX^T\|)

Sound, for b(X), the largest token norm: (T+d) exp(-t^2/2nu) for matrix Gaussian or Rademacher series (Lemma 6.1 and
b <= ||X||), and T 2^{d/2} exp(-t^2/4s) for centred Gaussian tokens with covariance of spectral norm s.
"""

from __future__ import annotations

import math

from certiformer.calculus.truncation import SubGaussian, gaussian_tokens
from certiformer.core import (
    Bound,
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    flag,
    printed_value,
    real,
    upper_bound,
    verified,
)
from certiformer.theorems.li import LI


def printed(T: int, d: int, nu: float, t: float, spectral: float | None, series: bool, gaussian: bool) -> Variants:
    value = (T + d) * math.exp(-(t**2) / (2.0 * nu**2))
    return {"value": printed_value(value, checks=(verified("at most 1", value <= 1.0, value),))}


def sound(T: int, d: int, nu: float, t: float, spectral: float | None, series: bool, gaussian: bool) -> Variants:
    is_series = assumed("X is a matrix Gaussian or Rademacher series (centred)", series)
    variants: dict[str, Bound] = {
        "series": upper_bound(SubGaussian(T + d, nu).probability(t), clip=1.0, checks=(is_series,)),
    }
    if spectral is not None:
        tokens = gaussian_tokens(T, d, spectral)
        is_gaussian = assumed("tokens are centred Gaussian, covariance of spectral norm at most `spectral`", gaussian)
        variants["tokens"] = upper_bound(tokens.probability(t), clip=1.0, checks=(is_gaussian,))
    return variants


RESULT = Result(
    id="li.ass6.2",
    title="Sub-Gaussian inputs",
    paper=LI,
    place="Assumption 6.2",
    bounds=Quantity.TAIL_PROBABILITY,
    statement="P(||X||_F >= t) <= (T+d) exp(-t^2/(2 nu^2)), nu = max(||E X^T X||, ||E X X^T||)",
    latex=r"P(\|X\|_F\ge t)\le(T+d)\exp\bigl(-t^2/2\nu(X)^2\bigr)",
    sound_statement=(
        "For b(X), the largest token norm: series (matrix Gaussian or Rademacher series): (T+d) "
        "exp(-t^2/(2 nu)), nu in units of X^2. tokens (centred Gaussian, covariance norm s): T 2^(d/2) "
        "exp(-t^2/(4s)). A tail fitted to data is not a guarantee."
    ),
    inputs=(
        count("T", "sequence length", example=5),
        count("d", "token dimension", example=4),
        real("nu", "max(||E X^T X||, ||E X X^T||)", symbol="ν", example=1),
        real("t", "threshold", example=6),
        real(
            "spectral",
            "spectral norm of the covariance of a token",
            optional=True,
            derived="tokens left out",
            example=1,
        ),
        flag("series", "X is a matrix Gaussian or Rademacher series", default=True),
        flag("gaussian", "tokens are centred Gaussian", default=True),
    ),
    status=Status.FALSE,
    reason="not scale equivariant: entries N(0, 0.01), T = d = 1, at the median: 2.6e-10 for a probability of 1/2",
    printed=printed,
    sound=sound,
    assumptions=("centred inputs",),
    defects=(
        (
            "nu is a variance already (units of X^2); squaring it breaks scale equivariance. Entries N(0, "
            "0.0025), T = d = 20: the formula gives 8.9e-86 at the median."
        ),
        (
            "Even with nu in the exponent it is false for the Frobenius norm of Gaussian matrices: T = d = "
            "20: 0.0019 at the median."
        ),
        "An unbounded f* contradicts |f*| <= B, which the theorems keep in their prefactor.",
    ),
    monotone={"T": 1, "nu": 1, "t": -1},
    proof="docs/proofs/li.md",
)
