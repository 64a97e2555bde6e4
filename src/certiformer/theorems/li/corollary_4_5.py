r"""Corollary 4.5: one head, excess risk by covering numbers.

Printed: .. math:: \frac{2M_{SH}}{n}(1+\log E N_\infty(\delta)) + 8\kappa\delta + \inf

Sound: under a Bernstein condition S1, for the squared loss S2, against the empirical risk S3, without any condition S4.
The cover is proper, of the whole domain, fixed before the data. Under Bernstein with V <= 5M/3, M = M_SH/2, S1 is below
the printed value (with such a cover in place of the sample's).
"""

from __future__ import annotations

import math

from certiformer.calculus import excess_risk
from certiformer.core import (
    Bound,
    Check,
    Quantity,
    Result,
    Status,
    Variants,
    assumed,
    count,
    printed_value,
    real,
    side_number,
    upper_bound,
    verified,
)
from certiformer.theorems.li import LI
from certiformer.theorems.li._inputs import APPROX, ERM, FLAGS, KAPPA, RADIUS
from certiformer.theorems.li._variants import (
    bernstein_condition,
    honest,
    noise,
    reference,
    risk,
    slow_quantity,
)

COVER = "logN is that of a proper cover of the whole domain at the given radius, fixed before the data"


def printed(n: int, logN: float, kappa: float, M_SH: float, radius: float, approx: float, **_: object) -> Variants:
    value = 2.0 * M_SH / n * (1.0 + logN) + 8.0 * kappa * radius + approx
    return {"value": printed_value(value, checks=(verified("log N is not negative", logN >= 0.0),))}


def sound(
    n: int,
    logN: float,
    kappa: float,
    M_SH: float,
    V: float,
    M: float,
    radius: float,
    approx: float,
    b_h: float | None,
    sigma: float | None,
    emp: float | None,
    eta: float | None,
    honest_kappa: bool,
    bernstein: bool,
    squared_loss: bool,
    well_specified: bool,
) -> Variants:
    cover = excess_risk.given_cover(logN)
    fixed, kappa_check = assumed(COVER), honest(honest_kappa)
    in_class = reference(well_specified, approx)
    condition = (fixed, kappa_check, bernstein_condition(bernstein), in_class)
    in_range = assumed("the loss lies in an interval of length M")
    first = excess_risk.bernstein(cover, radius, n, V=V, M=M, kappa=kappa, approximation=approx)
    slow = excess_risk.slow(cover, radius, n, loss_range=M, kappa=kappa, approximation=approx)
    variants: dict[str, Bound] = {
        "S1": risk(first, None, *condition, assumed("-g <= M almost surely")),
        "S4": risk(slow, M, fixed, kappa_check, in_range, bounds=slow_quantity(well_specified, approx)),
        "A": side_number(first.tilt.oracle, "the oracle factor of S1"),
        "inverse_lambda": side_number(1.0 / first.tilt.lam, "at most 2V + 2M/3"),
    }
    if b_h is not None and sigma is not None:
        squared = excess_risk.squared(cover, radius, n, b_h=b_h, sigma=sigma, approximation=approx)
        variants["S2"] = risk(squared, b_h, fixed, noise(squared_loss), in_class)
    ln_inverse_eta = None if eta is None else math.log(1.0 / eta)
    if ln_inverse_eta is not None:
        high = excess_risk.bernstein_hp(cover, radius, n, V=V, M=M, kappa=kappa, ln_inverse_eta=ln_inverse_eta)
        exact = assumed("the reference belongs to the class, so that P_n g <= 0 for the minimiser", well_specified)
        variants["S1_hp"] = risk(high, None, *condition, exact, bounds=Quantity.EXCESS_RISK_HP)
    if emp is not None:
        setting = {"M": M, "kappa": kappa, "empirical": emp}
        checks = (fixed, kappa_check, assumed("the loss lies in [0, M]"))
        hopeful = excess_risk.optimistic_best(cover, radius, n, **setting)
        expected = assumed("emp is the expected empirical risk, not the observed one")
        variants["S3"] = _risk_bound(hopeful.value, M, *checks, expected)
        if ln_inverse_eta is not None:
            value = excess_risk.optimistic_best(cover, radius, n, ln_inverse_eta=ln_inverse_eta, **setting).value
            sharp = excess_risk.optimistic_kl(cover, radius, n, ln_inverse_eta=ln_inverse_eta, **setting)
            note = "with probability 1 - eta for every f at once, emp observed"
            variants["S3_hp"] = _risk_bound(value, M, *checks, note=note)
            variants["S3_kl"] = _risk_bound(sharp, M, *checks, note=note)
    return variants


def _risk_bound(value: float, M: float, *checks: Check, note: str = "") -> Bound:
    return upper_bound(value, clip=M, bounds=Quantity.RISK, checks=checks, note=note)


RESULT = Result(
    id="li.cor4.5",
    title="Excess risk by covering numbers, one head",
    paper=LI,
    place="Corollary 4.5",
    bounds=Quantity.EXCESS_RISK,
    statement="excess <= (2 M_SH/n)(1 + log E N(radius)) + 8 kappa radius + inf",
    latex=r"\frac{2M_{SH}}{n}\bigl(1+\log E N_\infty(\delta)\bigr)+8\kappa\delta+\inf_f\mathcal E(f)",
    sound_statement=(
        "S1 (E g^2 <= V E g, -g <= M): A inf + log N/(n lambda) + (1+A) kappa delta, u = M/V, lambda = "
        "[(1+1/u) log(1+u) - 1]/M, A = log(1+u)/(M lambda) < 2. S2 (squared loss, noise sigma, |f-f0|^2 "
        "<= b): A inf + log N/(n lambda) + 2 delta (sqrt b + A (sqrt b + sigma)). S3 (risk): A R_n + M "
        "log N/(n(1-e^-t)) + (1+A) kappa delta, t free. S4: inf + M sqrt(log N/2n) + 2 kappa delta. "
        "S1_hp, S3_hp, S3_kl: with probability 1 - eta."
    ),
    inputs=(
        count("n", "sample size", aliases=("m", "N"), example=1_000_000),
        real("logN", "log covering number at the radius", low_open=False, example=200),
        KAPPA,
        real("M_SH", "2 kappa (B + sup|f|), the paper's scale", example=8),
        real("V", "Bernstein constant: E g^2 <= V E g for the excess losses g", example=3),
        real("M", "bound on -g (S1) and range of the loss (S3, S4)", example=4),
        RADIUS,
        APPROX,
        real("b_h", "bound on |f - f0|^2", optional=True, derived="S2 left out", example=4),
        real(
            "sigma",
            "sub-Gaussian parameter of the noise",
            symbol="σ",
            optional=True,
            derived="S2 left out",
            example=0.5,
        ),
        real(
            "emp",
            "empirical risk (expected for S3, observed for S3_hp)",
            low_open=False,
            optional=True,
            derived="S3 left out",
        ),
        real("eta", "failure probability", high=1.0, optional=True, derived="expectation forms only", example=0.05),
        *FLAGS,
    ),
    status=Status.FALSE,
    reason="no 1/n rate without a Bernstein condition: absolute loss with flat noise decays like n^(-1/2)",
    printed=printed,
    sound=sound,
    assumptions=(
        COVER,
        ERM,
        (
            "Bernstein holds for the squared loss against E[Y|X] (V = sup (f-f0)^2 + 4 Var), for log-loss "
            "well specified (V <= 2 + L), under a margin mu (V = kappa^2/mu); not for the absolute loss in "
            "general"
        ),
    ),
    defects=(
        (
            "Inherits Theorem 4.4 and its four counterexamples; 1/n without a Bernstein condition is "
            "impossible for the absolute loss."
        ),
        (
            "It is true if kappa holds for every label, Bernstein holds with V <= 5M/3 (M = M_SH/2), the "
            "cover is fixed before the data, and inf counts A < 2 times."
        ),
        "log E N is for covers of the sample; that needs (1+2a) E R_n on the right (Theorem 4.4, variant A).",
        "The 1 + is superfluous.",
    ),
    monotone={"n": -1, "logN": 1, "kappa": 1, "radius": 1, "V": 1},
    proof="docs/proofs/li.md",
)
