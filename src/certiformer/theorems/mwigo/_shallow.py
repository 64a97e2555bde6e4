r"""What the results on the shallow encoder share: its norms, and sound covers of its class.

f(X) = (1/d_s) w_O^T sum_i relu(W_V X^T softmax(X W_K^T W_Q x_i / sqrt(d_m))), weights within R_Q, R_K, R_V, R_O of
their initial values. eta = initial Frobenius norm + R, xi = initial spectral norm + R. For tokens of norm at most B and
half-diameter rho, A = W_K^T W_Q / sqrt(d_m) and hats on the covered network,

    |f - fhat| <= |(w_O - w_hat)^T h_hat| + eta_O max|(W_V - V_hat) x| + eta_O xi_V rho^2 max|(A - A_hat) x| .

The covers are centred at zero or at the initial weights; both are proper (docs/proofs/mwigo.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from certiformer.calculus import chaining
from certiformer.calculus.allocation import Term, network_cover, quadratic_total
from certiformer.calculus.covers import (
    Cover,
    dual_sudakov,
    perceptron_vector,
    smallest,
    sudakov_constant,
    volumetric,
)
from certiformer.calculus.softmax import weight_sensitivity
from certiformer.core import Bound, Input, count, real, side_number, upper_bound

SHAPE: tuple[Input, ...] = (
    count("n", "sample size", aliases=("N", "m"), example=100_000_000),
    count("ds", "sequence length", symbol="d_s", example=4),
    count("d", "token dimension", example=8),
    count("dm", "model dimension", symbol="d_m", example=8),
    real("RX", "bound on the l2 norm of every token", symbol="R_X", example=0.5),
    real("RQ", "Frobenius radius of W_Q around its initial value", symbol="R_Q", example=0.1),
    real("RK", "Frobenius radius of W_K around its initial value", symbol="R_K", example=0.1),
    real("RV", "Frobenius radius of W_V around its initial value", symbol="R_V", example=0.1),
    real("RO", "l2 radius of w_O around its initial value", symbol="R_O", example=0.1),
)
INITIAL: tuple[Input, ...] = (
    real("WQF", "Frobenius norm of the initial W_Q", low_open=False, optional=True, derived="sqrt(dm)"),
    real("WKF", "Frobenius norm of the initial W_K", low_open=False, optional=True, derived="sqrt(dm)"),
    real("WVF", "Frobenius norm of the initial W_V", low_open=False, optional=True, derived="sqrt(dm)"),
    real("wOF", "l2 norm of the initial w_O", low_open=False, default=1.0, example=1),
    real("WQ2", "spectral norm of the initial W_Q", low_open=False, default=2.0, example=2),
    real("WK2", "spectral norm of the initial W_K", low_open=False, default=2.0, example=2),
    real("WV2", "spectral norm of the initial W_V", low_open=False, default=2.0, example=2),
    real("B", "bound on the l2 norm of every token, for the sound side", optional=True, derived="RX", example=0.5),
    real("rho", "half the diameter of the token set", low_open=False, optional=True, derived="B", example=0.5),
)
ASSUMPTIONS = (
    "the initial weights are independent of the sample, and the radii fixed before it is seen (or paid for: `strata`)",
    "every token has l2 norm at most B",
)


@dataclass(frozen=True, slots=True)
class Encoder:
    """The norms of a shallow encoder near its initial weights."""

    n: int
    ds: int
    d: int
    dm: int
    RX: float
    RQ: float
    RK: float
    RV: float
    RO: float
    WQF: float
    WKF: float
    WVF: float
    wOF: float
    WQ2: float
    WK2: float
    WV2: float
    B: float
    rho: float

    @property
    def eta_Q(self) -> float:
        return self.WQF + self.RQ

    @property
    def eta_K(self) -> float:
        return self.WKF + self.RK

    @property
    def eta_V(self) -> float:
        return self.WVF + self.RV

    @property
    def eta_O(self) -> float:
        return self.wOF + self.RO

    @property
    def xi_Q(self) -> float:
        return self.WQ2 + self.RQ

    @property
    def xi_K(self) -> float:
        return self.WK2 + self.RK

    @property
    def xi_V(self) -> float:
        return self.WV2 + self.RV

    @property
    def R_A(self) -> float:
        """Frobenius radius of A around its initial value: expand (K0 + dK)^T (Q0 + dQ)."""
        return (self.WK2 * self.RQ + self.RK * self.WQ2 + self.RK * self.RQ) / math.sqrt(self.dm)

    @property
    def output(self) -> float:
        """sup |f| <= eta_O xi_V B: attention averages tokens, relu and pooling do not increase norms."""
        return self.eta_O * self.xi_V * self.B

    @property
    def movement(self) -> float:
        """sup |f - f_0|, f_0 the initial network: the perturbation inequality with the radii themselves."""
        attention = self.eta_O * self.xi_V * weight_sensitivity(self.rho) * self.B * self.R_A
        return self.RO * self.xi_V * self.B + self.eta_O * self.RV * self.B + attention

    @property
    def radius(self) -> float:
        """The better of |f - 0| and |f - f_0|; both 0 and f_0 are fixed functions."""
        return min(self.output, self.movement)


def encoder(
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
) -> Encoder:
    """Fill in what was not given: LeCun's initial norms, B = RX, rho = B."""
    typical = math.sqrt(dm)
    q, k, v = (typical if norm is None else norm for norm in (WQF, WKF, WVF))
    token = RX if B is None else B
    return Encoder(
        n, ds, d, dm, RX, RQ, RK, RV, RO, q, k, v, wOF, WQ2, WK2, WV2, token, token if rho is None else min(rho, token)
    )


