"""The printed formulas of the theorems on covering numbers, verbatim; constants left open by the paper are named."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from certiformer.theory.calculus.entropies import log
from certiformer.theory.core import Bound, printed_value, verified
from certiformer.theory.theorems.li._architecture import Norms

C1_RANK = 0.5  # Assumption 5.7 leaves C_1 open; Lemma B.6 has 1/2


def gamma_one_layer(norms: Norms, Bx: float, H: int = 1) -> float:
    """C1^{1/3} Bx^{2/3} [(H Bw L)^{2/3} + 2 (H Bw L Bc Bv)^{2/3} + H^{2/3}], C1 = ln(2dk + 1). No B_QK."""
    c1 = math.log(2 * norms.d * norms.k + 1)
    readout, network = H * norms.Bw * norms.L_sigma, H * norms.Bw * norms.L_sigma * norms.Bc * norms.Bv
    bracket = readout ** (2 / 3) + 2.0 * network ** (2 / 3) + H ** (2 / 3)
    return float(c1 ** (1 / 3) * Bx ** (2 / 3) * bracket)


def alphas(norms: Norms, layers: int) -> list[float]:
    """alpha_i = prod_{j=i}^{L} L Bc Bv (1 + 4 B_QK), i = 1..L."""
    block = norms.L_sigma * norms.Bc * norms.Bv * (1.0 + 4.0 * norms.BQK)
    return [_power(block, layers - i + 1) for i in range(1, layers + 1)]


def gamma_many_layers(norms: Norms, layers: int, Bx: float) -> float:
    """gamma_ML + eta_ML of Theorem 5.3."""
    c1 = math.log(2 * norms.d * norms.k + 1) ** (1 / 3)
    Bw, Bc, Bv, L_sigma = norms.Bw, norms.Bc, norms.Bv, norms.L_sigma
    alpha = alphas(norms, layers)
    first = alpha[0]
    gamma = (2.0 * L_sigma * Bc * Bv * first * Bw * Bx**2) ** (2 / 3)
    gamma += Bx ** (2 / 3) * (1.0 + (first * Bw) ** (2 / 3) + (first * Bw * L_sigma * Bv) ** (2 / 3))
    tau = sum(
        a ** (2 / 3) + (2.0 * a * L_sigma * Bc * Bv) ** (2 / 3) + (a * L_sigma * Bv) ** (2 / 3) for a in alpha[1:]
    )
    return float(c1 * (gamma + Bw ** (2 / 3) * tau))


def rank_sum_one_layer(norms: Norms, Bx: float, radius: float, ranks: Mapping[str, int], H: int = 1) -> float:
    """N_rank = 1 + sum_j r_j C1 ln(r_j Bx^2/eps_j^2), eps_j by (20)."""
    Bw, Bc, Bv, L_sigma = norms.Bw, norms.Bc, norms.Bv, norms.L_sigma
    order = [ranks[name] for name in ("rc", "rqk", "rv", "rw")]
    betas = [H * Bw * L_sigma, 2.0 * H * Bw * L_sigma * Bc * Bv, H * Bw * L_sigma * Bc, H * Bc]
    total = C1_RANK * sum(order)
    eps = [radius * C1_RANK * r / (beta * total) for r, beta in zip(order, betas, strict=True)]
    logs = [math.log(r) + 2.0 * math.log(Bx) - 2.0 * math.log(e) for r, e in zip(order, eps, strict=True)]
    return 1.0 + math.fsum(C1_RANK * r * log for r, log in zip(order, logs, strict=True))


def rank_sum_many_layers(norms: Norms, layers: int, BX: float, radius: float, ranks: Mapping[str, int]) -> float:
    """sum_i r_i C_i ln(b_i^2/delta^2) with the printed b_i of Corollary 5.6 and beta_i of Theorem 5.8."""
    Bw, Bc, Bv, L_sigma = norms.Bw, norms.Bc, norms.Bv, norms.L_sigma
    alpha = alphas(norms, layers)
    betas = [1.0, *(a * Bw for a in alpha), *(a * Bw * L_sigma * Bv for a in alpha)]
    betas += [2.0 * a * L_sigma * Bc * Bv * Bw for a in alpha]
    order = [ranks["rw"], *[ranks["rc"]] * layers, *[ranks["rv"]] * layers, *[ranks["rqk"]] * layers]
    return allocation([float(r) for r in order], [C1_RANK] * len(order), betas, BX, radius)


def allocation(r: Sequence[float], C: Sequence[float], beta: Sequence[float], BX: float, eps: float) -> float:
    """Corollary 5.6 as printed: sum r_i C_i ln(b_i^2/eps^2), b_i^2 = BX beta_i (sum_j r_j C_j)/(r_i C_i)."""
    total = math.fsum(ri * ci for ri, ci in zip(r, C, strict=True))
    return math.fsum(
        ri * ci * (log(BX * bi * total / (ri * ci)) - 2.0 * math.log(eps))
        for ri, ci, bi in zip(r, C, beta, strict=True)
    )


def fast_rate(prefactor: float, inside: float, kappa: float, radius: float, approx: float, extra: float = 0.0) -> Bound:
    """prefactor (1 + inside) + 8 kappa delta + extra + inf, the form of every printed bound."""
    value = prefactor * (1.0 + inside) + 8.0 * kappa * radius + extra + approx
    # An undefined logarithm comes in as inf; then nothing is claimed.
    return printed_value(
        value,
        hypotheses=(
            verified("the logarithm is that of a positive, finite number", inside < math.inf),
            verified("the complexity term 1 + log(...) is not negative", inside >= -1.0),
        ),
    )


def log_or_inf(x: float) -> float:
    """ln x, and inf where the formula has no logarithm to take."""
    return math.log(x) if x > 0.0 else math.inf


def log_cubed_over_squared(gamma: float, radius: float) -> float:
    """log(gamma^3/delta^2), which the paper takes for a log covering number."""
    return 3.0 * log_or_inf(gamma) - 2.0 * math.log(radius)


def prefactor(n: int, kappa: float, B: float, output: float) -> float:
    """4 (kappa B + kappa sup|f|)/n."""
    return 4.0 * kappa * (B + output) / n


def _power(base: float, exponent: int) -> float:
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf
