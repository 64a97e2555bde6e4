r"""The constants of the multi-head attention model that every bound of the paper is made of.

Model: H^{-1/2} sum_h <U_h, softmax(X W_h X^T) X>, tokens of norm at most R in the T rows of X, b = max_h ||U_h||_F.
Readouts: `full` trains U_h; `pooling` has U_h = 1_T u_h^T; `last` reads the last token only. Logistic loss unless
told otherwise: |l'| <= G, |l'| <= C l, 0 <= l'' <= Q with G = C = 1, Q = 1/4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from certiformer.theory.calculus.descent import Landscape
from certiformer.theory.core.lazy import Array, np

KAPPA_3 = 4.0 / (3.0 * math.sqrt(3.0))
"""sup |E (y - Ey)(s - Es)^2| over |y|, |s| <= 1 (deora.kappa3)."""


@dataclass(frozen=True, slots=True)
class Attention:
    """Gradient and Hessian constants of the model and of a loss on top of it, as functions of b."""

    T: int
    R: float
    H: float
    readout: str = "full"
    G: float = 1.0
    C: float = 1.0
    Q: float = 0.25

    @property
    def rows(self) -> int:
        """How many rows of attention are read."""
        return 1 if self.readout == "last" else self.T

    @property
    def lift(self) -> float:
        """||U_h||_F per unit of the trained parameter: sqrt(T) for a shared vector, else 1."""
        return math.sqrt(self.T) if self.readout == "pooling" else 1.0

    def model_gradient(self, b: Array | float) -> Array:
        """||grad Phi|| <= sqrt(rows) R max(lift, R^2 b)."""
        return np.asarray(math.sqrt(self.rows) * self.R * np.maximum(self.lift, self.R**2 * b))

    def model_hessian(self, b: Array | float) -> Array:
        """||Hess Phi_h|| <= (c + sqrt(c^2 + 4 a^2))/2: the norm of [[0, a], [a, c]], blocks (U, W)."""
        mixed = math.sqrt(self.rows) * self.lift * self.R**3
        attention = KAPPA_3 * self.R**5 * math.sqrt(self.rows) * b
        return np.asarray((attention + np.hypot(attention, 2.0 * mixed)) / 2.0)

    def beta1(self, b: Array | float) -> Array:
        """||grad L|| <= beta1 L."""
        return self.C * self.model_gradient(b)

    def beta2(self, b: Array | float) -> Array:
        """||Hess L|| <= beta2."""
        return np.asarray(
            self.G * self.model_hessian(b) / math.sqrt(self.H) + self.Q * np.square(self.model_gradient(b))
        )

    def beta3(self, b: Array | float) -> Array:
        """lambda_min(Hess L) >= -beta3 L / sqrt(H)."""
        return self.C * self.model_hessian(b)

    @property
    def step(self) -> float:
        """A gradient step of size eta moves b by at most eta step |l'|: lift^2 sqrt(rows) R / sqrt(H)."""
        return self.lift**2 * math.sqrt(self.rows) * self.R / math.sqrt(self.H)

    @property
    def landscape(self) -> Landscape:
        return Landscape(
            gradient=self.beta1,
            lipschitz=lambda b: self.G * self.model_gradient(b),
            smoothness=self.beta2,
            curvature=lambda b: self.beta3(b) / math.sqrt(self.H),
            lift=self.lift,
            drift=self.C * self.step,
            drift_cap=self.G * self.step,
        )


def printed_beta1(b: float, T: int, R: float) -> float:
    """sqrt(T) R (2 R^2 b + 1)."""
    return math.sqrt(T) * R * (2.0 * R**2 * b + 1.0)


def printed_beta3(b: float, T: int, R: float, d: int) -> float:
    """2 sqrt(T) d R^3 (3 sqrt(d) R^2 b + 1)."""
    return 2.0 * math.sqrt(T) * d * R**3 * (3.0 * math.sqrt(d) * R**2 * b + 1.0)


def printed_beta2(b: float, T: int, R: float, d: int, H: float) -> float:
    """beta3/sqrt(H) + beta1^2/4."""
    return printed_beta3(b, T, R, d) / math.sqrt(H) + printed_beta1(b, T, R) ** 2 / 4.0