def ln_printed_P(net: Encoder) -> float:
    """ln of P = (sqrt(d_s) R_X)^2 ((sqrt(d_m) eta_V)^{2/3} + (sqrt(d_m) eta_K eta_Q eta_V)^{2/3})^3 log(N d_s)."""
    ln_value = 0.5 * math.log(net.dm) + math.log(net.eta_V)
    ln_scores = ln_value + math.log(net.eta_K) + math.log(net.eta_Q)
    ln_sum = 3.0 * float(np.logaddexp(ln_value * 2.0 / 3.0, ln_scores * 2.0 / 3.0))
    points = math.log(net.n * net.ds)
    return math.log(net.ds) + 2.0 * math.log(net.RX) + ln_sum + (math.log(points) if points > 0.0 else -math.inf)


def printed_A(net: Encoder) -> float:
    """A = eta_O eta_V sqrt(d_s) R_X."""
    return net.eta_O * net.eta_V * math.sqrt(net.ds) * net.RX


def printed_complexity(net: Encoder) -> tuple[float, float]:
    """sqrt(P/N) (1 + log(A sqrt(N/P))), and s = sqrt(P/N)."""
    ln_s = 0.5 * (ln_printed_P(net) - math.log(net.n))
    if math.isinf(ln_s):
        return 0.0, 0.0
    s = exp(ln_s)
    bracket = 1.0 + math.log(printed_A(net)) - ln_s
    return s * bracket, s


def zero_constants(net: Encoder) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(C, beta) of w_O, W_V and A for the class centred at zero."""
    eta_A = net.eta_K * net.eta_Q / math.sqrt(net.dm)
    square = net.eta_V * net.B * (net.eta_V * net.B)
    constants = (
        net.eta_O * net.eta_O * square * math.log(2.0 * net.n + 1.0),
        square * sudakov_constant(net.dm, net.d),
        eta_A * net.B * (eta_A * net.B) * sudakov_constant(net.d, net.d),
    )
    return constants, (1.0, net.eta_O, net.eta_O * net.eta_V * weight_sensitivity(net.rho))


def init_constants(net: Encoder) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(C, beta) of w_O, W_V and A for the class centred at the initial weights."""
    read = net.RO * net.xi_V * net.B
    constants = (
        read * read * math.log(2.0 * net.n + 1.0),
        net.RV * net.B * (net.RV * net.B) * sudakov_constant(net.dm, net.d),
        net.R_A * net.B * (net.R_A * net.B) * sudakov_constant(net.d, net.d),
    )
    return constants, (1.0, net.eta_O, net.eta_O * net.xi_V * weight_sensitivity(net.rho))


def P_zero(net: Encoder) -> float:
    """log N <= P_zero/eps^2, covers centred at zero."""
    return quadratic_total(*zero_constants(net))


def P_init(net: Encoder) -> float:
    """log N <= P_init/eps^2, covers centred at the initial weights."""
    return quadratic_total(*init_constants(net))


def cover_zero(net: Encoder) -> Cover:
    """The smallest covers centred at zero; ||W_K^T W_Q||_F <= min(xi_K eta_Q, eta_K xi_Q), ||W_V||_2 <= xi_V."""
    eta_A = min(net.eta_K * net.xi_Q, net.xi_K * net.eta_Q, net.eta_K * net.eta_Q) / math.sqrt(net.dm)
    return _cover(net, net.eta_O, net.eta_V, eta_A, min(net.xi_V, net.eta_V))


def cover_init(net: Encoder) -> Cover:
    """The smallest covers centred at the initial weights."""
    return _cover(net, net.RO, net.RV, net.R_A, min(net.xi_V, net.eta_V))


def _cover(net: Encoder, radius_O: float, radius_V: float, radius_A: float, spectral_V: float) -> Cover:
    read = smallest(perceptron_vector(radius_O, net.n), dual_sudakov(radius_O, 1, net.dm), volumetric(radius_O, net.dm))
    value = smallest(dual_sudakov(radius_V, net.dm, net.d), volumetric(radius_V, net.dm * net.d))
    scores = smallest(dual_sudakov(radius_A, net.d, net.d), volumetric(radius_A, net.d * net.d))
    attention = net.eta_O * spectral_V * weight_sensitivity(net.rho)
    return network_cover(
        [
            Term("w_O", read.scaled(spectral_V * net.B), 0.0),
            Term("W_V", value.scaled(net.B), math.log(net.eta_O)),
            Term("A", scores.scaled(net.B), math.log(attention) if attention > 0.0 else -math.inf),
        ]
    )


def complexity_variants(net: Encoder) -> dict[str, Bound]:
    """Rademacher complexity of the class near the initial weights, which the class centred at zero contains."""
    zero, init = P_zero(net), P_init(net)
    output = net.eta_O * net.eta_V * net.B
    radius = net.radius
    return {
        "P_zero": side_number(zero, "log N <= P_zero/eps^2, covers centred at zero"),
        "P_init": side_number(init, "log N <= P_init/eps^2, covers centred at the initial weights"),
        "D_zero": side_number(output, "eta_O eta_V B >= |f|"),
        "D_init": side_number(radius, "radius of the class around 0 or around the initial network"),
        "closed_zero": upper_bound(chaining.dudley_closed(zero, output, net.n), trivial=radius),
        "closed_init": upper_bound(chaining.dudley_closed(init, radius, net.n), clip=radius),
        "chain_zero": upper_bound(chaining.proper_chain(cover_zero(net), net.output, net.n), clip=radius),
        "chain_init": upper_bound(chaining.proper_chain(cover_init(net), radius, net.n), clip=radius),
    }


def exp(x: float) -> float:
    return math.exp(x) if x < 709.0 else math.inf
