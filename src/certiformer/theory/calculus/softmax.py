r"""Softmax and attention under perturbation (T1, T2): the constants that every sensitivity is made of.

Tokens x_1..x_T lie in a ball of radius B; rho is half the diameter of the token set (rho <= B); the head reads
a(X, W, t) = X^T softmax(X W^T x_t).
"""

from __future__ import annotations

import math

from certiformer.theory.core.lazy import Array, np


def softmax(scores: Array, axis: int = -1) -> Array:
    """exp(s)/sum exp(s), shifted so that nothing overflows."""
    shifted = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return np.asarray(shifted / np.sum(shifted, axis=axis, keepdims=True), dtype=np.float64)


def l1_change(oscillation: float) -> float:
    """||softmax(a) - softmax(b)||_1 <= 2 tanh(osc/4), osc = max(a-b) - min(a-b); attained."""
    return 2.0 * math.tanh(oscillation / 4.0)


def weight_sensitivity(half_diameter: float) -> float:
    """||a(X,W) - a(X,V)|| <= rho^2 ||(W-V)^T x_t||: along the segment da = Cov_p(X) dW^T x_t, ||Cov|| <= rho^2."""
    return half_diameter**2


def input_sensitivity(radius: float, half_diameter: float, score_norm: float) -> float:
    """Lipschitz constant of a in the tokens, max_s ||dx_s||: 1 + rho (rho + B) ||W||_2."""
    return 1.0 + half_diameter * (half_diameter + radius) * score_norm
