r"""Theorem 5: the true loss of a shallow encoder trained near its initial weights.

Printed (constants inside O() taken as 1), R = sqrt(R_Q^2 + R_K^2 + R_V^2 + R_O^2) read as max(R, 1):

.. math:: L_D \lesssim \min\Bigl(\frac{\alpha^2}{8\rho\hat M\sqrt N},\frac{\alpha^3\eta_O}{32\rho^4\hat z\sqrt N}\Bigr)
          + \sqrt{P/N}\bigl(1+\log(A\sqrt{N/P})\bigr) + \sqrt{\log(R/\delta)/N}

Sound, with probability at least 1 - delta for every network within the radii:

.. math:: L_D \le L_S + 2\overline R + c\sqrt{\ln(1/\delta)/2N},\quad c=\eta_O\xi_VB+\max|y|,

R-bar from Lemma 2 (sound), B a bound on every token of the support, L_S measured or from Lemma 4.
"""

from __future__ import annotations

import math

from certiformer.calculus import chaining
from certiformer.calculus.covers import quadratic_cover
from certiformer.calculus.rademacher import gap_uniform, of_loss
from certiformer.core import (
    Bound,
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    printed_value,
    real,
    side_number,
    upper_bound,
    verified,
)
from certiformer.theorems.mwigo import MWIGO
from certiformer.theorems.mwigo._shallow import (
    ASSUMPTIONS,
    INITIAL,
    SHAPE,
    P_init,
    complexity_variants,
    encoder,
    exp,
    printed_A,
    printed_complexity,
)
from certiformer.theorems.mwigo._training import ln_printed_loss


def printed(
    n: int,
    ds: int,
    d: int,
    dm: int,
    RX: float,
    RQ: float,
    RK: float,
    RV: float,
    RO: float,
    WQF: float | None,
    WKF: float | None,
    WVF: float | None,
    wOF: float,
    WQ2: float,
    WK2: float,
    WV2: float,
    B: float | None,
    rho: float | None,
    alpha: float,
    delta: float,
    LS: float,
    ymax: float,
    clip: float | None,
    paid: float,
) -> Variants:
    net = encoder(n, ds, d, dm, RX, RQ, RK, RV, RO, WQF, WKF, WVF, wOF, WQ2, WK2, WV2, B, rho)
    complexity, s = printed_complexity(net)
    R = max(1.0, math.hypot(RQ, RK, RV, RO))
    value = exp(ln_printed_loss(net, alpha)) + complexity + math.sqrt(math.log(R / delta) / n)
    checks = (
        verified("sqrt(P/N) <= A (beyond that the formula falls)", 0.0 < s <= printed_A(net), s),
        verified("d_m >= N (else alpha, the N-th singular value, is 0)", dm >= n, dm),
        assumed("the hypotheses of Lemma 4, and constants of 1 in O()"),
    )
    return {"value": printed_value(value, checks=checks)}


def sound(
    n: int,
    ds: int,
    d: int,
    dm: int,
    RX: float,
    RQ: float,
    RK: float,
    RV: float,
    RO: float,
    WQF: float | None,
    WKF: float | None,
    WVF: float | None,
    wOF: float,
    WQ2: float,
    WK2: float,
    WV2: float,
    B: float | None,
    rho: float | None,
    alpha: float,
    delta: float,
    LS: float,
    ymax: float,
    clip: float | None,
    paid: float,
) -> Variants:
    net = encoder(n, ds, d, dm, RX, RQ, RK, RV, RO, WQF, WKF, WVF, wOF, WQ2, WK2, WV2, B, rho)
    c = net.output + ymax if clip is None else clip
    ln_inverse = paid - math.log(delta)
    support = assumed("B bounds every token and ymax every label of the support, or the loss is clipped")

    def risk(complexity: float, ceiling: float | None) -> Bound:
        gap = gap_uniform(complexity, c, ln_inverse, n)
        terms = {"training loss": LS, "complexity": 2.0 * complexity, "confidence": gap - 2.0 * complexity}
        return upper_bound(LS + gap, clip=ceiling, trivial=c, terms=terms, additive=True, checks=(support,))

    # Measured from the initial network f_0: |f - f_0| is at most |f| + |f_0|, or the movement itself.
    around = min(2.0 * net.output, net.movement)
    plain = chaining.geometric_chain(quadratic_cover(P_init(net)), around, n)
    variants = complexity_variants(net)
    best = min(bound.value for bound in variants.values() if bound.bounds is None)
    return {
        "value": risk(plain, None),
        # One class, several bounds on its complexity: the smallest is free. Losses have complexity at most c/2.
        "chain": risk(of_loss(best, 1.0, c), c),
        "c": side_number(c, "range of the loss"),
    }


