r"""Theorem 4.2: covering number of a network of several layers.

Printed, with alpha_i = prod_{j>i} L_sigma B_c2 B_v2 (1 + 4 B_QK2):

.. math:: \tau_i=\alpha_i^{2/3}+(2\alpha_iL_\sigma B_{c2}B_{v2})^{2/3}+(\alpha_iL_\sigma B_{v2})^{2/3},\quad
   \gamma=C_{B_x}^{1/3}(2L_\sigma B_{c2}B_{v2}\alpha_1B_w)^{2/3}+C_1^{1/3}(1+(B_wL_\sigma B_{v2})^{2/3}),\quad
   \eta=C_1^{1/3}B_w^{2/3}\sum_{i\ge2}\tau_i,\quad \log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2 .

Sound: every weight with its own sensitivity and input norm (docs/proofs/trauger.md), then Lemma E.1:

.. math:: \log N(\varepsilon) \le \Bigl(\sum_{weights}C^{1/3}\beta^{2/3}\Bigr)^3/\varepsilon^2 .
"""

from __future__ import annotations

import math

from certiformer.core import Quantity, Result, Status, Variants, real
from certiformer.theorems.trauger import TRAUGER
from certiformer.theorems.trauger._multi_layer import (
    ASSUMPTIONS,
    DEFECTS,
    INCREASING,
    NETWORK,
    OPTIONS,
    complexity_variants,
    covering_bound,
    ln_total,
    network,
    printed_variants,
    proper_covers,
)


def printed(
    C1: float,
    CBx: float,
    L_sigma: float,
    Bc2: float,
    Bv2: float,
    BQK2: float,
    Bw: float,
    layers: int,
    eps: float,
    Bx: float | None,
    rho: float | None,
    heads: int,
    n: int | None,
) -> Variants:
    token = math.sqrt(CBx / C1) if Bx is None else Bx
    return printed_variants(network(L_sigma, Bc2, Bv2, BQK2, Bw, layers, heads, token, rho), C1, CBx, eps)


def sound(
    C1: float,
    CBx: float,
    L_sigma: float,
    Bc2: float,
    Bv2: float,
    BQK2: float,
    Bw: float,
    layers: int,
    eps: float,
    Bx: float | None,
    rho: float | None,
    heads: int,
    n: int | None,
) -> Variants:
    token = math.sqrt(CBx / C1) if Bx is None else Bx
    net = network(L_sigma, Bc2, Bv2, BQK2, Bw, layers, heads, token, rho)
    constants = dict.fromkeys("wcvq", C1)
    ln_proper = ln_total(net, constants, proper=True)
    ln_external = ln_total(net, constants, proper=False)
    proper = proper_covers()
    return {
        "value": covering_bound(ln_proper, eps, proper),
        "external": covering_bound(ln_external, eps),
        **complexity_variants(net, ln_proper, n, proper, proper=True),
    }


RESULT = Result(
    id="trauger.thm4.2",
    title="Covering number of a deep Transformer",
    paper=TRAUGER,
    place="Theorem 4.2",
    bounds=Quantity.LOG_COVERING_NUMBER,
    statement=(
        "log N = (gamma + eta)^3/eps^2, gamma = CBx^(1/3) (2 L_sigma Bc2 Bv2 alpha_1 Bw)^(2/3) + C1^(1/3) (1 "
        "+ (Bw L_sigma "
        "Bv2)^(2/3)), eta = C1^(1/3) Bw^(2/3) sum_{i>=2} tau_i, alpha_i = prod_{j>i} L_sigma Bc2 Bv2 (1 + 4 BQK2)"
    ),
    latex=r"\log N(\varepsilon)=(\gamma+\eta)^3/\varepsilon^2",
    sound_statement=(
        "log N <= (sum C^(1/3) beta^(2/3))^3/eps^2 over w: (C1, 1); W_c: (C1 (L_sigma min(1, Bv2 b_i))^2, Bw "
        "alpha_i); W_v: "
        "(C1 b_i^2, Bw alpha_i L_sigma Bc2); W_QK: (C1 b_i^2, Bw alpha_i L_sigma Bc2 Bv2 rho_i^2); b_1 = Bx, b_i = 1, "
        "alpha_i = prod_{j>i} heads L_sigma Bc2 Bv2 (1 + 2 BQK2); external: L_sigma instead of L_sigma min(1, Bv2 b_i)."
    ),
    inputs=(
        real("C1", "every linear class has log N <= C1/eps^2 on inputs of norm 1", symbol="C_1", example=1),
        real("CBx", "the same on inputs of norm Bx", symbol="C_{B_x}", example=4),
        *NETWORK,
        real("Bx", "bound on the l2 norm of the raw tokens", optional=True, derived="sqrt(CBx/C1)", symbol="B_x"),
        *OPTIONS,
    ),
    status=Status.FALSE,
    reason="false for Bx > 1 (shattering), unproven for Bx <= 1: terms and factors of the first layer are missing",
    printed=printed,
    sound=sound,
    assumptions=ASSUMPTIONS,
    defects=DEFECTS,
    monotone={**dict.fromkeys(INCREASING, 1), "eps": -1, "CBx": 1},
    proof="docs/proofs/trauger.md",
)
