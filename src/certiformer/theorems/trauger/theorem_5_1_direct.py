r"""Theorem 5.1 by covering the logits themselves: ln K instead of sqrt(K).

Cross-entropy is 2-Lipschitz in the sup norm of the logits W y, so

.. math:: |\ell(Wy)-\ell(\hat W\hat y)| \le 2\bigl(\max_s|(W-\hat W)_s\hat y| + \max_s\|W_s\|_2\,\|y-\hat y\|\bigr).

The head costs C_W = (||W||_F b)^2 ln(2nK+1) with sensitivity 2 (T4 in docs/proofs/covers.md), each weight of the body
its own C_i with sensitivity 2 max_s ||W_s|| beta_i, and Lemma E.1 shares the radius:

.. math:: \log N(\varepsilon) \le \Bigl((4C_W)^{1/3}+\sum_iC_i^{1/3}(2r\beta_i)^{2/3}\Bigr)^3/\varepsilon^2 .
"""

from __future__ import annotations

from certiformer.calculus import chaining
from certiformer.calculus.allocation import quadratic_total
from certiformer.calculus.covers import perceptron_vocabulary, quadratic_cover
from certiformer.core import (
    Bound,
    InputError,
    Quantity,
    Result,
    Status,
    Variants,
    count,
    real,
    reals,
    side_number,
    upper_bound,
)
from certiformer.theorems.trauger import TRAUGER

_LIPSCHITZ = 2.0  # of cross-entropy in the sup norm of the logits (Appendix G)


def sound(
    K: int,
    n: int,
    WF: float,
    row: float,
    b: float,
    C: tuple[float, ...],
    beta: tuple[float, ...],
    eps: float,
    M: float | None,
) -> Variants:
    if len(C) != len(beta):
        raise InputError("beta", beta, f"as many numbers as C, {len(C)}")
    head = perceptron_vocabulary(WF, n, K).scaled(b).constant
    betas = (_LIPSCHITZ, *(_LIPSCHITZ * row * each for each in beta))
    total = quadratic_total((head, *C), betas)
    variants: dict[str, Bound] = {
        "value": upper_bound(total / eps / eps),
        "C_W": side_number(head, "log N of the vocabulary head is at most C_W/eps^2"),
    }
    if M is not None:
        # A loss in [0, M] is within M/2 of the constant M/2; covers of the body need not be proper.
        chain = chaining.external_chain(quadratic_cover(total, proper=False), M / 2.0, n)
        closed = chaining.dudley_closed_half(total, M / 2.0, n)
        for name, bound in {"rademacher_closed": closed, "rademacher_chain": chain}.items():
            variants[name] = upper_bound(bound, clip=M / 2.0, bounds=Quantity.RADEMACHER_COMPLEXITY)
    return variants


RESULT = Result(
    id="trauger.thm5.1.direct",
    title="Masked-word prediction, logits covered directly",
    paper=TRAUGER,
    place="Theorem 5.1, another route",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement="Not printed: a route around the O~(sqrt(K)) of Theorem 5.1.",
    latex=r"\text{not printed}",
    sound_statement=(
        "log N(eps) <= ((4 C_W)^(1/3) + sum_i C_i^(1/3) (2 row beta_i)^(2/3))^3/eps^2, C_W = (WF b)^2 "
        "ln(2nK+1), for the "
        "class of losses; with a clip at M, its Rademacher complexity by Dudley's integral at radius M/2."
    ),
    inputs=(
        count("K", "vocabulary size", low=2, example=100),
        count("n", "sample size (one masked position each)", aliases=("m", "N"), example=5000),
        real("WF", "Frobenius norm of the vocabulary matrix", symbol="||W||_F", example=3),
        real("row", "largest row l2 norm of the vocabulary matrix", symbol="max ||W_s||", example=1.5),
        real("b", "bound on the norm of the token read by the head, also for covered networks", default=1.0, example=1),
        reals("C", "constants of the body's weights: log N_i <= C_i/eps^2", example=(2.0, 5.0)),
        reals("beta", "sensitivities of that token to the body's weights", example=(4.0, 1.0)),
        real("eps", "radius of the cover", symbol="ε", example=0.5),
        real("M", "level at which cross-entropy is clipped", optional=True, derived="no complexity", example=10),
    ),
    status=Status.NONE,
    reason="covers the logits in the sup norm: the vocabulary enters through ln K only",
    printed=None,
    sound=sound,
    assumptions=(
        (
            "the token read by the head stays within radius b when weights are replaced by their cover "
            "(unit-ball projection, "
            "or proper covers)"
        ),
        "the norms are fixed in advance",
    ),
    monotone={"K": 1, "n": 1, "WF": 1, "row": 1, "b": 1, "eps": -1},
    proof="docs/proofs/trauger.md",
)
