r"""What the results on the shallow encoder share: its norms, and sound covers of its class.

f(X) = (1/d_s) w_O^T sum_i relu(W_V X^T softmax(X W_K^T W_Q x_i / sqrt(d_m))), weights within R_Q, R_K, R_V, R_O of
their initial values. eta = initial Frobenius norm + R, xi = initial spectral norm + R. For tokens of norm at most B and
half-diameter rho, A = W_K^T W_Q / sqrt(d_m) and hats on the covered network,

    |f - fhat| <= |(w_O - w_hat)^T h_hat| + eta_O max|(W_V - V_hat) x| + eta_O xi_V rho^2 max|(A - A_hat) x| .

The covers are centred at zero or at the initial weights; both are proper (docs/proofs/mwigo.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from certiformer.theory.calculus import chaining
from certiformer.theory.calculus.allocation import quadratic_total
from certiformer.theory.calculus.covers import sudakov_constant
from certiformer.theory.calculus.entropies import exp
from certiformer.theory.calculus.softmax import weight_sensitivity
from certiformer.theory.core import (
    Bound,
    Hypothesis,
    Quantity,
    Result,
    count,
    derived,
    real,
    side_number,
    stated,
    upper_bound,
    verified,
)
from certiformer.theory.core.elementwise import Apart, agreed, each, several
from certiformer.theory.core.lazy import np
from certiformer.theory.core.records import fast_replace
from certiformer.theory.theorems._networks import networks
from certiformer.theory.theorems.mwigo import MWIGO

_TYPICAL = "sqrt(dm), LeCun's typical value: state the true one"


class ShallowEncoder(Result):
    """The class of shallow encoders near their initial weights, by its norms.

    Assumes:
    - the initial weights are independent of the sample, and the radii fixed before it is seen (or paid for: `strata`)
    - every token has l2 norm at most B
    """

    paper = MWIGO

    n: int = count("sample size", example=100_000_000, aliases=("N", "m"))
    ds: int = count("sequence length", example=4, symbol="d_s")
    d: int = count("token dimension", example=8)
    dm: int = count("model dimension", example=8, symbol="d_m")
    RX: float = real("the paper's token size: ||X||_F <= sqrt(d_s) R_X", example=0.5, symbol="R_X")
    RQ: float = real("Frobenius radius of W_Q around its initial value", example=0.1, symbol="R_Q")
    RK: float = real("Frobenius radius of W_K around its initial value", example=0.1, symbol="R_K")
    RV: float = real("Frobenius radius of W_V around its initial value", example=0.1, symbol="R_V")
    RO: float = real("l2 radius of w_O around its initial value", example=0.1, symbol="R_O")
    WQF: float = real(
        "bound on the Frobenius norm of the initial W_Q",
        low_open=False,
        factory=derived(_TYPICAL, lambda x: math.sqrt(x.dm)),
    )
    WKF: float = real(
        "bound on the Frobenius norm of the initial W_K",
        low_open=False,
        factory=derived(_TYPICAL, lambda x: math.sqrt(x.dm)),
    )
    WVF: float = real(
        "bound on the Frobenius norm of the initial W_V",
        low_open=False,
        factory=derived(_TYPICAL, lambda x: math.sqrt(x.dm)),
    )
    wOF: float = real(
        "bound on the l2 norm of the initial w_O",
        low_open=False,
        factory=derived("1, LeCun's typical value: state the true one", lambda x: 1.0),  # mutants: built-before
    )
    WQ2: float = real(
        "bound on the spectral norm of the initial W_Q",
        low_open=False,
        factory=derived("WQF: no spectral norm exceeds the Frobenius norm", lambda x: x.WQF),
    )
    WK2: float = real(
        "bound on the spectral norm of the initial W_K",
        low_open=False,
        factory=derived("WKF: no spectral norm exceeds the Frobenius norm", lambda x: x.WKF),
    )
    WV2: float = real(
        "bound on the spectral norm of the initial W_V",
        low_open=False,
        factory=derived("WVF: no spectral norm exceeds the Frobenius norm", lambda x: x.WVF),
    )
    B: float = real(
        "bound on the l2 norm of every token, for the sound side",
        example=0.5,
        factory=derived("sqrt(ds) RX: no token is longer than ||X||_F", lambda x: math.sqrt(x.ds) * x.RX),
    )
    rho: float = real(
        "half the diameter of the token set",
        low_open=False,
        example=0.5,
        factory=derived("B: no token is further from zero", lambda x: x.B),
    )

    @property
    def initial_norms(self) -> Hypothesis:
        """The initial norms: measured and given, or LeCun's typical ones, which nobody has stated."""
        left_out = [name for name in ("WQF", "WKF", "WVF", "wOF") if name in self.derived]
        names = ",".join(left_out) or "WQF,WKF,WVF,wOF"
        return stated("the initial weights are within their norms", None if left_out else True, names)

    def shown(self, variants: Mapping[str, Bound]) -> dict[str, Bound]:
        """The variants with the hypothesis on the initial norms, which every sound number here rests on."""
        return {
            name: bound
            if bound.bounds is Quantity.CONSTANT
            else bound.resting_on((self.initial_norms, *bound.hypotheses))
            for name, bound in variants.items()
        }

    @property
    def token(self) -> float:
        """Half the token diameter, at most B."""
        return min(self.rho, self.B)

    @property
    def eta_Q(self) -> float:
        """Initial Frobenius norm plus the radius."""
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
        """Initial spectral norm, at most the Frobenius one, plus the radius."""
        return min(self.WQ2, self.WQF) + self.RQ

    @property
    def xi_K(self) -> float:
        return min(self.WK2, self.WKF) + self.RK

    @property
    def xi_V(self) -> float:
        return min(self.WV2, self.WVF) + self.RV

    @property
    def R_A(self) -> float:
        """Frobenius radius of A around its initial value: expand (K0 + dK)^T (Q0 + dQ)."""
        return (min(self.WK2, self.WKF) * self.RQ + self.RK * self.xi_Q) / math.sqrt(self.dm)

    @property
    def output(self) -> float:
        """sup |f| <= eta_O xi_V B: attention averages tokens, relu and pooling do not increase norms."""
        return self.eta_O * self.xi_V * self.B

    @property
    def movement(self) -> float:
        """sup |f - f_0|, f_0 the initial network: the perturbation inequality with the radii themselves."""
        attention = self.eta_O * self.xi_V * weight_sensitivity(self.token) * self.B * self.R_A
        return self.RO * self.xi_V * self.B + self.eta_O * self.RV * self.B + attention

    @property
    def radius(self) -> float:
        """The better of |f - 0| and |f - f_0|; both 0 and f_0 are fixed functions."""
        return min(self.output, self.movement)


