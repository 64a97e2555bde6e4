r"""Sections 5.3 and 7: the ordering of margins on the tokenized mixture.

Printed:  .. math:: \gamma_{attn}\ge\gamma_\star\ge\gamma_{lin},\qquad \gamma_{attn}=S\sqrt{T/2}\ (\epsilon\to0)

False in general: gamma_attn (noiseless, P = 0) is at least gamma_* exactly when S^3 sqrt(T) zeta^2 <= 4 sqrt(M+1), and
with the same norm sqrt 2 for the linear model gamma_* falls below gamma_lin = sqrt2 gamma_U. The three are also
margins of different things: of the saturated model, of its NTK features after one step, and of those at zero.
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, lower_bound, printed_value, side_number, verified
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._mixture import NOISE_MU, NOISE_NU, PATTERNS, SIGNAL, SPARSITY, TOKENS, Mixture


def printed(T: int, zeta: float, M: int, S: float, Zmu: float, Znu: float) -> Variants:
    mixture = Mixture(T, zeta, M, S, Zmu, Znu)
    attention, star, linear = S * math.sqrt(T / 2.0), mixture.printed_margin(0.0), mixture.margin_U()
    checks = (
        verified("gamma_attn >= gamma_*", attention >= star, attention - star),
        verified("gamma_* >= gamma_lin", star >= linear, star - linear),
    )
    return {
        "gamma_attn": printed_value(attention, checks=checks, bounds=Quantity.MODEL_MARGIN),
        "gamma_star": printed_value(star, checks=checks),
        "gamma_lin": printed_value(linear, checks=checks, note="Omega(zeta S) in the text; the part of U here"),
    }


def sound(T: int, zeta: float, M: int, S: float, Zmu: float, Znu: float) -> Variants:
    mixture = Mixture(T, zeta, M, S, Zmu, Znu)
    margin_U, margin_W = mixture.margin_U(), mixture.margin_W(0.0)
    checks = mixture.checks()
    star = math.sqrt(2.0) * math.hypot(max(margin_U, 0.0), max(margin_W, 0.0))
    gap = mixture.logit_gap()
    return {
        "gamma_star": lower_bound(
            star, checks=(verified("the margin is positive", star > 0.0), *checks), note="norm sqrt 2"
        ),
        "gamma_lin": lower_bound(
            math.sqrt(2.0) * margin_U,
            checks=(verified("the margin is positive", margin_U > 0.0), *checks),
            note="norm sqrt 2, attention fixed and uniform (the zero start)",
        ),
        "gamma_attn": lower_bound(
            S * math.sqrt(T / 2.0),
            checks=(verified("relevant logits above irrelevant ones", gap > 0.0, gap), *checks),
            bounds=Quantity.MODEL_MARGIN,
            note="approached as the norm of W grows without bound",
        ),
        "crossing": side_number(
            S**3 * math.sqrt(T) * zeta**2 / (4.0 * math.sqrt(M + 1.0)),
            "without noise the printed gamma_attn >= gamma_* holds exactly when this is at most 1",
        ),
    }


RESULT = Result(
    id="deora.sec5.3",
    title="Ordering of the margins",
    paper=DEORA,
    place="Sections 5.3 and 7",
    bounds=Quantity.NTK_MARGIN,
    statement="gamma_attn >= gamma_* >= gamma_lin",
    latex=r"\gamma_{\rm attn}\ge\gamma_\star\ge\gamma_{\rm lin}",
    sound_statement=(
        "NTK margins at norm sqrt 2 after an exact first phase (P = 0): "
        "gamma_star = sqrt(2) hypot(gamma_U+, gamma_W+) >= "
        "gamma_lin = sqrt(2) gamma_U; gamma_attn = S sqrt(T/2) is a margin of the model and of another norm"
    ),
    inputs=(TOKENS, SPARSITY, PATTERNS, SIGNAL, NOISE_MU, NOISE_NU),
    status=Status.FALSE,
    reason="T = 8, zeta = 1/2, M = 1, S = 4 without noise: gamma_attn = 8 < gamma_* = 36",
    printed=printed,
    sound=sound,
    assumptions=("tokenized mixture, first phase without sampling error (P = 0)",),
    defects=(
        "gamma_attn >= gamma_* fails for strong signals: without noise it is S^3 sqrt(T) zeta^2 <= 4 sqrt(M+1).",
        "gamma_* >= gamma_lin fails with noise, and without noise when both are taken at norm sqrt 2.",
        "gamma_attn belongs to parameters of norm sqrt(1 + Gamma^2), the other two to norm sqrt 2.",
    ),
    monotone={"Zmu": -1, "Znu": -1},
    proof="docs/proofs/deora.md",
)
