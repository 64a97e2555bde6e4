r"""DM1 and Assumption 3: the constants of the tokenized mixture.

.. math:: R=\sqrt{S^2+Z^2+2Z_\nu/M},\qquad \|W_\star\|_F=S^2\sqrt{2(M+1)},\qquad \|U_\star\|_F=S\sqrt{2T}.

Sound: the smaller of that R and S + Z (a relevant token has norm S, an irrelevant one at most either of the two).
"""

from __future__ import annotations

import math

from certiformer.core import (
    Quantity,
    Result,
    Status,
    Variants,
    count,
    printed_value,
    side_number,
    upper_bound,
    verified,
)
from certiformer.theorems.deora import DEORA
from certiformer.theorems.deora._mixture import (
    NOISE,
    NOISE_MU,
    NOISE_NU,
    PATTERNS,
    SIGNAL,
    SPARSITY,
    TOKENS,
    Mixture,
)


def printed(T: int, zeta: float, M: int, S: float, Zmu: float, Znu: float, Z: float, d: int | None) -> Variants:
    R = Mixture(T, zeta, M, S, Zmu, Znu, Z).R
    return {"R": printed_value(R, checks=(verified("R >= 1 (Assumption 1)", R >= 1.0, R),), bounds=Quantity.CONSTANT)}


def sound(T: int, zeta: float, M: int, S: float, Zmu: float, Znu: float, Z: float, d: int | None) -> Variants:
    mixture = Mixture(T, zeta, M, S, Zmu, Znu, Z)
    room = () if d is None else (verified("d >= M + 2: room for the orthogonal patterns", d >= M + 2, d),)
    checks = (*mixture.checks(), *room)
    return {
        "R": upper_bound(
            min(mixture.R, S + Z), checks=checks, bounds=Quantity.CONSTANT, note="almost surely, every token"
        ),
        "W_norm": side_number(mixture.target_norm, "||W_*||_F"),
        "U_norm": side_number(S * math.sqrt(2.0 * T), "||U_*||_F"),
    }


RESULT = Result(
    id="deora.dm1",
    title="Constants of the tokenized mixture",
    paper=DEORA,
    place="(DM1), Assumption 3",
    bounds=Quantity.CONSTANT,
    statement="every token has norm at most R = sqrt(S^2 + Z^2 + 2 Znu/M)",
    latex=r"R=\sqrt{S^2+Z^2+2Z_\nu/M}",
    sound_statement="R = min(sqrt(S^2 + Z^2 + 2 Znu/M), S + Z); ||W_*||_F = S^2 sqrt(2(M+1)); ||U_*||_F = S sqrt(2T)",
    inputs=(
        TOKENS,
        SPARSITY,
        PATTERNS,
        SIGNAL,
        NOISE_MU,
        NOISE_NU,
        NOISE,
        count("d", "token dimension", optional=True, derived="not checked", example=8),
    ),
    status=Status.TRUE,
    reason="true; Assumption 1's R >= 1 is used by the printed orders only",
    printed=printed,
    sound=sound,
    assumptions=("labels +1 and -1 equally likely", "tokens independent given the label and the relevant positions"),
    defects=("Gaussian noise violates the almost sure bounds; it has to be truncated.",),
    proof="docs/proofs/deora.md",
)