def for_each_n(function: Callable[[ShallowEncoder], float], net: ShallowEncoder) -> Any:
    """A function of the class, at every sample size that it stands for."""
    return each(lambda n: function(net.with_entries("n", n)), net.n) if several(net.n) else function(net)


def ln_printed_P(net: ShallowEncoder) -> float:
    """ln of P = (sqrt(d_s) R_X)^2 ((sqrt(d_m) eta_V)^{2/3} + (sqrt(d_m) eta_K eta_Q eta_V)^{2/3})^3 log(N d_s)."""
    ln_value = 0.5 * math.log(net.dm) + math.log(net.eta_V)
    ln_scores = ln_value + math.log(net.eta_K) + math.log(net.eta_Q)
    ln_sum = 3.0 * float(np.logaddexp(ln_value * 2.0 / 3.0, ln_scores * 2.0 / 3.0))
    points = math.log(net.n * net.ds)
    return math.log(net.ds) + 2.0 * math.log(net.RX) + ln_sum + (math.log(points) if points > 0.0 else -math.inf)


def printed_A(net: ShallowEncoder) -> float:
    """A = eta_O eta_V sqrt(d_s) R_X."""
    return net.eta_O * net.eta_V * math.sqrt(net.ds) * net.RX


def printed_complexity(net: ShallowEncoder) -> tuple[float, float]:
    """sqrt(P/N) (1 + log(A sqrt(N/P))), and s = sqrt(P/N)."""
    ln_s = 0.5 * (ln_printed_P(net) - math.log(net.n))
    if math.isinf(ln_s):
        return 0.0, 0.0
    s = exp(ln_s)
    bracket = 1.0 + math.log(printed_A(net)) - ln_s
    return s * bracket, s


def printed_bound(net: ShallowEncoder) -> tuple[Any, Hypothesis]:
    """The printed complexity, and whether it is in its range."""
    value = for_each_n(lambda at: printed_complexity(at)[0], net)
    s = for_each_n(lambda at: printed_complexity(at)[1], net)
    holds = (s > 0.0) & (s <= printed_A(net))
    return value, verified("sqrt(P/N) <= A (beyond that the formula falls)", holds, s)


def zero_terms(net: ShallowEncoder) -> list[tuple[float, float]]:
    """(sqrt C, beta) of w_O, W_V and A for the class centred at zero."""
    eta_A = net.eta_K * net.eta_Q / math.sqrt(net.dm)
    return [
        (net.eta_O * net.eta_V * net.B * math.sqrt(math.log(2.0 * net.n + 1.0)), 1.0),
        (net.eta_V * net.B * math.sqrt(sudakov_constant(net.dm, net.d)), net.eta_O),
        (
            eta_A * net.B * math.sqrt(sudakov_constant(net.d, net.d)),
            net.eta_O * net.eta_V * weight_sensitivity(net.token),
        ),
    ]


def init_terms(net: ShallowEncoder) -> list[tuple[float, float]]:
    """(sqrt C, beta) of w_O, W_V and A for the class centred at the initial weights."""
    return [
        (net.RO * net.xi_V * net.B * math.sqrt(math.log(2.0 * net.n + 1.0)), 1.0),
        (net.RV * net.B * math.sqrt(sudakov_constant(net.dm, net.d)), net.eta_O),
        (
            net.R_A * net.B * math.sqrt(sudakov_constant(net.d, net.d)),
            net.eta_O * net.xi_V * weight_sensitivity(net.token),
        ),
    ]


