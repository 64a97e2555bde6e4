r"""The quantities of Lemma 4, in logarithms, as printed and for the gradient-flow version."""

from __future__ import annotations

import math
from dataclasses import dataclass

from certiformer.theory.core.lazy import np
from certiformer.theory.theorems.mwigo._shallow import ShallowEncoder


@dataclass(frozen=True, slots=True)
class Printed:
    """Natural logarithms of rho, M, M-hat, z, z-hat."""

    rho: float
    M: float
    M_hat: float
    z: float
    z_hat: float


def printed_quantities(net: ShallowEncoder) -> Printed:
    """rho = sqrt(N) d_s^{3/2} R_X; M and z with spectral norms, M-hat and z-hat with Frobenius norms."""
    # Both carry R_X^2 d_s 2/sqrt(d_m), the printed sensitivity of the attention.
    ln_attention = math.log(2.0) + 2.0 * math.log(net.RX) + math.log(net.ds) - 0.5 * math.log(net.dm)
    return Printed(
        rho=0.5 * math.log(net.n) + 1.5 * math.log(net.ds) + math.log(net.RX),
        M=ln_M(net, net.xi_Q, net.xi_K, net.xi_V, ln_attention),
        M_hat=ln_M(net, net.eta_Q, net.eta_K, net.eta_V, ln_attention),
        z=ln_z(net, net.xi_Q, net.xi_K, net.xi_V, ln_attention),
        z_hat=ln_z(net, net.eta_Q, net.eta_K, net.eta_V, ln_attention),
    )


def flow_quantities(net: ShallowEncoder) -> tuple[float, float]:
    """ln M', ln z': the attention's true sensitivity B^2/sqrt(d_m), spectral norms."""
    ln_attention = 2.0 * math.log(net.B) - 0.5 * math.log(net.dm)
    return (
        ln_M(net, net.xi_Q, net.xi_K, net.xi_V, ln_attention),
        ln_z(net, net.xi_Q, net.xi_K, net.xi_V, ln_attention),
    )


def ln_M(net: ShallowEncoder, q: float, k: float, v: float, ln_attention: float) -> float:
    """ln max(v/R_O, eta_O/R_V, a k v eta_O/R_Q, a q v eta_O/R_K), a = exp(ln_attention)."""
    ln_through = ln_attention + math.log(v) + math.log(net.eta_O)
    return max(
        math.log(v) - math.log(net.RO),
        math.log(net.eta_O) - math.log(net.RV),
        ln_through + math.log(k) - math.log(net.RQ),
        ln_through + math.log(q) - math.log(net.RK),
    )


def ln_z(net: ShallowEncoder, q: float, k: float, v: float, ln_attention: float) -> float:
    """ln of eta_O^2 (1 + a^2 v^2 (q^2 + k^2)), a = exp(ln_attention)."""
    ln_squares = float(np.logaddexp(2.0 * math.log(q), 2.0 * math.log(k)))
    return 2.0 * math.log(net.eta_O) + float(np.logaddexp(0.0, 2.0 * ln_attention + 2.0 * math.log(v) + ln_squares))


def ln_printed_loss(net: ShallowEncoder, alpha: float) -> float:
    """ln min(alpha^2/(8 rho M-hat sqrt N), alpha^3 eta_O/(32 rho^4 z-hat sqrt N))."""
    made, ln_alpha, ln_root = printed_quantities(net), math.log(alpha), 0.5 * math.log(net.n)
    first = 2.0 * ln_alpha - math.log(8.0) - made.rho - made.M_hat - ln_root
    second = 3.0 * ln_alpha + math.log(net.eta_O) - math.log(32.0) - 4.0 * made.rho - made.z_hat - ln_root
    return min(first, second)


def ln_consistent_loss(net: ShallowEncoder, alpha: float) -> float:
    """What the printed proof yields: M, z and rho^2 in place of M-hat, z-hat and rho^4."""
    made, ln_alpha, ln_root = printed_quantities(net), math.log(alpha), 0.5 * math.log(net.n)
    first = 2.0 * ln_alpha - math.log(8.0) - made.rho - made.M - ln_root
    second = 3.0 * ln_alpha + math.log(net.eta_O) - math.log(32.0) - 2.0 * made.rho - made.z - ln_root
    return min(first, second)
