r"""Projected gradient descent on the squared loss of f = m^{-1/2} sum c_i h_i(theta_i) near a symmetric initialisation.

The argument only uses |h| <= s0 and the Lipschitz constants L1, L2 of h and of its gradient, so that it serves the
Transformer and the recurrent network alike. With kappa = 1 - eta G2 > 0,

.. math:: \frac1\tau\sum_{t<\tau} L(\phi_t) \le A
          = \Bigl[\frac{\varepsilon+\sqrt{\varepsilon^2+\kappa V_0/(\eta\tau)}}{2\kappa}\Bigr]^2
          \le \frac{\varepsilon^2}{\kappa^2}+\frac{V_0}{2\kappa\eta\tau}.

Proof: docs/proofs/arda.md, "Descent".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from certiformer.theory.core import Bound, Hypothesis, side_number, upper_bound, verified
from certiformer.theory.theorems.arda._heads import UnitConstants, in_pairs


@dataclass(frozen=True, slots=True)
class Radii:
    """Radii of the blocks c, u and W; each unit moves by at most radius/sqrt(m)."""

    c: float
    u: float
    w: float

    @property
    def theta(self) -> float:
        """hypot(u, w): how far theta = (u, W) moves."""
        return math.hypot(self.u, self.w)

    @property
    def squared(self) -> float:
        """c^2 + u^2 + w^2: the squared distance of the transported parameters from the initial ones."""
        return self.c * self.c + self.u * self.u + self.w * self.w

    def contains(self, other: Radii) -> bool:
        """Whether every radius is at least the other's."""
        return other.c <= self.c and other.u <= self.u and other.w <= self.w


def linearisation_error(m: int, units: UnitConstants, rho: Radii) -> float:
    """eps_lin = m^{-1/2} (rho_c rho_theta L1 + rho_theta^2 L2/2): sup |f - f_lin| over Omega_rho."""
    theta = rho.theta
    return (rho.c * theta * units.L1 + 0.5 * theta * theta * units.L2) / math.sqrt(m)


def merged_error(m: int, units: UnitConstants, rho: Radii, nu: Radii) -> float:
    """eps_nl: linearisation and change of features at once.

    m^{-1/2} [L1 (nu_c rho_theta + rho_c (rho_theta + nu_theta)) + L2 (rho_theta^2/2 + rho_theta nu_theta)].
    """
    first = nu.c * rho.theta + rho.c * (rho.theta + nu.theta)
    second = rho.theta * (0.5 * rho.theta + nu.theta)
    return (units.L1 * first + units.L2 * second) / math.sqrt(m)


def change_of_features(m: int, units: UnitConstants, rho: Radii, nu: Radii) -> float:
    """|<grad f(phi) - grad f(phi_0), phi - phibar>|, block by block.

    m^{-1/2} [(rho_c + nu_c) L1 rho_theta + (rho_theta + nu_theta)(rho_c L1 + rho_theta L2)].
    """
    outer = (rho.c + nu.c) * units.L1 * rho.theta
    inner = (rho.theta + nu.theta) * (rho.c * units.L1 + rho.theta * units.L2)
    return (outer + inner) / math.sqrt(m)


def squared_gradient(m: int, units: UnitConstants, rho: Radii) -> float:
    """G2 = s0^2 + (1 + rho_c/sqrt m)^2 mean L1^2 >= ||grad f||^2 on Omega_rho."""
    weight = 1.0 + rho.c / math.sqrt(m)
    return units.s0 * units.s0 + weight * weight * units.L1_squared


def output_envelope(units: UnitConstants, rho: Radii) -> float:
    """sup |f| over Omega_rho: s0 rho_c + L1 rho_theta."""
    return units.s0 * rho.c + units.L1 * rho.theta


def sampling_deviation(proxy: float, m: int, n: int, delta: float) -> float:
    """2 s sqrt(ln(2n/delta)/m): n averages of m/2 independent variables, sub-Gaussian with parameter s, two-sided."""
    return 2.0 * proxy * math.sqrt((math.log(2 * n) - math.log(delta)) / m)