def quadratic_constant(terms: Sequence[tuple[float, float]], unit: float = 1.0) -> float:
    """P/unit^2 with log N <= P/eps^2: outputs are measured in units of `unit`, so that no square underflows."""
    roots = [root * beta / unit for root, beta in terms]
    return quadratic_total([root * root for root in roots], [1.0] * len(roots))


def P_init(net: ShallowEncoder) -> float:
    """log N <= P_init/eps^2, covers centred at the initial weights."""
    return quadratic_constant(init_terms(net))


def at_zero(net: ShallowEncoder) -> networks.Analysis:
    """The class centred at zero, on the engine; ||W_K^T W_Q||_F <= min(xi_K eta_Q, eta_K xi_Q), ||W_V||_2 <= xi_V."""
    eta_A = min(net.eta_K * net.xi_Q, net.xi_K * net.eta_Q, net.eta_K * net.eta_Q) / math.sqrt(net.dm)
    return _analysis(
        net,
        networks.Weight("w_O", (1, net.dm), frobenius=net.eta_O),
        networks.Weight("W_V", (net.dm, net.d), frobenius=net.eta_V, spectral=net.xi_V),
        networks.Weight("A", (net.d, net.d), frobenius=eta_A),
    )


def at_initial(net: ShallowEncoder) -> networks.Analysis:
    """The class centred at the initial weights, on the engine; the ball of radius R_A holds every product A."""
    value = min(net.WV2, net.WVF)
    scores = min(net.WK2, net.WKF) * min(net.WQ2, net.WQF) / math.sqrt(net.dm)
    return _analysis(
        net,
        networks.Weight("w_O", (1, net.dm), frobenius=net.RO, reference=networks.Reference(net.wOF)),
        networks.Weight("W_V", (net.dm, net.d), frobenius=net.RV, reference=networks.Reference(value)),
        networks.Weight("A", (net.d, net.d), frobenius=net.R_A, reference=networks.Reference(scores)),
    )


def _analysis(
    net: ShallowEncoder, read: networks.Weight, value: networks.Weight, scores: networks.Weight
) -> networks.Analysis:
    z = networks.tokens(net.d, net.B, positions=net.ds, half_diameter=net.token)
    z = networks.attention(z, networks.Head(value=value, score=scores))
    z = networks.mean_pool(networks.activation(z, networks.RELU))
    return networks.analyse(networks.readout(z, read), samples=_samples(net))


def _samples(net: ShallowEncoder) -> int | None:
    """The sample size, None where covers of the points of a sample are of no use.

    The perceptron's floor(r^2) ln(2n+1), r = radius/eps, is below the volume's dm ln(1 + 2r) at no r if it is not at
    r^2 = 2 from below: ln(1 + 2 sqrt(k+1))/k falls with k. Then the cover is the same for all sample sizes.
    """
    points = each(lambda n: math.log(2.0 * n + 1.0), net.n)
    if agreed(points >= net.dm * math.log(1.0 + 2.0 * math.sqrt(2.0)) * (1.0 + 1e-9)):  # mutants: rounding-margins
        return None
    if several(net.n):
        raise Apart
    return net.n


def _complexity(net: ShallowEncoder, analysis: Callable[[ShallowEncoder], networks.Analysis]) -> float:
    """The best chain, in units of the radius; inf where norms leave the floats, and their class has no bound."""
    norms = (net.eta_O, net.eta_V * net.B, net.eta_K * net.eta_Q, net.R_A)
    if not all(map(math.isfinite, norms)):
        return math.inf
    at = analysis(net)
    unit = fast_replace(at.cover, ln_radius=at.cover.ln_radius - at.radius.ln)
    return at.radius.value * chaining.proper_chain(unit, 1.0, net.n)


def complexity_variants(net: ShallowEncoder) -> dict[str, Bound]:
    """Rademacher complexity of the class near the initial weights, which the class centred at zero contains."""
    output = net.eta_O * net.eta_V * net.B
    radius = net.radius
    zero = for_each_n(lambda at: quadratic_constant(zero_terms(at), output), net)
    init = for_each_n(lambda at: quadratic_constant(init_terms(at), radius), net)
    variants = {
        "P_zero": side_number(zero * output * output, "log N <= P_zero/eps^2, covers centred at zero"),
        "P_init": side_number(init * radius * radius, "log N <= P_init/eps^2, covers centred at the initial weights"),
        "D_zero": side_number(output, "eta_O eta_V B >= |f|"),
        "D_init": side_number(radius, "radius of the class around 0 or around the initial network"),
        "closed_zero": upper_bound(output * chaining.dudley_closed(zero, 1.0, net.n), trivial=radius),
        "closed_init": upper_bound(radius * chaining.dudley_closed(init, 1.0, net.n), clip=radius),
        "chain_zero": upper_bound(_complexity(net, at_zero), clip=radius),
        "chain_init": upper_bound(_complexity(net, at_initial), clip=radius),
    }
    return net.shown(variants)