RESULT = Result(
    id="mwigo.thm5",
    title="True loss of the trained encoder",
    paper=MWIGO,
    place="Theorem 5",
    bounds=Quantity.RISK,
    statement=(
        "L_D <~ min(alpha^2/(8 rho M^ sqrt(N)), alpha^3 eta_O/(32 rho^4 z^ sqrt(N))) + O(sqrt(P/N) (1 + "
        "log(A sqrt(N/P))) + "
        "sqrt(log(R/delta)/N)) with probability 1 - 8 exp(-dm/2) - 2 delta - exp(-Omega((N-1)^(-c)/ds))"
    ),
    latex=(
        r"L_D\lesssim\min\Bigl(\frac{\alpha^2}{8\rho\hat M\sqrt N},\frac{\alpha^3\eta_O}{32\rho^4\hat z\sqrt N}\Bigr)"
        r"+O\Bigl(\sqrt{\tfrac PN}\bigl(1+\log(A\sqrt{\tfrac NP})\bigr)+\sqrt{\tfrac{\log(R/\delta)}N}\Bigr)"
    ),
    sound_statement=(
        "L_D <= L_S + 2 Rbar + c sqrt(ln(1/delta)/2N), c = eta_O xi_V B + ymax or the clip level; Rbar from "
        "Lemma 2 (sound). "
        "value: covers centred at the initial weights, scales D q^-j, not clipped; chain: the best of Lemma "
        "2, at most c."
    ),
    inputs=(
        *SHAPE,
        real("alpha", "smallest (N-th) singular value of the initial features", symbol="α", example=0.5),
        real("delta", "failure probability", high=1, symbol="δ", example=0.05),
        real("LS", "training loss, measured or from Lemma 4", low_open=False, symbol="L_S", example=0.01),
        real("ymax", "bound on every label of the support", low_open=False, symbol="max|y|", example=1),
        *INITIAL,
        real("clip", "level at which the loss is clipped", optional=True, derived="eta_O xi_V B + ymax", example=2),
        real("paid", "nats paid for radii read off the weights (see strata)", low_open=False, default=0.0, example=0),
    ),
    status=Status.FALSE,
    reason="inherits Lemmas 2 and 4; the stated confidence tends to zero as N grows; the factor 3c is lost",
    printed=printed,
    sound=sound,
    assumptions=(
        *ASSUMPTIONS,
        "the loss is 1-Lipschitz in the prediction, zero at a perfect fit",
        "the sample is i.i.d.",
    ),
    defects=(
        "Everything that is wrong with Lemmas 2 and 4.",
        (
            "The confidence contains exp(-(N-1)^(-c)/ds), which tends to 1: the stated probability is "
            "vacuous unless the "
            "hidden constant exceeds N^c ds."
        ),
        "The union over R_i = 1..R is pointless, since the largest class is used anyway, and needs whole R >= 1.",
        "The factor 3c of the gap is lost, and the loss must be bounded.",
        "The step size depends on l(theta^0) here and on Phi(theta^0) in Lemma 4.",
    ),
    monotone={"n": -1, "RX": 1, "RO": 1, "delta": -1, "LS": 1, "ymax": 1},
    proof="docs/proofs/mwigo.md",
)