@dataclass(frozen=True, slots=True)
class Descent:
    """A run of tau projected steps of size eta; `target` bounds |y|, `misfit` bounds |y - g(X)| for some g in F_nu."""

    units: UnitConstants
    m: int
    rho: Radii
    nu: Radii
    eta: float
    tau: int
    eps_app: float
    target: float
    misfit: float = 0.0

    @property
    def eps_lin(self) -> float:
        return linearisation_error(self.m, self.units, self.rho)

    @property
    def eps_nl(self) -> float:
        return merged_error(self.m, self.units, self.rho, self.nu)

    @property
    def eps(self) -> float:
        """All errors of the linear picture: non-linearity, sampling, and what F_nu cannot represent."""
        return self.eps_nl + self.eps_app + self.misfit

    @property
    def G2(self) -> float:
        return squared_gradient(self.m, self.units, self.rho)

    @property
    def kappa(self) -> float:
        return 1.0 - self.eta * self.G2

    @property
    def start(self) -> float:
        """V0/(eta tau), V0 the squared distance from the initialisation to the transported parameters."""
        return self.nu.squared / (self.eta * self.tau)

    @property
    def residual(self) -> float:
        """F >= |f - y| on Omega_rho."""
        return output_envelope(self.units, self.rho) + self.target

    @property
    def mean_loss(self) -> float:
        """A, inf when the step is too long."""
        if self.kappa <= 0.0:
            return math.inf
        root = (self.eps + math.sqrt(self.eps * self.eps + self.kappa * self.start)) / (2.0 * self.kappa)
        return root * root

    @property
    def mean_loss_any_step(self) -> float:
        """[(eps + sqrt(eps^2 + V0/(eta tau) + 4 eta G2 F^2))/2]^2: the squared step is charged at the envelope."""
        step = 4.0 * self.eta * self.G2 * self.residual * self.residual
        root = 0.5 * (self.eps + math.sqrt(self.eps * self.eps + self.start + step))
        return root * root

    @property
    def averaged_iterate_loss(self) -> float:
        """(sqrt A + 2 eps_lin)^2 >= L(average of the iterates): the linear model averages, Minkowski does the rest."""
        root = math.sqrt(self.mean_loss) + 2.0 * self.eps_lin
        return root * root

    @property
    def separated(self) -> Mapping[str, float]:
        """A <= V0/(2 kappa eta tau) + 2 eps_app^2/kappa^2 + 2 eps_nl^2/kappa^2."""
        if self.kappa <= 0.0:
            return {"optimisation": math.inf, "approximation": math.inf, "linearisation": math.inf}
        square = self.kappa * self.kappa
        return {
            "optimisation": 0.5 * self.start / self.kappa,
            "approximation": 2.0 * self.eps_app * self.eps_app / square,
            "linearisation": 2.0 * self.eps_nl * self.eps_nl / square,
        }

    @property
    def reconstructed(self) -> float:
        """The paper's structure at eta = 1/sqrt(tau): (nu^2/4 + G2 F^2)/sqrt(tau) + F (eps_nl + eps_app)."""
        root = math.sqrt(self.tau)
        return (0.25 * self.nu.squared + self.G2 * self.residual * self.residual) / root + self.residual * self.eps

    @property
    def reconstructed_apart(self) -> float:
        """The same with the two errors bounded one by one, as the proof's steps do: eps_lin + change of features."""
        apart = self.eps_lin + change_of_features(self.m, self.units, self.rho, self.nu) - self.eps_nl
        return self.reconstructed + self.residual * apart

    @property
    def step_check(self) -> Hypothesis:
        return verified("eta G2 < 1 (the step is short enough)", self.kappa > 0.0, self.eta * self.G2)

    @property
    def printed_step_check(self) -> Hypothesis:
        """The printed statement fixes the step."""
        step = 1.0 / math.sqrt(self.tau)
        return verified("eta = 1/sqrt(tau), the step that the statement fixes", math.isclose(self.eta, step), self.eta)

    @property
    def setting_checks(self) -> tuple[Hypothesis, ...]:
        return (
            in_pairs(self.m),
            verified("nu <= rho block by block: the transported parameters are feasible", self.rho.contains(self.nu)),
        )


def sound_variants(run: Descent, hypotheses: tuple[Hypothesis, ...], *, separate: bool = True) -> dict[str, Bound]:
    """The bounds on min_t L(phi_t) for one set of constants, and the numbers they are made of."""
    trivial = run.target * run.target
    short = (run.step_check, *hypotheses)
    variants = {
        "value": upper_bound(run.mean_loss, hypotheses=short, trivial=trivial),
        "any_step": upper_bound(run.mean_loss_any_step, hypotheses=hypotheses, trivial=trivial),
        "average_iterate": upper_bound(
            run.averaged_iterate_loss, hypotheses=short, note="bounds L of the averaged iterate, not min_t L"
        ),
    }
    if separate:
        terms = run.separated
        variants["separated"] = upper_bound(
            math.fsum(terms.values()), terms=terms, additive=True, hypotheses=short, trivial=trivial
        )
    variants |= {
        "kappa": side_number(run.kappa, "1 - eta G2"),
        "G2": side_number(run.G2, "bound on the squared gradient of the network"),
        "eps_lin": side_number(run.eps_lin, "linearisation error on Omega_rho"),
        "eps_nl": side_number(run.eps_nl, "linearisation error and change of features, merged"),
        "eps_app": side_number(run.eps_app, "approximation error at the transported parameters"),
        "eta_suggested": side_number(0.5 / run.G2, "1/(2 G2): then kappa = 1/2"),
    }
    return variants


def with_hypotheses(variants: Mapping[str, Bound], hypotheses: tuple[Hypothesis, ...]) -> dict[str, Bound]:
    """The same bounds under further hypotheses; by-products need none."""
    return {
        name: bound.resting_on(bound.hypotheses + hypotheses) if bound.hypotheses else bound
        for name, bound in variants.items()
    }
